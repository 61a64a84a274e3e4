"""One client's connection: frames in, answers out, in order.

Job: cut the stream into requests, serve one at a time, send each answer, go on with the next.
Rules
- A request is served only after the one before it has been answered, as on an Apache broker: what comes behind a parked Join
  waits for it. Nothing is shared with other connections.
- Bytes that wait behind a parked request are bounded: beyond that the socket is not read.
- A client that does not read its answers is not served until it does; nor is one that used up its quota, for some time.
- A frame that came alone may be one that came before (kaas.broker.known). It is held until the loop has read its other sockets,
  and then served without being read again, if it is one.
- Rounds in which nothing was heard, or nothing read, are counted here; how many are too many is not decided here.
- Whatever cannot be read ends this connection with one log line.
Must not know: what a request is (kaas.broker.request), APIs (kaas.broker.dispatch), how a client shows who it is
(kaas.broker.security.gates).
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Callable
from typing import Protocol, cast

import structlog

from kaas.broker.security.names import ANONYMOUS
from kaas.broker.security.sasl import SaslSession
from kaas.broker.straight import Straight
from kaas.wire.frames import BadFrame, FrameSplitter

WAITING_BYTES = 1_048_576
"""Requests of one connection that wait for the one that is being served."""
FRAME_COST_BYTES = 64
"""What keeping a waiting request costs beside its bytes."""
LONGEST_BYTES = 4_096
"""A longer frame is not recognised when it comes again."""
MOST = 16
"""Frames that a connection recognises."""

FAULT = "a fault of the broker"
"""Why a connection ends on which something failed that never should."""

KEEP_ALIVE = [
    (getattr(socket, name), value)
    for name, value in (("TCP_KEEPIDLE", 120), ("TCP_KEEPINTVL", 30), ("TCP_KEEPCNT", 4))
    if hasattr(socket, name)
]
"""A connection that is silent for 120 s is asked every 30 s whether it is there; it is gone when 4 questions were in vain."""

log = structlog.get_logger("kaas.broker.connection")


Serve = Callable[[bytes], bool]
"""Serves a frame as long as one that came before; false if it is another request."""


class Desk(Protocol):
    """What a connection is served by."""

    def opened(self, connection: Connection) -> bool:
        """Whether there is room for it."""

    def closed(self, connection: Connection) -> None: ...

    def serve(self, connection: Connection, payload: bytes) -> object | None:
        """Serve one payload; what stands for it until it is answered, null when it is done already."""

    def hold(self, connection: Connection) -> None:
        """Have it serve what it holds at the end of this round of the loop."""

    def serve_known(self, connection: Connection, known: Serve, data: bytes) -> bool:
        """Serve a frame that may have come before; whether it was recognised, and needs no more."""


class Connection(asyncio.Protocol):
    """`client_host` is how Kafka shows a client: a slash and its address. `listener` names where it came in.

    `desk` serves its payloads. `principal` is who the client is; on a SASL listener `session` is how that is found out.
    """

    __slots__ = (
        "_held",
        "_is_cut",
        "_known",
        "_mute",
        "_out",
        "_parked",
        "_paused",
        "_ready",
        "_serving",
        "_splitter",
        "_unread_bytes",
        "_waiting",
        "_waiting_bytes",
        "_writable",
        "client_host",
        "desk",
        "listener",
        "max_bytes",
        "principal",
        "session",
        "silent_rounds",
        "stalled_rounds",
        "transport",
    )

    def __init__(self, desk: Desk, listener: str, max_bytes: int) -> None:
        self.desk = desk
        self.listener = listener
        self.max_bytes = max_bytes
        self.principal = ANONYMOUS
        self.session: SaslSession | None = None
        self._splitter = FrameSplitter(max_bytes)
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._parked: object | None = None
        self._held: bytes | None = None
        self._known: dict[int, Serve | None] = {}
        self._serving = self._is_cut = False
        self._ready = self._writable = True
        self._paused = False
        self._mute: asyncio.TimerHandle | None = None
        self._unread_bytes = 0
        self.client_host = ""
        self.silent_rounds = 0
        self.stalled_rounds = 0
        self.transport: asyncio.Transport | None = None
        self._out: Straight | None = None

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self._out = Straight(self.transport)
        peer = transport.get_extra_info("peername")
        self.client_host = f"/{peer[0]}" if peer else "/"
        keep_alive(self.transport)
        if not self.desk.opened(self):
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = self._out = None
        self._waiting.clear()
        self._parked = self._held = None
        self._known.clear()
        if self._mute is not None:
            self._mute.cancel()
        self.desk.closed(self)

    def data_received(self, data: bytes) -> None:
        self.silent_rounds = 0
        if self._held is not None:
            self._held += data
        elif self._known.get(len(data)) is None:
            self._received(data)
        else:
            self._held = data
            self.desk.hold(self)

    def serve_held(self) -> None:
        """Serve what looked like a frame that came before."""
        data, self._held = self._held, None
        if data is None or self.transport is None:  # the connection has ended meanwhile
            return
        known = self._known.get(len(data))
        if (
            known is None
            or self._is_cut
            or self._parked is not None
            or not self._ready  # else nothing waits: frames are served as they come
            or not self.desk.serve_known(self, known, data)
        ):
            self._received(data)

    def _received(self, data: bytes) -> None:
        """Cut it into frames, and serve them."""
        try:
            frames = self._splitter.feed(data)
        except BadFrame as problem:
            self.refuse(str(problem))
            return
        self._is_cut = bool(self._splitter.rest)
        for frame in frames:
            self._waiting.append(frame)
            self._waiting_bytes += len(frame) + FRAME_COST_BYTES
        self._serve()
        if self._waiting_bytes > WAITING_BYTES and self.transport is not None and not self._paused:
            self._paused = True
            self.transport.pause_reading()

    def pause_writing(self) -> None:
        self._ready = self._writable = False
        self._unread_bytes = self.stalled_rounds = 0

    def resume_writing(self) -> None:
        self._writable = True
        self._go_on()

    # serving

    def take_frames_up_to(self, max_bytes: int) -> None:
        """A longer frame ends the connection."""
        self._splitter.max_bytes = max_bytes

    def mute(self, for_s: float) -> None:
        """Serve nothing for some time."""
        if self._mute is not None:
            self._mute.cancel()
        self._ready = False
        self._mute = asyncio.get_running_loop().call_later(for_s, self._unmute)

    def _unmute(self) -> None:
        self._mute = None
        self._go_on()

    def _go_on(self) -> None:
        """Serve what waits, unless there is still a reason not to."""
        self._ready = self._writable and self._mute is None
        self._serve()

    def _serve(self) -> None:
        """Serve what waits until a request parks or nothing is left. An answer that comes at once does not recurse."""
        if self._serving:
            return
        self._serving = True
        try:
            while self._waiting and self._parked is None and self._ready and self.transport is not None:
                frame = self._waiting.popleft()
                self._waiting_bytes -= len(frame) + FRAME_COST_BYTES
                self._parked = self.desk.serve(self, frame)
        finally:
            self._serving = False
        if self._paused and self._waiting_bytes <= WAITING_BYTES and self.transport is not None:
            self._paused = False
            self.transport.resume_reading()

    def comes_again(self, size: int) -> bool:
        """Whether a frame of this many bytes came before; worth being remembered, if it is of one kind with it."""
        if size in self._known:
            return True
        if size <= LONGEST_BYTES:
            if len(self._known) >= MOST:
                self._known.clear()
            self._known[size] = None
        return False

    def remember(self, size: int, known: Serve) -> None:
        """Recognise frames of this many bytes."""
        self._known[size] = known

    def forget(self) -> None:
        """Recognise nothing any more; what comes is read anew."""
        self._known.clear()

    def park(self, request: object) -> None:
        """A request that was recognised is answered later."""
        self._parked = request

    def answered(self, request: object | None, frame: bytes | None) -> None:
        """The request is done; null for a frame: it has no answer; null for the request: nobody had one made of it."""
        out = self._out
        if out is None:
            return
        if frame is not None:
            out.write(frame)
        if self._parked is request:
            self._parked = None
            if self._waiting:
                self._serve()

    @property
    def address(self) -> str:
        """The client's address."""
        return self.client_host[1:]

    @property
    def is_idle(self) -> bool:
        """Nobody waits for an answer here."""
        return self._parked is None and not self._waiting and self._held is None

    def is_stalled(self) -> bool:
        """Whether the client has answers to read, and has read nothing since this was asked last."""
        if self._writable or self.transport is None:
            return False
        before, self._unread_bytes = self._unread_bytes, self.transport.get_write_buffer_size()
        return self._unread_bytes >= before

    def refuse(self, reason: str, *, at_once: bool = False) -> None:
        """End the connection, and say why once; `at_once`: what the client has not read yet is thrown away."""
        if self.transport is not None:
            log.info("connection closed", client=self.client_host, listener=self.listener, reason=reason)
            self._waiting.clear()
            if at_once:
                self.transport.abort()
            else:
                self.transport.close()
            self.transport = self._out = None


def keep_alive(transport: asyncio.Transport) -> None:
    """Let the system find out that a client is gone that never said so."""
    opened = transport.get_extra_info("socket")
    if opened is not None:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, seconds_or_probes in KEEP_ALIVE:
            opened.setsockopt(socket.IPPROTO_TCP, option, seconds_or_probes)
