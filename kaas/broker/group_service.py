"""The coordinator's shell: clocks, timers, the journal, the feed, around the pure coordinator.

Job: give events to the coordinator one after another and carry out its effects.
Rules: an event that comes while another one is handled waits for it, so that records reach the journal in the order of their
numbers. What this life writes has a higher epoch than anything on the volume. Replies are callables that the handlers made.
The disk is never touched from the event loop.
Must not know: what a request looks like, what an effect is for.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import structlog

from kaas.broker.checkpoints import Checkpoints
from kaas.broker.clock import Clock
from kaas.broker.regexes import Matches, matches, visible
from kaas.broker.settings import Settings
from kaas.broker.timers import Timers
from kaas.coordinator import records
from kaas.coordinator.announcements import Announcement
from kaas.coordinator.coordinator import Coordinator
from kaas.coordinator.effects import (
    Announce,
    CancelTimer,
    Effect,
    Persist,
    Reply,
    ResolveRegexes,
    SendMarkers,
    SetTimer,
)
from kaas.coordinator.events import ClockMoved, Event, Loaded, RegexesResolved, TimerExpired, WriteFailed, Written
from kaas.coordinator.timers import TimerKey
from kaas.coordinator.transactions.holder import Holder
from kaas.coordinator.transactions.state import TransactionState
from kaas.storage.journal import JOURNAL_FOLDER, Journal, encode_entry
from kaas.storage.journal_writer import JournalWriter, Outcome
from kaas.storage.load import Loaded as Found
from kaas.storage.load import Loader

log = structlog.get_logger("kaas.broker.groups")

CLOCK_CHECK_S = 1.0

GATHERING_ROUNDS = 4
"""Rounds of the event loop whose records share a flush of the journal. Each flush makes the loop and the thread that writes
take turns, which costs more than to look once more for what has come; a round in which nothing comes takes microseconds."""

IN_NUMBERS = (records.OffsetsCommitted, records.OffsetsStaged)
"""Records that come in numbers and may wait for one another. Anything else is flushed at once: a rebalance stands still until
its record is durable, and the other members' requests are read meanwhile."""

ENOUGH = 200
"""Records that are flushed without waiting for more: while the disk works on them, the loop decides about as many again."""


class Asker(Protocol):
    """Whoever asked for a decision together with others."""

    def failed(self) -> None:
        """The decision failed. Called while the exception is handled."""


Asked = tuple[Event, Asker | None]
"""An event, and who is told that its decision failed; null: whoever submitted it has the exception."""


class Audience(Protocol):
    """Who hears announcements: the feed."""

    def heard(self, group_id: str, what: Announcement) -> None: ...

    def beat(self, key: TimerKey) -> None:
        """A session timer was set again."""


class Silence:
    """Nobody hears: a broker without a feed."""

    def heard(self, group_id: str, what: Announcement) -> None:
        pass

    def beat(self, key: TimerKey) -> None:
        pass


class Markers(Protocol):
    """Who writes the ends of transactions to logs and groups."""

    def send(self, effect: SendMarkers) -> None: ...


class NoMarkers:
    """A shell without logs: nothing can be in a transaction."""

    def send(self, effect: SendMarkers) -> None:
        raise AssertionError(f"{effect.transactional_id!r} has touched logs that are not there")


