"""The broker's clock: monotonic milliseconds, and how far wall time is from them.

Rules: timers and durations use `now_ms`, which never jumps; times that are stored or shown use wall time, which may.
"""

from __future__ import annotations

import time

JUMP_MS = 1_000
"""Wall time that drifts less than this from the monotonic clock is left alone."""


class Clock:
    """`wall_offset_ms` is what to add to `now_ms` for ms since 1970. `seen_ms` is the wall time of the last `look`, for what is
    done in one go."""

    def __init__(self) -> None:
        self.wall_offset_ms = self._measure()
        self.seen_ms = self.wall_ms()

    def look(self) -> None:
        """Note what time it is."""
        self.seen_ms = self.wall_ms()

    @staticmethod
    def now_ms() -> int:
        return time.monotonic_ns() // 1_000_000

    def wall_ms(self) -> int:
        return self.now_ms() + self.wall_offset_ms

    def jumped(self) -> bool:
        """Whether the machine's clock was set since this was asked last; `wall_offset_ms` follows it."""
        measured = self._measure()
        if abs(measured - self.wall_offset_ms) < JUMP_MS:
            return False
        self.wall_offset_ms = measured
        return True

    @classmethod
    def _measure(cls) -> int:
        return time.time_ns() // 1_000_000 - cls.now_ms()
