"""The schedule: which of all the things that may happen happens next.

Job: people the world, choose events by their weights, change the weights from era to era, and end each era in a calm, in which
everything that waits must be answered.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

from kaas.coordinator.config import CoordinatorConfig
from kaas.coordinator.events import ClockMoved, PartitionsAdded, TopicDeleted
from kaas.coordinator.modern.group import State
from kaas.coordinator.topics import Topic
from tests.simulation.broker import Broker
from tests.simulation.calls import Call
from tests.simulation.clients import STRATEGIES, Consumer
from tests.simulation.clock import Clock
from tests.simulation.consumer_members import ASSIGNORS, OUT, PATTERNS, ConsumerMember
from tests.simulation.consumer_truth import ConsumerTruth
from tests.simulation.coverage import Coverage
from tests.simulation.network import Network
from tests.simulation.operators import Operator
from tests.simulation.truth import Truth

GROUPS = ("alpha", "beta", "gamma", "a/b")
CONSUMER_GROUPS = ("delta", "epsilon", "d/e")
MIXED_GROUPS = ("zeta", "eta")
"""Both kinds of members join these, so they change their protocol again and again."""
PEOPLE = 30
ERA = 1_500
RETENTION_MS = 120_000
CALM_MS = 600_000
STEP_MS = 40
SETTLING_ROUNDS = 120


class World:
    """One simulation. The same seed gives the same events."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.dice = random.Random(seed)
        self.clock = Clock()
        self.coverage = Coverage()
        self.topics = {"t": 3, "u": 2, "v": 4}
        self.network = Network(self.dice)
        truth = Truth(self.clock, RETENTION_MS)
        self.broker = Broker(folder, self.clock, truth, ConsumerTruth(), self.coverage, self._config())
        self.broker.mixed = truth.mixed = (*CONSUMER_GROUPS, *MIXED_GROUPS)
        self.broker.start()
        for name in self.topics:
            self._make(name)
        self.operator = Operator(self, (*GROUPS, *CONSUMER_GROUPS, *MIXED_GROUPS))
        self.people: list[Consumer | ConsumerMember] = []
        self.events = 0
        self.acts: tuple[Callable[[], bool], ...] = ()
        self.weights: tuple[float, ...] = ()
        self._new_era()

    def run(self, events: int) -> None:
        """So many events, era by era."""
        while self.events < events:
            for _ in range(min(ERA, events - self.events)):
                self.events += 1
                self._step()
            self._calm()
            self._new_era()

    def send(self, call: Call) -> None:
        self.network.send(self.broker.ask, call)

    def _step(self) -> None:
        """One event; what cannot happen now is passed over."""
        while not self.dice.choices(self.acts, self.weights)[0]():
            pass

    # What may happen

    def _new_era(self) -> None:
        """The weather changes: the network, the disk, how restless people are."""
        dice = self.dice
        self.network.loss = dice.choice((0, 0, 0.02, 0.15))
        self.network.doubling = dice.choice((0, 0.02, 0.15))
        likely: dict[Callable[[], bool], float] = {
            self.network.deliver: 40,
            self._somebody_acts: 30,
            self._write: dice.choice((4, 12, 20)),
            self.broker.tell: dice.choice((4, 12, 20)),
            self._time_passes: dice.choice((2, 6)),
            self._checkpoint: dice.choice((0.5, 3)),
            self._somebody_comes_or_goes: dice.choice((0.5, 3)),
            self._operator_acts: dice.choice((0.1, 1, 2)),
            self._fail: dice.choice((0, 0, 0.3, 2)),
            self._die: dice.choice((0, 0.01, 0.05, 0.3)),
            self._topic_changes: dice.choice((0.02, 0.2)),
            self._clock_jumps: 0.03,
            self._group_moves: dice.choice((0, 0.05)),
            self._match: 4,
        }
        self.acts, self.weights = tuple(likely), tuple(likely.values())

    def _somebody_acts(self) -> bool:
        return bool(self.people) and self.dice.choice(self.people).act(self.dice)

    def _operator_acts(self) -> bool:
        self.operator.act(self.broker.core, self.dice)
        return True

    def _write(self) -> bool:
        return self.broker.write(self.dice.choice((1, 1, 2, 5, 50)))

    def _fail(self) -> bool:
        failed = self.broker.fail(self.dice.choice((1, 3, 50)), self.dice.randrange(200))
        self.coverage.other["failed writes"] += failed
        return failed

    def _checkpoint(self) -> bool:
        return self.broker.checkpoints.write(self.dice)

    def _time_passes(self) -> bool:
        self.clock.now_ms += self.dice.choice((1, STEP_MS, 10 * STEP_MS, 10 * STEP_MS, 2_000))
        while self.broker.expire():
            self.coverage.other["timers"] += 1
        return True

    def _somebody_comes_or_goes(self) -> bool:
        self.people = [person for person in self.people if not person.dead]
        static = [person for person in self.people if person.instance_id is not None and not person.dead]
        if static and self.dice.random() < 0.4:
            self.people.append(self.dice.choice(static).restarted(self.dice))
        elif len(self.people) < PEOPLE:
            self.people.append(self._newcomer())
        elif self.dice.random() < 0.5:
            self.dice.choice(self.people).dead = True  # vanishes without a word
        return True

    def _newcomer(self) -> Consumer | ConsumerMember:
        return self._new_consumer() if self.dice.random() < 0.55 else self._new_member()

    def _new_member(self) -> ConsumerMember:
        dice = self.dice
        number = dice.randrange(5)
        return ConsumerMember(
            lives=self,
            name=f"client-{number}",
            group_id=dice.choice((*CONSUMER_GROUPS, *MIXED_GROUPS)),
            member_id=f"{dice.getrandbits(64):016x}",
            instance_id=f"i{number}" if dice.random() < 0.4 else None,
            rebalance_timeout_ms=dice.choice((5_000, 20_000)),
            topics=tuple(sorted(dice.sample(sorted(self.topics), dice.randint(0, 2)))),
            pattern=dice.choice(PATTERNS),
            assignor=dice.choice(ASSIGNORS),
        )

    def _new_consumer(self) -> Consumer:
        dice = self.dice
        number = dice.randrange(5)
        static = dice.random() < 0.4
        return Consumer(
            lives=self,
            name=f"client-{number}",
            group_id=dice.choice((*GROUPS, *MIXED_GROUPS)),
            version=dice.choice((3, 9)) if not static else dice.choice((5, 9)),
            instance_id=f"i{number}" if static else None,
            session_timeout_ms=dice.choice((6_000, 10_000, 30_000)),
            rebalance_timeout_ms=dice.choice((5_000, 20_000, 60_000)),
            topics=tuple(sorted(dice.sample(sorted(self.topics), dice.randint(1, 2)))),
            strategies=dice.choice(STRATEGIES),
            syncs=dice.random() < 0.9,
            beats=dice.random() < 0.9,
        )

    def _topic_changes(self) -> bool:
        topic = self.dice.choice(sorted(self.topics))
        known = self.broker.topics.get(topic)
        if known is None:
            self._make(topic)
        elif self.dice.random() < 0.7:
            self.topics[topic] = min(self.topics[topic] + 1, 8)
            self.broker.topic(Topic(topic, known.topic_id, self.topics[topic]))
            self.broker.submit(PartitionsAdded(topic=topic))
        else:
            self.topics[topic] = 2
            del self.broker.topics[topic]
            self.broker.submit(TopicDeleted(topic=topic))
            if self.dice.random() < 0.5:
                self._make(topic)
        return True

    def _make(self, topic: str) -> None:
        self.broker.topic(Topic(topic, self.dice.randbytes(16), self.topics[topic]))

    def _match(self) -> bool:
        return self.broker.match(fails=self.dice.random() < 0.1)

    def _clock_jumps(self) -> bool:
        """Between two writes, so that it is clear which time a commit has."""
        self.broker.settle()
        self.clock.wall_offset_ms += self.dice.choice((-60_000, -1_000, 1_000, 60_000))
        self.coverage.other["clock jumps"] += 1
        self.broker.submit(ClockMoved(wall_offset_ms=self.clock.wall_offset_ms))
        return True

    def _group_moves(self) -> bool:
        self.coverage.other["moves"] += 1
        self.broker.unload(self.dice.choice(GROUPS))
        return True

    def _die(self) -> bool:
        """The broker stops or dies, perhaps in the middle of a write, and starts again, perhaps with other settings."""
        how = self.dice.choice(("stop", "crash", "torn"))
        self.coverage.other[how] += 1
        if how == "stop":
            self.broker.stop()
        else:
            waiting = sum(len(row.entry) for row in self.broker.waiting)
            self.broker.crash(0 if how == "crash" else self.dice.randint(0, waiting))
        self.clock.now_ms += self.dice.choice((10, 3_000))
        self.broker.config = self._config()
        self.broker.start()
        return True

    def _config(self) -> CoordinatorConfig:
        return CoordinatorConfig(
            initial_rebalance_delay_ms=self.dice.choice((0, 0, 3_000)),
            max_size=self.dice.choice((3, 100, 100)),
            consumer_max_size=self.dice.choice((3, 100, 100)),
            consumer_session_timeout_ms=self.dice.choice((6_000, 10_000, 30_000)),
            consumer_heartbeat_interval_ms=1_000,
            consumer_regex_refresh_interval_ms=self.dice.choice((15_000, 600_000)),
            new_member_join_timeout_ms=self.dice.choice((20_000, 300_000)),
            offsets_retention_ms=RETENTION_MS,
            offsets_retention_check_interval_ms=20_000,
        )

    # The calm

    def _calm(self) -> None:
        """Nobody sends anything, everything arrives, time passes: every request that arrived is answered in the end."""
        while self.network.deliver():
            pass
        end_ms = self.clock.now_ms + CALM_MS
        self.broker.settle()
        while self.clock.now_ms < end_ms and self.broker.parked:
            self.clock.now_ms += 500
            while self.broker.expire():
                self.broker.settle()
        assert not self.broker.parked, f"never answered: {[call.event for call in self.broker.parked]}"
        self.broker.check_durable()
        while self.network.deliver():
            pass
        self._settle_consumers()

    def _settle_consumers(self) -> None:
        """The network and the disk are good, and members only say that they live: every consumer group becomes Stable."""
        self.network.loss = self.network.doubling = 0
        self.broker.stop()
        self.broker.start()
        for _ in range(SETTLING_ROUNDS):
            self._calm_round()
            if self._is_settled():
                return
        late = [member for member in self._members() if not self._has_its_share(member)]
        groups = {name: group.modern for name, group in self.broker.core.groups.items() if group.modern is not None}
        raise AssertionError(f"never settled: {late} of {groups}")

    def _members(self) -> list[ConsumerMember]:
        return [person for person in self.people if isinstance(person, ConsumerMember) and not person.dead]

    def _calm_round(self) -> None:
        for member in self._members():
            member.act_calmly()
        while self.network.deliver():
            self.broker.settle()
        while self.broker.match(fails=False):
            self.broker.settle()
        self.clock.now_ms += 1_000
        while self.broker.expire():
            self.broker.settle()

    def _is_settled(self) -> bool:
        groups = {name: group.modern for name, group in self.broker.core.groups.items() if group.modern is not None}
        if any(group.state not in (State.STABLE, State.EMPTY) for group in groups.values()):
            return False
        return all(self._has_its_share(member) for member in self._members())

    def _has_its_share(self, member: ConsumerMember) -> bool:
        """What the member reads is what the group says that it is to read."""
        whole = self.broker.core.groups.get(member.group_id)
        group = None if whole is None else whole.modern
        if member.stage == OUT or group is None or member.member_id not in group.members:
            return False
        return member.holds == group.members[member.member_id].assigned == group.target[member.member_id]

    def close(self) -> None:
        self.broker.stop()
