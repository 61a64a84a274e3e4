"""A client's side of SASL, written from RFC 5802, and a connection of a test that signs in with it."""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Any

from kaas.wire.apis import SASL_AUTHENTICATE, SASL_HANDSHAKE

HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
FEW_ITERATIONS = 4_096
"""So that tests need not wait for keys."""


class ScramClient:
    """Signs in as Kafka's clients do."""

    def __init__(self, mechanism: str, name: str, password: str, header: str = "n,,") -> None:
        self._hash = HASHES[mechanism]
        self._password = password
        self._header = header
        self._bare = f"n={name},r=client-nonce"
        self._exchanged = self._server_key = b""

    def first(self) -> bytes:
        return (self._header + self._bare).encode()

    def final(
        self, server_first: bytes, *, binding: str | None = None, nonce: str | None = None, proof: str | None = None
    ) -> bytes:
        """The last message; a test may put something else in its parts."""
        parts = dict(part.split("=", 1) for part in server_first.decode().split(","))
        salt, iterations = base64.b64decode(parts["s"]), int(parts["i"])
        salted = hashlib.pbkdf2_hmac(self._hash, self._password.encode(), salt, iterations)
        key = hmac.digest(salted, b"Client Key", self._hash)
        channel = base64.b64encode((binding or self._header).encode()).decode()
        bare = f"c={channel},r={nonce or parts['r']}"
        self._exchanged = f"{self._bare},{server_first.decode()},{bare}".encode()
        signature = hmac.digest(hashlib.new(self._hash, key).digest(), self._exchanged, self._hash)
        made = base64.b64encode(bytes(a ^ b for a, b in zip(key, signature, strict=True))).decode()
        self._server_key = hmac.digest(salted, b"Server Key", self._hash)
        return f"{bare},p={made if proof is None else proof}".encode()

    def trusts(self, server_final: bytes) -> bool:
        """Whether the other side knows the keys as well."""
        signature = hmac.digest(self._server_key, self._exchanged, self._hash)
        return server_final == b"v=" + base64.b64encode(signature)


async def signed_in(
    peer: Any, name: str = "alice", password: str = "secret", mechanism: str = "SCRAM-SHA-256", version: int = 2
) -> Any:
    """The last answer to a client that signs in over SaslAuthenticate."""
    shaken = await peer.ask(SASL_HANDSHAKE, 1, mechanism=mechanism)
    assert shaken.error_code == 0, shaken
    if mechanism == "PLAIN":
        return await peer.ask(SASL_AUTHENTICATE, version, auth_bytes=f"\0{name}\0{password}".encode())
    client = ScramClient(mechanism, name, password)
    answer = await peer.ask(SASL_AUTHENTICATE, version, auth_bytes=client.first())
    if answer.error_code:
        return answer
    answer = await peer.ask(SASL_AUTHENTICATE, version, auth_bytes=client.final(bytes(answer.auth_bytes)))
    assert answer.error_code or client.trusts(bytes(answer.auth_bytes))
    return answer
