"""Requests that a connection has sent before, recognised by their bytes.

Job: serve a request that says again what an earlier one of its connection said, save its correlation id or some numbers at
known places, without reading it again: heartbeats, commits and fetches are nearly all that a broker of groups is asked, and in
a rebalance everybody joins and syncs at once.
Rules
- Only reading is saved. What the request asks for is asked anew each time, of the same coordinator.
- A frame is recognised when it came alone, on a connection where nobody waits for an answer. Whatever is not recognised takes
  the long way, through the dispatcher, which is always right.
- What a request was allowed to do when it was read, it is allowed to do again: whatever changes that (who the client is, rules)
  must make the connection forget.
Must not know: APIs; each handler says itself what it recognises.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import Any

import msgspec
import structlog

from kaas.broker.connection import FAULT, Connection
from kaas.broker.request import Request
from kaas.coordinator.events import Event

log = structlog.get_logger("kaas.broker.known")

HEAD_BYTES = 8
"""Length, key and version; the correlation id stands behind them."""
CORRELATION_END = 12

_SIZE = struct.Struct(">i")


class Known(ABC):
    """One request. `serve` takes a frame as long as the one that it was made of, and says whether it was recognised.

    The answer may come later, but a connection serves one request at a time, so that one correlation id is enough.
    """

    __slots__ = ("connection", "correlation", "flexible")

    def __init__(self, request: Request) -> None:
        self.connection: Connection = request.connection
        self.flexible = request.flexible
        self.correlation = b""

    @abstractmethod
    def serve(self, data: bytes) -> bool:
        """Serve a frame; false if it is another request."""

    def failed(self) -> None:
        """Deciding about it failed, which is a fault of ours: the client is to connect and ask again. Called while the
        exception is handled."""
        log.exception("request failed", known=self, client=self.connection.client_host)
        self.connection.refuse(FAULT)

    def parts(self, body: bytes) -> tuple[bytes, bytes]:
        """What stands before and behind the correlation id in an answer with this body."""
        rest = b"\0" + body if self.flexible else body
        return _SIZE.pack(len(rest) + 4), rest

    def send(self, parts: tuple[bytes, bytes]) -> None:
        self.connection.answered(self, parts[0] + self.correlation + parts[1])


class Verbatim(Known):
    """A request that is the same to the last byte, save the correlation id."""

    __slots__ = ("_head", "_tail")

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        frame = request.frame
        self._head = frame[:HEAD_BYTES]
        self._tail = frame[CORRELATION_END:]

    def is_same(self, data: bytes) -> bool:
        return data.startswith(self._head) and data.endswith(self._tail)


class Repeated(Verbatim):
    """A request of the same member that asks for the same event. It is decided with what else its round of the loop brings."""

    __slots__ = ("_event", "_groups", "_version")

    def __init__(self, request: Request, event: Event) -> None:
        super().__init__(request)
        self._groups = request.broker.groups
        self._event = msgspec.structs.replace(event, reply_to=self._reply)
        self._version = request.version

    def serve(self, data: bytes) -> bool:
        if not self.is_same(data):
            return False
        self.correlation = data[HEAD_BYTES:CORRELATION_END]
        self.connection.park(self)
        self._groups.gather(self._event, self)
        return True

    @abstractmethod
    def _reply(self, answer: Any) -> None:
        """Send what was decided."""


class KnownBeat(Repeated):
    """A heartbeat that says the same, which is nearly all that members send. Answers that it has again and again are encoded
    once."""

    __slots__ = ("_answers",)

    def __init__(self, request: Request, event: Event) -> None:
        super().__init__(request, event)
        self._answers: dict[Hashable, tuple[bytes, bytes]] = {}

    def _kept(self, key: Hashable, body: bytes) -> tuple[bytes, bytes]:
        """The parts of an answer with this body, from now on in `_answers`."""
        parts = self._answers[key] = self.parts(body)
        return parts
