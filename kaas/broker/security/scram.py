"""SCRAM-SHA-256 and SCRAM-SHA-512, the broker's side.

Job: keys from a password; one exchange with a client.
Rules
- Only keys are kept from which the password cannot be had. What is compared is compared in constant time.
- An exchange with a name that nobody has goes on to its end with keys that nothing fits, so that it tells no names.
- Channel bindings are not offered; a client that asks for one, or for another's name, is refused.
Must not know: where users are kept, how tokens travel.
Source: RFC 5802, RFC 7677; KIP-84. Not a library: the one that is kept up needs a parser of certificates for channel bindings
and changes names by SASLprep, which Kafka's clients do not.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets
from collections.abc import Callable

import msgspec

from kaas.broker.security.failure import AuthenticationFailed

HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
"""The hash of each mechanism."""

ITERATIONS = 16_384
"""As many as Kafka's own tools let one ask for; its clients ask for 4,096 or more."""
SALT_BYTES = 32
NONCE_BYTES = 24

_UNKNOWN = secrets.token_bytes(32)
"""Gives a name that nobody has the same salt each time, for as long as this process lives."""
_NAME = re.compile(r"(?:[^=,]|=2C|=3D)+")


class Keys(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of a password under one mechanism."""

    salt: bytes
    iterations: int
    stored_key: bytes
    server_key: bytes


def make_keys(mechanism: str, password: str, *, salt: bytes, iterations: int = ITERATIONS) -> Keys:
    """Takes some milliseconds, on purpose."""
    name = HASHES[mechanism]
    salted = hashlib.pbkdf2_hmac(name, password.encode(), salt, iterations)
    client_key = hmac.digest(salted, b"Client Key", name)
    return Keys(
        salt=salt,
        iterations=iterations,
        stored_key=hashlib.new(name, client_key).digest(),
        server_key=hmac.digest(salted, b"Server Key", name),
    )


def fits(mechanism: str, password: str, keys: Keys) -> bool:
    """Whether keys were made of a password. Takes as long as making them."""
    made = make_keys(mechanism, password, salt=keys.salt, iterations=keys.iterations)
    return hmac.compare_digest(made.stored_key, keys.stored_key)


def nobodys_keys(mechanism: str, name: str) -> Keys:
    """Keys for a name that nobody has: always the same salt, and nothing that fits."""
    return Keys(
        salt=hmac.digest(_UNKNOWN, f"{mechanism} {name}".encode(), "sha256"),
        iterations=ITERATIONS,
        stored_key=secrets.token_bytes(hashlib.new(HASHES[mechanism]).digest_size),
        server_key=secrets.token_bytes(32),
    )


class ScramExchange:
    """One exchange: two tokens of the client, an answer to each. `user` is there when it is complete."""

    is_costly = False

    def __init__(self, mechanism: str, find: Callable[[str], Keys | None]) -> None:
        self._mechanism = mechanism
        self._hash = HASHES[mechanism]
        self._find = find
        self._name = ""
        self._keys: Keys | None = None
        self._header = self._client_first = self._server_first = self._nonce = ""
        self.user: str | None = None

    def step(self, token: bytes) -> bytes:
        """The answer to a token. Raises AuthenticationFailed."""
        try:
            text = token.decode()
        except UnicodeDecodeError:
            raise AuthenticationFailed("a token that is no text", self._name) from None
        if self._keys is None:
            return self._first(text)
        return self._final(text, self._keys)

    def _first(self, text: str) -> bytes:
        flag, authzid, bare = _split(text, 2)
        if flag not in ("n", "y"):
            raise AuthenticationFailed("a channel binding is asked for")
        name, client_nonce = self._named(_split(bare, 1))
        self._name = name
        if authzid and authzid != "a=" + bare.split(",")[0].removeprefix("n="):
            raise AuthenticationFailed("another name is to be acted for", name)
        self._keys = self._find(name) or nobodys_keys(self._mechanism, name)
        self._header, self._client_first = f"{flag},{authzid},", bare
        self._nonce = client_nonce + secrets.token_urlsafe(NONCE_BYTES)
        salt = base64.b64encode(self._keys.salt).decode()
        self._server_first = f"r={self._nonce},s={salt},i={self._keys.iterations}"
        return self._server_first.encode()

    @staticmethod
    def _named(parts: list[str]) -> tuple[str, str]:
        """Name and nonce of a first message."""
        name, nonce = parts[0], parts[1].split(",")[0]
        if not name.startswith("n=") or not nonce.startswith("r=") or not _NAME.fullmatch(name[2:]) or len(nonce) < 3:
            raise AuthenticationFailed("a first message that is none")
        return name[2:].replace("=2C", ",").replace("=3D", "="), nonce[2:]

    def _final(self, text: str, keys: Keys) -> bytes:
        without_proof, mark, proof = text.rpartition(",p=")
        binding = "c=" + base64.b64encode(self._header.encode()).decode()
        if not mark or without_proof.split(",")[:2] != [binding, f"r={self._nonce}"]:
            raise AuthenticationFailed("a last message that does not belong to the first", self._name)
        exchanged = f"{self._client_first},{self._server_first},{without_proof}".encode()
        if not self._proves(proof, exchanged, keys):
            raise AuthenticationFailed("wrong credentials", self._name)
        self.user = self._name
        signature = hmac.digest(keys.server_key, exchanged, self._hash)
        return b"v=" + base64.b64encode(signature)

    def _proves(self, proof: str, exchanged: bytes, keys: Keys) -> bool:
        signature = hmac.digest(keys.stored_key, exchanged, self._hash)
        try:
            given = base64.b64decode(proof, validate=True)
        except binascii.Error:
            return False
        if len(given) != len(signature):
            return False
        client_key = bytes(one ^ other for one, other in zip(given, signature, strict=True))
        return hmac.compare_digest(hashlib.new(self._hash, client_key).digest(), keys.stored_key)


def _split(text: str, commas: int) -> list[str]:
    parts = text.split(",", commas)
    if len(parts) <= commas:
        raise AuthenticationFailed("a first message that is none")
    return parts
