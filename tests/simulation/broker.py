"""A broker without a network: the real coordinator, journal, checkpoints and load, driven one step at a time.

Job: carry out the coordinator's effects as the real shell does, but let the schedule decide when a record is written, when that
is told, when a checkpoint is made, and when everything dies.
Rules: after every event the invariants are checked. Files are real ones, written and read with the code of the product.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kaas.broker.regexes import matches
from kaas.coordinator import records, replay
from kaas.coordinator.announcements import Announcement, StateChanged
from kaas.coordinator.answers import CommitAnswer, ConsumerHeartbeatAnswer, JoinAnswer, SyncAnswer
from kaas.coordinator.classic.states import State
from kaas.coordinator.config import CoordinatorConfig
from kaas.coordinator.coordinator import Coordinator
from kaas.coordinator.effects import Announce, CancelTimer, Effect, Persist, Reply, ResolveRegexes, SetTimer
from kaas.coordinator.events import (
    ClockMoved,
    ConsumerHeartbeat,
    Event,
    Loaded,
    RegexesResolved,
    TimerExpired,
    TopicKnown,
    Unload,
    WriteFailed,
    Written,
)
from kaas.coordinator.group import Group, new_group
from kaas.coordinator.modern.group import State as ModernState
from kaas.coordinator.records import GenerationReserved, GroupEmpty, GroupStable
from kaas.coordinator.timers import TimerKey
from kaas.coordinator.topics import Topic
from kaas.storage.journal import JOURNAL_FOLDER, Journal, encode_entry
from kaas.storage.load import Loader
from tests.simulation.calls import Call
from tests.simulation.checkpoints import Checkpoints
from tests.simulation.clock import Clock
from tests.simulation.consumer_coverage import kind_of
from tests.simulation.consumer_truth import ConsumerTruth
from tests.simulation.coverage import Coverage
from tests.simulation.truth import Truth
from tests.simulation.watch import Watch
from tests.support.disk import full_after
from tests.support.invariants import check_all, check_owners, check_same

BROKER = "1"


@dataclass(slots=True)
class Waiting:
    """A record that waits for the journal."""

    effect: Persist
    entry: bytes


@dataclass(slots=True)
class Broker:
    """One volume and the lives of its broker. `durable` is what a restart must bring back: every written record, replayed.

    `outcomes` are writes that are done and not told yet, with the records of each. `moved`: groups of another broker. `mixed`:
    groups that members of both protocols join. `consumer_groups`: groups that spoke KIP-848 when something was announced of
    them last. `topics`: those that there are, by name. `matching`: patterns that wait to be matched.
    """

    folder: Path
    clock: Clock
    truth: Truth
    consumer_truth: ConsumerTruth
    coverage: Coverage
    config: CoordinatorConfig
    core: Coordinator = field(init=False)
    journal: Journal = field(init=False)
    checkpoints: Checkpoints = field(init=False)
    watch: Watch = field(init=False)
    timers: dict[TimerKey, int] = field(default_factory=dict)
    waiting: deque[Waiting] = field(default_factory=deque)
    outcomes: deque[tuple[Written | WriteFailed, list[Persist]]] = field(default_factory=deque)
    parked: dict[Call, None] = field(default_factory=dict)
    durable: dict[str, Group] = field(default_factory=dict)
    moved: set[str] = field(default_factory=set)
    consumer_groups: set[str] = field(default_factory=set)
    mixed: tuple[str, ...] = ()
    topics: dict[str, Topic] = field(default_factory=dict)
    matching: deque[ResolveRegexes] = field(default_factory=deque)
    epoch: int = 0
    asking: Call | None = None

    # Events

    def ask(self, call: Call) -> None:
        """A request arrives."""
        if call.group_id in self.moved:
            return  # the shell answers that another broker coordinates the group
        group = self.core.groups.get(call.group_id)
        state = None if group is None else state_of(group)
        self.parked[call] = None
        self.asking = call
        if isinstance(call.event, ConsumerHeartbeat):
            call.arrival = self.consumer_truth.said(call.event)
        self.submit(call.event)
        self.asking = None
        if isinstance(state, ModernState):
            self.coverage.consumers.replies[state, kind_of(call.event), call.code] += 1
        elif state is not None:
            self.coverage.replied(state, call.kind, call.code)

    def submit(self, event: Event) -> None:
        """One event, and the invariants after it."""
        for effect in self.core.handle(event, self.clock.now_ms):
            self._carry_out(effect)
        check_all(self.core, self.timers)
        self.truth.check_led()
        for group_id in self.watch.touched():
            if not self.core.loading and group_id not in self.moved:
                self._check_touched(group_id, self.core.groups.get(group_id))

    def _check_touched(self, group_id: str, group: Group | None) -> None:
        """A group of which something was announced."""
        self.truth.check_offsets(group_id, group)
        if group is not None:
            check_owners(group.classic)
            self.consumer_truth.look(group_id, group)
            self.truth.look(group_id, group)

    def _carry_out(self, effect: Effect) -> None:
        if isinstance(effect, Reply):
            self._reply(effect.to, effect.answer)
        elif isinstance(effect, SetTimer):
            self.timers[effect.key] = effect.deadline_ms
        elif isinstance(effect, CancelTimer):
            self.timers.pop(effect.key, None)
        elif isinstance(effect, Persist):
            self._persist(effect)
        elif isinstance(effect, Announce):
            self._announced(effect.group_id, effect.what)
        elif isinstance(effect, ResolveRegexes):
            self.matching.append(effect)

    def _announced(self, group_id: str, what: Announcement) -> None:
        group = self.core.groups.get(group_id)
        self.truth.announced(group_id, what, group)
        self.consumer_truth.announced(group_id, what)
        self.watch.announced(group_id, what)
        if group is not None:
            (self.consumer_groups.discard if group.modern is None else self.consumer_groups.add)(group_id)
        if isinstance(what, StateChanged):
            self.coverage.announced(what.before, what.after, is_modern=group_id in self.consumer_groups)

    def _reply(self, call: Call, answer: Any) -> None:
        assert call in self.parked, f"{call.kind} was answered twice, or after its broker died"
        del self.parked[call]
        code = int(getattr(answer, "code", answer))
        if not code:
            self._acknowledged(call, answer)
        call.answer(code, answer)

    def _acknowledged(self, call: Call, answer: Any) -> None:
        """Nothing is acknowledged before it is durable."""
        unwritten = {row.effect.seq for row in self.waiting if not is_overtaken(row.effect, answer)}
        assert not unwritten.intersection(call.seqs), f"{call.kind} was acknowledged and is not durable"
        if isinstance(answer, CommitAnswer):
            self.truth.committed(call.event, answer.rows)
        elif call.group_id in self.consumer_groups or call.group_id in self.mixed:
            pass  # a classic member there is told epochs, and its share by the broker
        elif isinstance(answer, JoinAnswer):
            assert self.durable[call.group_id].classic.reserved >= answer.generation
            self.truth.joined(call.group_id, answer)
        elif isinstance(answer, ConsumerHeartbeatAnswer):
            self.consumer_truth.told(call.event, answer, call.arrival)
        elif isinstance(answer, SyncAnswer):
            stored = self.durable[call.group_id].stored
            assert isinstance(stored, GroupStable)
            assert answer.assignment in [m.assignment for m in stored.members]

    def _persist(self, effect: Persist) -> None:
        if self.asking is not None and is_answered(self.asking, effect):
            self.asking.seqs.append(effect.seq)
        entry = encode_entry(effect.group_id, effect.epoch, effect.seq, records.encode(effect.record))
        self.waiting.append(Waiting(effect, entry))

    # The journal

    def write(self, count: int) -> bool:
        """The next records become durable, if any wait; nobody is told yet."""
        rows = [self.waiting.popleft() for _ in range(min(count, len(self.waiting)))]
        if not rows:
            return False
        number = self.journal.append(b"".join(row.entry for row in rows))
        for row in rows:
            self._durable(row.effect)
            self.checkpoints.written(row.effect, self.journal.file_of(number))
        self.outcomes.append((Written(up_to=rows[-1].effect.seq), [row.effect for row in rows]))
        return True

    def _durable(self, effect: Persist) -> None:
        replay.apply(self.durable, effect.group_id, effect.record, self.clock.wall_offset_ms)
        if effect.group_id in self.moved:
            self.truth.absorb(effect.group_id, effect.record)

    def fail(self, count: int, room_bytes: int) -> bool:
        """The next records, if any wait, do not fit on the disk."""
        rows = [self.waiting.popleft() for _ in range(min(count, len(self.waiting)))]
        if not rows:
            return False
        batch = b"".join(row.entry for row in rows)
        try:
            with full_after(min(room_bytes, len(batch) - 1)):
                self.journal.append(batch)
        except OSError:
            failed = WriteFailed(first=rows[0].effect.seq, last=rows[-1].effect.seq)
            self.outcomes.append((failed, []))
            return True
        raise AssertionError("there was no room, and it was written")

    def tell(self) -> bool:
        """The coordinator hears of the oldest write, if there is one."""
        if not self.outcomes:
            return False
        event, done = self.outcomes.popleft()
        self.submit(event)
        for effect in done:
            self.checkpoints.changed(effect)
        if not self.outcomes and not self.waiting:
            self.check_durable()
        return True

    def settle(self) -> None:
        """Everything is written and told, and whatever follows from it."""
        while self.waiting or self.outcomes:
            self.write(len(self.waiting))
            self.tell()

    def check_durable(self) -> None:
        """Nothing is in flight: memory is what a restart would bring back."""
        for group_id in self.durable.keys() - self.moved:
            assert group_id in self.core.groups, f"{group_id!r} is durable and not there"
        for group_id, group in self.core.groups.items():
            check_same(group, self._durable_group(group_id))

    def _durable_group(self, group_id: str) -> Group:
        """A group as a restart must bring it back."""
        group = self.durable.get(group_id) or new_group(group_id)
        replay.restore(group, self.clock.wall_offset_ms)
        return group

    # Topics

    def topic(self, topic: Topic) -> None:
        """A topic comes, grows, or is another one under its name."""
        self.topics[topic.name] = topic
        self.submit(TopicKnown(topic=topic))

    def match(self, *, fails: bool) -> bool:
        """The patterns that were asked for first are matched, if there are some; that may fail."""
        if not self.matching:
            return False
        asked = self.matching.popleft()
        found = {} if fails else matches(asked.patterns, self.topics)
        self.submit(RegexesResolved(group_id=asked.group_id, topics=found))
        return True

    # Time

    def expire(self) -> bool:
        """The timer that is due first runs out, if one is due."""
        key = min(self.timers, key=lambda k: (self.timers[k], k), default=None)
        if key is None or self.timers[key] > self.clock.now_ms:
            return False
        del self.timers[key]
        self.submit(TimerExpired(key=key))
        return True

    # Lives

    def start(self) -> None:
        """A life begins: what is on the volume is what was durable."""
        loader = Loader(self.folder, BROKER, self.clock.wall_offset_ms)
        found = loader.load()
        assert not found.broken, dict(found.broken)
        self.moved.clear()
        self.core = Coordinator(self.config)
        self.epoch = max(self.epoch, found.newest_epoch) + 1
        self.core.out.epoch = self.epoch
        self.watch = Watch(self.core)
        self.journal = Journal(self.folder / JOURNAL_FOLDER / BROKER, roll_bytes=20_000)
        self.checkpoints = Checkpoints(self.folder, self.core, self.journal)
        self.checkpoints.found(found)
        self._check_loaded(found.groups)
        self.submit(ClockMoved(wall_offset_ms=self.clock.wall_offset_ms))
        for topic in self.topics.values():
            self.submit(TopicKnown(topic=topic))
        self.core.groups = found.groups
        self.submit(Loaded())
        self.truth.loaded(self.core.groups)
        self.consumer_truth.loaded(self.core.groups)

    def _check_loaded(self, groups: dict[str, Group]) -> None:
        """Nothing is lost and nothing comes back; a group that only waited for members when its files were made is blank."""
        for group_id in groups.keys() | self.durable.keys():
            check_same(groups.get(group_id) or new_group(group_id), self._durable_group(group_id))
            self.truth.check_offsets(group_id, groups.get(group_id))

    def crash(self, torn_bytes: int) -> None:
        """A life ends at once. Of what waits for the journal the first bytes may reach the disk, whole entries among them."""
        self._tear(torn_bytes)
        for _, effects in self.outcomes:
            for effect in effects:
                if effect.group_id not in self.moved:
                    self.truth.absorb(effect.group_id, effect.record)
        self._end()

    def _tear(self, torn_bytes: int) -> None:
        torn = b"".join(row.entry for row in self.waiting)[:torn_bytes]
        if not torn:
            return
        self.journal.append(torn)
        whole = []
        while self.waiting and len(torn) >= len(self.waiting[0].entry):
            row = self.waiting.popleft()
            torn = torn[len(row.entry) :]
            whole.append(row.effect)
            self._durable(row.effect)
        self.outcomes.append((Written(up_to=0), whole))

    def stop(self) -> None:
        """A life ends well: everything is written, checkpoints too."""
        self.settle()
        self.checkpoints.write_all()
        self._end()

    def _end(self) -> None:
        self.journal.close()
        self.waiting.clear()
        self.outcomes.clear()
        self.timers.clear()
        self.matching.clear()
        for call in self.parked:
            call.lost()
        self.parked.clear()

    def unload(self, group_id: str) -> None:
        """Another broker has the group until the next start."""
        self.moved.add(group_id)
        for row in self.outcomes:
            for effect in row[1]:
                if effect.group_id == group_id:
                    self.truth.absorb(group_id, effect.record)
        self.submit(Unload(group_id=group_id, assignment_version=self.epoch))


def state_of(group: Group) -> State | ModernState:
    """The state of a group, in the words of its protocol."""
    if group.modern is not None:
        return ModernState.DEAD if group.deleting else group.modern.state
    return State.DEAD if group.deleting else group.classic.state


def is_answered(call: Call, effect: Persist) -> bool:
    """Whether the answer to a request says what its record says. Not that numbers are reserved for the next round, nor, when
    somebody joins a consumer group that nobody is in, that it is a classic one: after a crash it becomes that once more."""
    if isinstance(effect.record, GroupEmpty):
        return call.kind != "Join"
    return not isinstance(effect.record, GenerationReserved)


def is_overtaken(effect: Persist, answer: Any) -> bool:
    """Whether a record says a generation that the answer is past: that of a consumer group that a Join made classic, and that
    rebalances at once. After a crash it is a consumer group again, and whoever was told the later generation joins anew."""
    record = effect.record
    return isinstance(record, GroupStable) and isinstance(answer, JoinAnswer) and record.generation < answer.generation
