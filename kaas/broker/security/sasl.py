"""One connection's way through SASL: which mechanism, which exchange, who it is, until when.

Job: the states of an authentication and what may come next in each.
Rules
- A handshake names the mechanism, tokens go to and fro until the exchange is complete, then the connection is open. An open
  connection may begin anew at any time, under the same mechanism, and must come out as the same principal.
- Version 0 of the handshake says that tokens come bare, not as SaslAuthenticate requests.
- An open connection whose time is over takes nothing but a new handshake.
Must not know: sockets, requests, threads.
Source: KIP-43, KIP-152 (SaslAuthenticate), KIP-368 (re-authentication).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Protocol

from kaas.broker.security.failure import AuthenticationFailed
from kaas.broker.security.names import ANONYMOUS, USER


class Exchange(Protocol):
    """One exchange of a mechanism. `user` is there when it is complete; a costly step belongs in a thread."""

    @property
    def is_costly(self) -> bool: ...

    @property
    def user(self) -> str | None: ...

    def step(self, token: bytes) -> bytes:
        """Raises AuthenticationFailed."""


class Phase(Enum):
    """What a connection is waited for."""

    HANDSHAKE = "a handshake"
    TOKENS = "tokens"
    OPEN = "requests"
    FAILED = "nothing"


class SaslSession:
    """`offered`: how to begin an exchange, by mechanism. `phase`, `mechanism`, `is_raw`, `principal`: where it stands.

    `expires_at_ms`: on the broker's clock; None is never.
    """

    __slots__ = ("_exchange", "_offered", "expires_at_ms", "is_raw", "mechanism", "phase", "principal")

    def __init__(self, offered: Mapping[str, Callable[[], Exchange]]) -> None:
        self._offered = offered
        self._exchange: Exchange | None = None
        self.phase = Phase.HANDSHAKE
        self.mechanism = ""
        self.is_raw = False
        self.principal = ANONYMOUS
        self.expires_at_ms: int | None = None

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """What is offered."""
        return tuple(self._offered)

    @property
    def may_begin(self) -> bool:
        """Whether a handshake may come now."""
        return self.phase in (Phase.HANDSHAKE, Phase.OPEN)

    def begin(self, mechanism: str, *, raw: bool) -> None:
        """A handshake. Raises AuthenticationFailed when the mechanism is not offered, or is another one than before."""
        assert self.may_begin
        again = self.phase is Phase.OPEN
        if mechanism not in self._offered:
            raise AuthenticationFailed(f"the mechanism {mechanism!r} is not offered")
        if again and mechanism != self.mechanism:
            raise AuthenticationFailed(f"the mechanism changes from {self.mechanism} to {mechanism}")
        self.mechanism = mechanism
        self.is_raw = raw
        self._exchange = self._offered[mechanism]()
        self.phase = Phase.TOKENS

    @property
    def exchange(self) -> Exchange:
        """The exchange that goes on."""
        assert self.phase is Phase.TOKENS and self._exchange is not None
        return self._exchange

    def settle(self, now_ms: int, lifetime_ms: int) -> bool:
        """After a step: whether the connection is open now. `lifetime_ms` 0 is for ever.

        Raises AuthenticationFailed when it is not who it was before.
        """
        user = self.exchange.user
        if user is None:
            return False
        principal = USER + user
        if self.principal not in (ANONYMOUS, principal):
            raise AuthenticationFailed(f"it was {self.principal} before", user)
        self.principal = principal
        self.expires_at_ms = now_ms + lifetime_ms if lifetime_ms else None
        self._exchange = None
        self.phase = Phase.OPEN
        return True

    def fail(self) -> None:
        """Nothing more comes of this connection."""
        self._exchange = None
        self.phase = Phase.FAILED

    def has_expired(self, now_ms: int) -> bool:
        return self.expires_at_ms is not None and now_ms >= self.expires_at_ms
