"""Many timers on one event-loop callback.

Job: keys with deadlines; when one passes, `expired(key)`.
Rules: setting a key again only notes the new deadline: most timers are session timers, which are set again at each heartbeat
and hardly ever run out. A deadline that was moved is found when its old one passes, and is put back. Expiries come in the
order of their deadlines. Cancelled timers leave at their old deadline, or when they outnumber the live ones.
Must not know: what a key means.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable

from kaas.broker.clock import Clock
from kaas.coordinator.timers import TimerKey

TIDY_AT = 10_000


class Timers:
    """Deadlines are on the clock of `Clock.now_ms`."""

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: Clock, expired: Callable[[TimerKey], None]) -> None:
        self._loop = loop
        self._clock = clock
        self._expired = expired
        self._deadlines: dict[TimerKey, int] = {}
        self._queued: dict[TimerKey, int] = {}
        self._heap: list[tuple[int, TimerKey]] = []
        self._handle: asyncio.TimerHandle | None = None
        self._armed_ms = 0

    def set(self, key: TimerKey, deadline_ms: int) -> None:
        self._deadlines[key] = deadline_ms
        queued = self._queued.get(key)
        if queued is None or deadline_ms < queued:
            self._push(key, deadline_ms)
            self._arm()

    def cancel(self, key: TimerKey) -> None:
        self._deadlines.pop(key, None)

    def __len__(self) -> int:
        return len(self._deadlines)

    def stop(self) -> None:
        """Nothing expires any more."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        self._deadlines.clear()
        self._queued.clear()
        self._heap.clear()

    def _push(self, key: TimerKey, deadline_ms: int) -> None:
        self._queued[key] = deadline_ms
        heapq.heappush(self._heap, (deadline_ms, key))
        if len(self._heap) > TIDY_AT and len(self._heap) > 2 * len(self._deadlines):
            self._tidy()

    def _tidy(self) -> None:
        """Forget cancelled timers and outdated deadlines."""
        self._heap = [(deadline, key) for key, deadline in self._deadlines.items()]
        heapq.heapify(self._heap)
        self._queued = dict(self._deadlines)

    def _arm(self) -> None:
        first_ms = self._heap[0][0]
        if self._handle is not None:
            if self._armed_ms <= first_ms:
                return
            self._handle.cancel()
        self._armed_ms = first_ms
        wait_ms = max(first_ms - self._clock.now_ms(), 0)
        self._handle = self._loop.call_later(wait_ms / 1_000, self._run)

    def _run(self) -> None:
        self._handle = None
        now_ms = self._clock.now_ms()
        while self._heap and self._heap[0][0] <= now_ms:
            queued_ms, key = heapq.heappop(self._heap)
            if self._queued.get(key) != queued_ms:  # a nearer deadline of this key has been queued since
                continue
            del self._queued[key]
            deadline_ms = self._deadlines.get(key)
            if deadline_ms is None:
                continue
            if deadline_ms > now_ms:
                self._push(key, deadline_ms)
                continue
            del self._deadlines[key]
            self._expired(key)
        if self._heap and self._handle is None:
            self._arm()