class GroupService:
    """All groups of this broker.

    `coordinator` may be asked questions (kaas.coordinator.queries); changes go through `submit`. `disk_error` is what the
    journal met at its last write, null when that went well.
    """

    def __init__(self, cluster_folder: Path, broker_id: int, epoch: int, settings: Settings, clock: Clock) -> None:
        self._folder = cluster_folder
        self._broker_id = broker_id
        self._settings = settings
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._queue: deque[list[Asked]] = deque()
        self._gathered: list[Asked] = []
        self._running = False
        self._persisted: list[Persist] = []
        self._unsettled: deque[list[Persist]] = deque()
        self.coordinator = Coordinator(settings.coordinator())
        self.coordinator.out.epoch = epoch
        self.audience: Audience = Silence()
        self.markers: Markers = NoMarkers()
        self.disk_error: OSError | None = None
        self.timers = Timers(self._loop, clock, self._expired)
        journal = Journal(
            cluster_folder / JOURNAL_FOLDER / str(broker_id), roll_bytes=settings["kaas.journal.roll.bytes"]
        )
        self._journal = journal
        self._writer = JournalWriter(journal, self._report)
        self._rounds_left = 0
        self._others: dict[type[Effect], Callable[[Any], None]] = {
            CancelTimer: lambda effect: self.timers.cancel(effect.key),
            SendMarkers: lambda effect: self.markers.send(effect),
            ResolveRegexes: self._resolve,
        }
        self._checkpoints = Checkpoints(
            self.coordinator, cluster_folder, journal.folder, settings["kaas.checkpoint.interval.ms"]
        )
        self._clock_handle: asyncio.TimerHandle | None = None

    async def load(self) -> None:
        """Bring the groups back; until then they answer that they are loading."""
        self.submit(ClockMoved(wall_offset_ms=self._clock.wall_offset_ms))
        loader = Loader(self._folder, str(self._broker_id), self._clock.wall_offset_ms)
        found: Found = await self._loop.run_in_executor(None, loader.load)
        for fault in found.faults:
            log.error("stored groups", fault=fault)
        if found.newest_epoch >= self.coordinator.out.epoch:
            log.warning("the volume is ahead of its assignment", epoch=found.newest_epoch)
            self.coordinator.out.epoch = found.newest_epoch + 1
        self.coordinator.groups = found.groups
        self.coordinator.broken = found.broken or {}  # asked at each request: a plain dict is empty at once
        self.coordinator.broken_transactions = found.broken_transactions or {}
        for record, _ in found.transactions.values():
            if isinstance(record, TransactionState):
                self.coordinator.transactions[record.transactional_id] = Holder(record, record)
        self._checkpoints.found(found)
        self.submit(Loaded())
        self._watch_clock()
        log.info(
            "groups loaded",
            groups=len(found.groups),
            transactional_ids=len(self.coordinator.transactions),
            broken=len(found.broken) + len(found.broken_transactions),
        )

    def gather(self, event: Event, asker: Asker) -> None:
        """Handle an event together with others, when `decide_gathered` is called; `asker` is told if that fails."""
        self._gathered.append((event, asker))

    def decide_gathered(self) -> None:
        """Handle what was gathered."""
        if self._gathered:
            gathered, self._gathered = self._gathered, []
            self._queue.append(gathered)
            self._handle_queue()

    def submit(self, event: Event) -> None:
        """Handle an event and everything that follows from it at once."""
        self._queue.append([(event, None)])
        self._handle_queue()

    def _handle_queue(self) -> None:
        if self._running:
            return
        self._running = True
        try:
            while self._queue:
                self._carry_out(self._decide(self._queue.popleft()))
        finally:
            self._running = False

    def _decide(self, asked: list[Asked]) -> list[Effect]:
        now_ms, decide = self._clock.now_ms(), self.coordinator.decide
        for event, asker in asked:
            try:
                decide(event, now_ms)
            except Exception:  # it must not keep back the others that came with it
                if asker is None:
                    raise
                asker.failed()
        return self.coordinator.out.take()

    def _carry_out(self, effects: list[Effect]) -> None:
        for effect in effects:
            kind = type(effect)
            if kind is Reply:
                try:
                    effect.to(effect.answer)  # type: ignore[union-attr]
                except (
                    Exception
                ):  # it must not keep back the other answers, nor the timers and records of the same event
                    log.exception("an answer was not given")
            elif kind is Announce:
                self.audience.heard(effect.group_id, effect.what)  # type: ignore[union-attr]
            elif kind is Persist:
                self._persist(effect)  # type: ignore[arg-type]
            elif kind is SetTimer:
                self.timers.set(effect.key, effect.deadline_ms)  # type: ignore[union-attr]
                if effect.key[0] == "session":  # type: ignore[union-attr]
                    self.audience.beat(effect.key)  # type: ignore[union-attr]
            else:
                self._others[kind](effect)

    def _resolve(self, effect: ResolveRegexes) -> None:
        """Match patterns in a thread, then tell the coordinator; that they could not be matched, if that fails."""
        names = tuple(self.coordinator.topics.by_name)
        future = self._loop.run_in_executor(None, matches, effect.patterns, names)

        def matched(one: asyncio.Future[Matches]) -> None:
            try:
                found = visible(one.result(), effect.may_describe)
            except Exception:
                log.exception("patterns were not matched", group=effect.group_id)
                found = {}
            self.submit(RegexesResolved(group_id=effect.group_id, topics=found))

        future.add_done_callback(matched)

    def _persist(self, effect: Persist) -> None:
        self._persisted.append(effect)
        if len(self._persisted) >= ENOUGH or not isinstance(effect.record, IN_NUMBERS):
            self._hand_over()
        elif not self._rounds_left:
            self._rounds_left = GATHERING_ROUNDS
            self._loop.call_soon(self._gather)

    def _gather(self) -> None:
        """A round of the loop has brought what its sockets had."""
        self._rounds_left -= 1
        if self._rounds_left:
            self._loop.call_soon(self._gather)
        else:
            self._hand_over()

    def _hand_over(self) -> None:
        """Have the journal's thread write what was persisted; it is woken once for all of it."""
        persisted, self._persisted = self._persisted, []
        if persisted:
            entries = [encode_entry(row.group_id, row.epoch, row.seq, records.encode(row.record)) for row in persisted]
            self._unsettled.append(persisted)
            self._writer.write(entries, persisted[-1].seq)

    def _report(self, outcome: Outcome) -> None:
        """Called in the journal's thread."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits for this any more
            self._loop.call_soon_threadsafe(self._settled, outcome)

    def _settled(self, outcome: Outcome) -> None:
        if outcome.error is not None:
            if self.disk_error is None:
                log.error("the journal cannot be written: commits are refused", error=str(outcome.error))
            self.disk_error = outcome.error
            self._settle(outcome.last)
            self.submit(WriteFailed(first=outcome.first, last=outcome.last))
            return
        if self.disk_error is not None:
            log.info("the journal can be written again")
            self.disk_error = None
        self.submit(Written(up_to=outcome.last))
        self._checkpoints.changed(self._settle(outcome.last), self._journal.file_of(outcome.file))

    def _settle(self, last: int) -> list[Persist]:
        """What was persisted up to this number."""
        settled = []
        while self._unsettled and self._unsettled[0][-1].seq <= last:
            settled += self._unsettled.popleft()
        return settled

    def _expired(self, key: TimerKey) -> None:
        self.submit(TimerExpired(key=key))

    def _watch_clock(self) -> None:
        if self._clock.jumped():
            log.warning("the machine's clock was set")
            self.submit(ClockMoved(wall_offset_ms=self._clock.wall_offset_ms))
        self._clock_handle = self._loop.call_later(CLOCK_CHECK_S, self._watch_clock)

    async def stop(self) -> None:
        """Make durable what was asked for, write the checkpoints, end the threads."""
        if self._clock_handle is not None:
            self._clock_handle.cancel()
        self.timers.stop()
        self._hand_over()
        await self._loop.run_in_executor(None, self._writer.stop)
        await asyncio.sleep(0)  # outcomes that the thread has reported are settled by callbacks that are due now
        await self._checkpoints.stop()
