"""A shell around the real coordinator in which the test is the world: it holds the clock and the journal.

Replies are kept with whoever asked, timers by key, records until the journal has written them. After every event the
invariants are checked, so a test that fails to look still sees what went wrong.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kaas.coordinator import replay
from kaas.coordinator.announcements import Announcement, MemberChange, RebalanceStarted
from kaas.coordinator.config import CoordinatorConfig
from kaas.coordinator.coordinator import Coordinator
from kaas.coordinator.effects import Announce, CancelTimer, Effect, Persist, Reply, SetTimer
from kaas.coordinator.events import ClockMoved, Event, Loaded, TimerExpired, WriteFailed, Written
from kaas.coordinator.group import Group
from kaas.coordinator.records import TRANSACTION_RECORDS, Record
from kaas.coordinator.timers import TimerKey
from kaas.coordinator.transactions.holder import Holder
from kaas.coordinator.transactions.state import TransactionState
from kaas.feed.types import CAUSES, KINDS
from tests.support.invariants import check_all, check_replayed

WALL_OFFSET_MS = 1_700_000_000_000


@dataclass(eq=False, slots=True)
class Asked:
    """A request that was sent: the token of its reply."""

    learn: Callable[[Any], None] | None = None
    replies: list[Any] = field(default_factory=list)

    def reply(self, answer: Any) -> None:
        assert not self.replies, f"answered twice: {self.replies[0]}, then {answer}"
        self.replies.append(answer)
        if self.learn is not None:
            self.learn(answer)

    @property
    def waits(self) -> bool:
        """Nobody has answered yet."""
        return not self.replies

    @property
    def answer(self) -> Any:
        """The answer, which must be there."""
        assert self.replies, "not answered"
        return self.replies[0]

    @property
    def code(self) -> int:
        return int(self.answer.code)


@dataclass(slots=True)
class MemoryJournal:
    """Keeps what is written. `held`: records wait until the test lets them through; `full`: none can be written."""

    written: list[tuple[str, Record]] = field(default_factory=list)
    waiting: deque[Persist] = field(default_factory=deque)
    held: bool = False
    full: bool = False


class Shell:
    """One life of a broker after another. Times are ms; `timers` is key to deadline; `moved` groups are another broker's."""

    def __init__(self, **config: Any) -> None:
        self.config = CoordinatorConfig(**{"initial_rebalance_delay_ms": 0, **config})
        self.now_ms = 1_000_000
        self.wall_offset_ms = WALL_OFFSET_MS
        self.journal = MemoryJournal()
        self.core = Coordinator(self.config)
        self.timers: dict[TimerKey, int] = {}
        self.announced: list[tuple[str, Announcement]] = []
        self.moved: set[str] = set()
        self._events: deque[Event] = deque()
        self.restarts()

    # Events and effects

    def submit(self, event: Event) -> None:
        """One event, and what follows from it while the journal lets everything through."""
        self._events.append(event)
        self._handle_events()
        if not self.journal.held:
            self.settle()

    def _handle_events(self) -> None:
        while self._events:
            for effect in self.core.handle(self._events.popleft(), self.now_ms):
                self._carry_out(effect)
            check_all(self.core, self.timers)

    def _carry_out(self, effect: Effect) -> None:
        if isinstance(effect, Reply):
            effect.to.reply(effect.answer)
        elif isinstance(effect, SetTimer):
            self.timers[effect.key] = effect.deadline_ms
        elif isinstance(effect, CancelTimer):
            self.timers.pop(effect.key, None)
        elif isinstance(effect, Persist):
            self.journal.waiting.append(effect)
        elif isinstance(effect, Announce):
            self._hear(effect.group_id, effect.what)

    def _hear(self, group_id: str, what: Announcement) -> None:
        if isinstance(what, MemberChange):
            assert what.kind in KINDS
        if isinstance(what, RebalanceStarted):
            assert what.cause.kind in CAUSES
        self.announced.append((group_id, what))

    def heard(self, kind: type) -> list[Any]:
        """Announcements of one kind so far."""
        return [what for _, what in self.announced if isinstance(what, kind)]

    # The journal

    def settle(self) -> None:
        """Everything that waits for the journal is written, or fails when the disk is full, and so is what follows."""
        while self.journal.waiting:
            if self.journal.full:
                self.fails()
            else:
                self.writes(len(self.journal.waiting))

    def writes(self, count: int = 1) -> None:
        """The next records become durable."""
        rows = [self.journal.waiting.popleft() for _ in range(count)]
        self.journal.written += [(row.group_id, row.record) for row in rows]
        self._events.append(Written(up_to=rows[-1].seq))
        self._handle_events()
        if not self.core.out.in_flight:
            check_replayed(self.core.groups, self.durable())
            assert {name: h.durable for name, h in self.core.transactions.items()} == self.durable_transactions()

    def fails(self, count: int | None = None) -> None:
        """The next records (or all that wait) cannot be written."""
        rows = [self.journal.waiting.popleft() for _ in range(count or len(self.journal.waiting))]
        self._events.append(WriteFailed(first=rows[0].seq, last=rows[-1].seq))
        self._handle_events()

    def durable(self) -> dict[str, Group]:
        """What a restart would bring back."""
        groups: dict[str, Group] = {}
        for group_id, record in self.journal.written:
            if group_id not in self.moved and not isinstance(record, TRANSACTION_RECORDS):
                replay.apply(groups, group_id, record, self.wall_offset_ms)
        for group in groups.values():
            replay.restore(group, self.wall_offset_ms)
        return groups

    def durable_transactions(self) -> dict[str, TransactionState]:
        """The transactional ids that a restart would bring back."""
        found = {name: record for name, record in self.journal.written if isinstance(record, TRANSACTION_RECORDS)}
        return {name: record for name, record in found.items() if isinstance(record, TransactionState)}

    # Time

    def passes(self, ms: int) -> None:
        """Time passes; timers run out in the order of their deadlines."""
        end_ms = self.now_ms + ms
        while True:
            key = min(self.timers, key=lambda k: self.timers[k], default=None)
            if key is None or self.timers[key] > end_ms:
                break
            self.now_ms = max(self.now_ms, self.timers.pop(key))
            self.submit(TimerExpired(key=key))
        self.now_ms = end_ms

    @property
    def wall_ms(self) -> int:
        return self.now_ms + self.wall_offset_ms

    # Lives

    def starts_loading(self) -> None:
        """The broker dies, with all that was not written, and another one starts. Nobody who waited hears of it."""
        self.core = Coordinator(self.config)
        self.timers.clear()
        self.journal.waiting.clear()
        self._events.append(ClockMoved(wall_offset_ms=self.wall_offset_ms))
        self._handle_events()

    def loads(self) -> None:
        """The state on disk has been read."""
        self.core.groups = self.durable()
        self.core.transactions = {name: Holder(state, state) for name, state in self.durable_transactions().items()}
        self.submit(Loaded())

    def restarts(self) -> None:
        self.starts_loading()
        self.loads()
