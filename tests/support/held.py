"""Stand-ins for what a test holds in its own hands: the clock, the event loop's timers, the other end of a connection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class HeldClock:
    """Time moves when the test says so."""

    def __init__(self, now_ms: int = 1_000_000, wall_offset_ms: int = 1_700_000_000_000) -> None:
        self.time_ms = now_ms
        self.wall_offset_ms = wall_offset_ms

    def now_ms(self) -> int:
        return self.time_ms

    def wall_ms(self) -> int:
        return self.time_ms + self.wall_offset_ms


class HeldHandle:
    """A callback that is due at a time."""

    def __init__(self, due_ms: float, call: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        self.due_ms = due_ms
        self.call = call
        self.arguments = arguments
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class HeldLoop:
    """`call_later` of an event loop, on a clock that the test moves."""

    def __init__(self, clock: HeldClock) -> None:
        self.clock = clock
        self.handles: list[HeldHandle] = []

    def call_later(self, delay_s: float, call: Callable[..., None], *arguments: Any) -> HeldHandle:
        self.handles.append(HeldHandle(self.clock.time_ms + delay_s * 1_000, call, arguments))
        return self.handles[-1]

    @property
    def waiting(self) -> list[HeldHandle]:
        return [handle for handle in self.handles if not handle.cancelled]

    def passes(self, ms: int) -> None:
        """Time passes; what becomes due is called, in order."""
        end_ms = self.clock.time_ms + ms
        while due := [handle for handle in self.waiting if handle.due_ms <= end_ms]:
            first = min(due, key=lambda handle: handle.due_ms)
            self.handles.remove(first)
            self.clock.time_ms = max(self.clock.time_ms, int(first.due_ms))
            first.call(*first.arguments)
        self.clock.time_ms = end_ms


class HeldTransport:
    """Keeps what is written to it."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.host = host
        self.written: list[bytes] = []
        self.closed = False
        self.aborted = False
        self.reads = True
        self.unread_bytes = 0

    def get_extra_info(self, name: str) -> Any:
        return (self.host, 4_242) if name == "peername" else None

    def write(self, data: bytes) -> None:
        assert not self.closed, "written to after it was closed"
        self.written.append(data)

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = self.aborted = True

    def get_write_buffer_size(self) -> int:
        return self.unread_bytes

    def pause_reading(self) -> None:
        self.reads = False

    def resume_reading(self) -> None:
        self.reads = True
