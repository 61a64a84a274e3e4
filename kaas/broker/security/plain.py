"""SASL PLAIN, the broker's side: the client tells its name and its password.

Rules: the password is checked against the keys that SCRAM keeps, and forgotten. A name that nobody has takes as long as a wrong
password. For listeners with TLS; elsewhere everybody on the way reads the password.
Must not know: where users are kept, how tokens travel.
Source: RFC 4616; KIP-43.
"""

from __future__ import annotations

from collections.abc import Callable

from kaas.broker.security.failure import AuthenticationFailed
from kaas.broker.security.scram import Keys, fits, nobodys_keys

MECHANISM = "PLAIN"
CHECKED_WITH = "SCRAM-SHA-512"
"""Whose keys a password is checked against."""


class PlainExchange:
    """One exchange: a token, an empty answer. `user` is there when it is complete. A step takes milliseconds."""

    is_costly = True

    def __init__(self, find: Callable[[str], Keys | None]) -> None:
        self._find = find
        self.user: str | None = None

    def step(self, token: bytes) -> bytes:
        """The answer to the token. Raises AuthenticationFailed."""
        try:
            authzid, name, password = token.decode().split("\0")
        except ValueError:
            raise AuthenticationFailed("a token that is not of the form name, password") from None
        if not name or not password:
            raise AuthenticationFailed("no name or no password", name)
        if authzid and authzid != name:
            raise AuthenticationFailed("another name is to be acted for", name)
        keys = self._find(name)
        right = fits(CHECKED_WITH, password, keys or nobodys_keys(CHECKED_WITH, name))
        if keys is None or not right:
            raise AuthenticationFailed("wrong credentials", name)
        self.user = name
        return b""
