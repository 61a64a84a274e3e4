"""Fetches that wait for records.

Job: keep them until enough was appended to one of their logs, or their time is up.
Rules:
- No polling and no task per fetch: an append wakes the fetches of its log, a timer ends the wait.
- A fetch says how many bytes it still lacks. It is asked again when so many were appended, not on every append.
- A fetch whose client has gone is dropped when it is met, at the latest after `ALIVE_CHECK_S`.
Must not know: what a fetch reads, how it answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from kaas.storage.log.partition import PartitionLog

ALIVE_CHECK_S = 30.0

Attempt = Callable[[bool], int]
"""Called with whether it is the last chance. 0: done with, else how many bytes are lacking."""


class Parked:
    """A fetch that waits."""

    __slots__ = ("attempt", "deadline", "is_alive", "lacking", "logs", "timer")

    def __init__(
        self,
        logs: Iterable[PartitionLog],
        lacking: int,
        deadline: float,
        attempt: Attempt,
        is_alive: Callable[[], bool],
    ) -> None:
        self.logs = tuple(dict.fromkeys(logs))
        self.lacking = lacking
        self.deadline = deadline
        self.attempt = attempt
        self.is_alive = is_alive
        self.timer: asyncio.TimerHandle | None = None


class Purgatory:
    """All fetches that wait. Used from the event loop only."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: dict[PartitionLog, dict[Parked, None]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def park(
        self, logs: Iterable[PartitionLog], lacking: int, wait_s: float, attempt: Attempt, is_alive: Callable[[], bool]
    ) -> None:
        """Lets a fetch wait for `lacking` bytes in any of some logs, at most so long."""
        parked = Parked(logs, lacking, self._loop.time() + wait_s, attempt, is_alive)
        for log in parked.logs:
            self._waiting.setdefault(log, {})[parked] = None
        self._count += 1
        self._arm(parked)

    def wake(self, log: PartitionLog, appended_bytes: int) -> None:
        """Something was appended to a log, or it changed otherwise."""
        for parked in list(self._waiting.get(log, ())):
            parked.lacking -= appended_bytes
            if parked.lacking <= 0 and parked.timer is not None:
                self._try(parked, last_chance=False)

    def wake_all(self, log: PartitionLog) -> None:
        """A log is no longer what its fetches wait for: all of them look again, whatever they lack."""
        for parked in list(self._waiting.get(log, ())):
            if parked.timer is not None:
                self._try(parked, last_chance=False)

    def stop(self) -> None:
        """Forgets all that waits."""
        for parked in {one: None for log in self._waiting.values() for one in log}:
            self._remove(parked)

    def _try(self, parked: Parked, *, last_chance: bool) -> None:
        if not parked.is_alive():
            self._remove(parked)
            return
        lacking = parked.attempt(last_chance)
        if lacking > 0 and not last_chance:
            parked.lacking = lacking
        else:
            self._remove(parked)

    def _arm(self, parked: Parked) -> None:
        wait_s = min(parked.deadline - self._loop.time(), ALIVE_CHECK_S)
        parked.timer = self._loop.call_later(max(wait_s, 0), self._expired, parked)

    def _expired(self, parked: Parked) -> None:
        last_chance = self._loop.time() >= parked.deadline
        if last_chance or not parked.is_alive():
            self._try(parked, last_chance=True)
        else:
            self._arm(parked)

    def _remove(self, parked: Parked) -> None:
        if parked.timer is None:
            return
        parked.timer.cancel()
        parked.timer = None
        self._count -= 1
        for log in parked.logs:
            others = self._waiting.get(log, {})
            others.pop(parked, None)
            if not others:
                self._waiting.pop(log, None)
