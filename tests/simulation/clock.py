"""The time of a simulation: monotonic milliseconds that only go forward, and a wall clock that may be set."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Clock:
    """`wall_offset_ms` is what to add to `now_ms` for ms since 1970."""

    now_ms: int = 1_000_000
    wall_offset_ms: int = 1_700_000_000_000

    @property
    def wall_ms(self) -> int:
        return self.now_ms + self.wall_offset_ms
