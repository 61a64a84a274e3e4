"""One client's connection: frames in, answers out, in order.

Job: cut the stream into requests, serve one at a time, send each answer, go on with the next.
Rules
- A request is served only after the one before it has been answered, as on an Apache broker: what comes behind a parked Join
  waits for it. Nothing is shared with other connections.
- Bytes that wait behind a parked request are bounded: beyond that the socket is not read.
- A client that does not read its answers is not served until it does.
- A frame that came alone may be one that came before (kaas.broker.known); it is served without being read again.
- Rounds in which nothing was heard are counted here; how many are too many is not decided here.
- Whatever cannot be read ends this connection with one log line.
Must not know: APIs (kaas.broker.dispatch).
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, cast

import structlog

from kaas.broker.known import LONGEST_BYTES, MOST, Known
from kaas.wire.frames import BadFrame, FrameSplitter

if TYPE_CHECKING:
    from kaas.broker.dispatch import Dispatcher
    from kaas.broker.request import Request

WAITING_BYTES = 1_048_576
"""Requests of one connection that wait for the one that is being served."""
FRAME_COST_BYTES = 64
"""What keeping a waiting request costs beside its bytes."""

log = structlog.get_logger("kaas.broker.connection")


class Connection(asyncio.Protocol):
    """`client_host` is how Kafka shows a client: a slash and its address. `listener` names where it came in."""

    __slots__ = (
        "_dispatcher",
        "_known",
        "_parked",
        "_paused",
        "_serving",
        "_splitter",
        "_waiting",
        "_waiting_bytes",
        "_writable",
        "client_host",
        "listener",
        "silent_rounds",
        "state",
        "transport",
    )

    def __init__(self, dispatcher: Dispatcher, listener: str, max_bytes: int) -> None:
        self._dispatcher = dispatcher
        self.listener = listener
        self._splitter = FrameSplitter(max_bytes)
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._parked: Request | Known | None = None
        self._known: dict[int, Known | None] = {}
        self._serving = False
        self._writable = True
        self._paused = False
        self.client_host = ""
        self.silent_rounds = 0
        self.transport: asyncio.Transport | None = None
        self.state: dict[str, object] = {}

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        peer = transport.get_extra_info("peername")
        self.client_host = f"/{peer[0]}" if peer else "/"
        if not self._dispatcher.opened(self):
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None
        self._waiting.clear()
        self._parked = None
        self._known.clear()
        self._dispatcher.closed(self)

    def data_received(self, data: bytes) -> None:
        self.silent_rounds = 0
        known = self._known.get(len(data))
        if known is not None and self._is_free and self._dispatcher.serve_known(self, known, data):
            return
        try:
            frames = self._splitter.feed(data)
        except BadFrame as problem:
            self.refuse(str(problem))
            return
        for frame in frames:
            self._waiting.append(frame)
            self._waiting_bytes += len(frame) + FRAME_COST_BYTES
        self._serve()
        if self._waiting_bytes > WAITING_BYTES and self.transport is not None and not self._paused:
            self._paused = True
            self.transport.pause_reading()

    def pause_writing(self) -> None:
        self._writable = False

    def resume_writing(self) -> None:
        self._writable = True
        self._serve()

    # serving

    def _serve(self) -> None:
        """Serve what waits until a request parks or nothing is left. An answer that comes at once does not recurse."""
        if self._serving:
            return
        self._serving = True
        try:
            while self._waiting and self._parked is None and self._writable and self.transport is not None:
                frame = self._waiting.popleft()
                self._waiting_bytes -= len(frame) + FRAME_COST_BYTES
                self._parked = self._dispatcher.serve(self, frame)
        finally:
            self._serving = False
        if self._paused and self._waiting_bytes <= WAITING_BYTES and self.transport is not None:
            self._paused = False
            self.transport.resume_reading()

    @property
    def _is_free(self) -> bool:
        """A frame that comes now is the next to be served."""
        free = self._parked is None and not self._waiting and self._writable
        return free and self._splitter.is_empty and self.transport is not None

    def comes_again(self, size: int) -> bool:
        """Whether a frame of this many bytes came before; worth being remembered, if it is of one kind with it."""
        if size in self._known:
            return True
        if size <= LONGEST_BYTES:
            if len(self._known) >= MOST:
                self._known.clear()
            self._known[size] = None
        return False

    def remember(self, size: int, known: Known) -> None:
        """Recognise frames of this many bytes."""
        self._known[size] = known

    def forget(self) -> None:
        """Recognise nothing any more; what comes is read anew."""
        self._known.clear()

    def park(self, known: Known) -> None:
        """A request that was recognised is answered later."""
        self._parked = known

    def answered(self, request: Request | Known, frame: bytes | None) -> None:
        """The request is done; null: it has no answer."""
        if self.transport is None:
            return
        if frame is not None:
            self.transport.write(frame)
        if self._parked is request:
            self._parked = None
            self._serve()

    @property
    def is_idle(self) -> bool:
        """Nobody waits for an answer here."""
        return self._parked is None and not self._waiting

    def refuse(self, reason: str) -> None:
        """End the connection, and say why once."""
        if self.transport is not None:
            log.info("connection closed", client=self.client_host, listener=self.listener, reason=reason)
            self._waiting.clear()
            self.transport.close()
            self.transport = None
