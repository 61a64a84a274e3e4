"""Words for tests of consumer groups (KIP-848): members beat, acknowledge and leave, topics come, grow and go.

    consumers = Consumers(t=2)          # the topic t has 2 partitions
    a, b = consumers.consumer("t"), consumers.consumer("t")
    a.joins()
    b.joins()
    consumers.reconcile(a, b)

A member remembers what it was told: `epoch`, `held` (topic to partitions), `told` (the last answer had an assignment). Every
word gives the code of the answer; `asked` has the answer itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kaas.coordinator.answers import ConsumerHeartbeatAnswer
from kaas.coordinator.events import ConsumerHeartbeat, RegexesResolved, TopicDeleted, TopicKnown
from kaas.coordinator.modern.group import Member as Known
from kaas.coordinator.modern.group import ModernGroup
from kaas.coordinator.topics import Partitions, Topic
from tests.support.groups import GROUP, Groups, Member
from tests.support.shell import Asked

Held = Mapping[str, tuple[int, ...]]


def topic_id(name: str) -> bytes:
    return name.encode().ljust(16, b".")


def by_id(held: Held) -> Partitions:
    return {topic_id(name): tuple(partitions) for name, partitions in held.items()}


def by_name(held: Partitions) -> dict[str, tuple[int, ...]]:
    return {key.rstrip(b".").decode(): partitions for key, partitions in held.items()}


class Consumers(Groups):
    """The coordinator of one consumer group, with topics by name and number of partitions."""

    def __init__(self, *, config: Mapping[str, Any] | None = None, **topics: int) -> None:
        self.sizes = topics
        super().__init__(**(config or {}))

    def starts_loading(self) -> None:
        super().starts_loading()
        for name, partitions in self.sizes.items():
            self.submit(self.known(name, partitions))

    @staticmethod
    def known(name: str, partitions: int) -> TopicKnown:
        return TopicKnown(topic=Topic(name, topic_id(name), partitions))

    def topic(self, name: str, partitions: int) -> None:
        """A topic comes, or grows."""
        self.sizes[name] = partitions
        self.submit(self.known(name, partitions))

    def drops(self, name: str) -> None:
        """A topic goes."""
        del self.sizes[name]
        self.submit(TopicDeleted(topic=name))

    def matches(self, pattern: str, *topics: str) -> None:
        """A pattern has been matched."""
        self.submit(RegexesResolved(group_id=GROUP, topics={pattern: topics}))

    def consumer(self, *topics: str, **about: Any) -> Consumer:
        """Somebody who has not joined yet."""
        return Consumer(self, topics, **about)

    def joined(self, *topics: str, **about: Any) -> Consumer:
        member = self.consumer(*topics, **about)
        assert member.joins() == 0
        return member

    def settled_classic(self, count: int = 1) -> list[Member]:
        """So many members of the classic protocol."""
        return super().settled(*self.members(count))

    def settled(self, count: int, *topics: str) -> list[Consumer]:  # type: ignore[override]
        """So many members at one epoch, each with its share."""
        members = [self.joined(*topics) for _ in range(count)]
        self.reconcile(*members)
        return members

    def reconcile(self, *members: Consumer) -> None:
        """Everybody acknowledges in turn until the group is Stable."""
        for _ in range(20):
            for member in members:
                assert member.acks() == 0
            if self.seen[0] == "Stable":
                return
        raise AssertionError(f"not settled: {self.seen}")

    @property
    def modern(self) -> ModernGroup:
        modern = self.core.groups[GROUP].modern
        assert modern is not None
        return modern

    @property
    def seen(self) -> tuple[str, int, int]:
        """State, group epoch, target epoch."""
        return self.modern.state.value, self.modern.epoch, self.modern.target_epoch

    def shown(self, member: Consumer) -> Known:
        """What the group knows of a member."""
        return self.modern.members[member.id]


class Consumer:
    """One client process. `about` may have any field of a heartbeat, which its first one says."""

    def __init__(self, consumers: Consumers, topics: tuple[str, ...], **about: Any) -> None:
        self.consumers = consumers
        self.topics = topics
        self.about = about
        self.id: str = about.pop("member_id", f"member-{next(consumers.uuids)}")
        self.instance_id: str | None = about.get("instance_id")
        self.epoch = 0
        self.held: dict[str, tuple[int, ...]] = {}
        self.told = False
        self.asked = Asked()

    def joins(self, **changes: Any) -> int:
        """The heartbeat by which a client joins."""
        return self.beats(**self.first(**changes))

    def first(self, **changes: Any) -> dict[str, Any]:
        """What a client says in the heartbeat by which it joins."""
        first = {
            "epoch": 0,
            "instance_id": self.instance_id,
            "rebalance_timeout_ms": 30_000,
            "topics": self.topics,
            "owned": {},
        }
        return {**first, **self.about, **changes}

    def beats(self, **changes: Any) -> int:
        """A heartbeat that says nothing but what is named here."""
        return self.sends(**changes).code

    def sends(self, **changes: Any) -> Asked:
        """As `beats`, without waiting for the answer."""
        usual = {
            "group_id": GROUP,
            "member_id": self.id,
            "epoch": self.epoch,
            "client_id": "client",
            "client_host": "/10.0.0.1",
        }
        self.asked = Asked(learn=self._learn)
        self.consumers.submit(ConsumerHeartbeat(reply_to=self.asked, **{**usual, **changes}))
        return self.asked

    def acks(self, held: Held | None = None, **changes: Any) -> int:
        """A heartbeat that names what the member holds: all that it was told, unless `held` says otherwise."""
        return self.beats(owned=by_id(self.held if held is None else held), **changes)

    def leaves(self, epoch: int = -1) -> int:
        return self.beats(epoch=epoch, instance_id=self.instance_id)

    def commits(self, offset: int = 1, topic: str = "t", partition: int = 0, **changes: Any) -> int:
        """The code of an OffsetCommit at the member's epoch."""
        who = {"generation": self.epoch, "member_id": self.id, **changes}
        return self.consumers.commits({(topic, partition): offset}, **who).code

    def _learn(self, answer: ConsumerHeartbeatAnswer) -> None:
        if answer.code:
            return
        self.told = answer.assignment is not None
        self.epoch = answer.epoch
        if answer.assignment is not None:
            self.held = by_name(answer.assignment)
