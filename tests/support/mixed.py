"""Words for tests of groups in which members of both protocols live, or that change from one to the other.

    both = Mixed(orders=4)
    k = both.classic_reader("orders")
    both.stable(k, {"orders": (0, 1, 2, 3)})
    m = both.consumer("orders")
    m.joins()

A member of either protocol remembers what it was told: `held` is topic to partitions.
"""

from __future__ import annotations

import contextlib
from typing import Any

from kaas.coordinator.answers import SyncAnswer
from kaas.coordinator.classic.states import State
from kaas.wire.consumer_protocol import (
    Assignment,
    Subscription,
    decode_assignment,
    encode_assignment,
    encode_subscription,
)
from tests.support.consumers import Consumer, Consumers
from tests.support.groups import GROUP, Member
from tests.support.shell import Asked

Held = dict[str, tuple[int, ...]]
"""Topic name to partitions."""


class Mixed(Consumers):
    """The coordinator of one group, and topics by name with their partition counts."""

    def classic_reader(self, *topics: str, instance_id: str | None = None, **about: Any) -> ClassicReader:
        """A member of the classic protocol that has not joined yet."""
        return ClassicReader(self, topics, instance_id, **about)

    def stable(self, *members: ClassicReader | Held | bytes) -> None:
        """A classic group: members, each with its share."""
        people, shares = list(members[::2]), list(members[1::2])
        self.in_one_generation(*people)
        leader = next(each for each in people if each.leads)
        for each in people:
            if each is not leader:
                each.syncs()
        pairs = zip(people, shares, strict=True)
        leader.syncs({each: share if isinstance(share, bytes) else share_of(share) for each, share in pairs})
        assert self.classic_state is State.STABLE, self.classic_state

    def in_one_generation(self, *people: ClassicReader) -> None:
        """Nobody has synced: CompletingRebalance."""
        for each in people:
            each.joins()
        if len(people) > 1:  # the first one was admitted before the others came
            people[0].joins()

    @property
    def classic_state(self) -> State:
        return self.core.groups[GROUP].classic.state

    @property
    def kind(self) -> tuple[str, str]:
        """State and type in the list of groups."""
        row = self.listed()[GROUP]
        return row.state, row.type


def share_of(held: Held, user_data: bytes | None = None) -> bytes:
    return encode_assignment(Assignment(version=1, partitions=held, user_data=user_data))


class ClassicReader(Member):
    """One client process that speaks the classic protocol, and says in a Join what it holds. `names`: its strategies."""

    def __init__(
        self,
        both: Mixed,
        topics: tuple[str, ...],
        instance_id: str | None,
        *,
        names: tuple[str, ...] = ("range",),
        **about: Any,
    ) -> None:
        super().__init__(both, instance_id, **about)
        self.topics, self.names = topics, names
        self.held: Held = {}

    def sends_join(self, **changes: Any) -> Asked:
        """A Join with the id that the member has, if it has one."""
        return self._join(**changes)

    def _join(self, **changes: Any) -> Asked:
        said = Subscription(version=2, topics=self.topics, owned=self.held, generation=self.generation)
        protocols = tuple((name, encode_subscription(said)) for name in self.names)
        return super()._join(**{"protocols": protocols, **changes})

    def syncs(self, assignments: Any = None, **changes: Any) -> Asked:
        asked = super().syncs(assignments, **changes)
        asked.learn = self._learn_share
        for answer in asked.replies:
            self._learn_share(answer)
        return asked

    def _learn_share(self, answer: SyncAnswer) -> None:
        if not answer.code:
            with contextlib.suppress(ValueError):  # some tests hand out what cannot be read
                self.held = decode_assignment(answer.assignment).partitions

    def rejoins(self) -> Held:
        """Join and Sync, as a client does when it is told to."""
        assert self.joins().code == 0, self.last_join.answer
        assert self.syncs().code == 0, self.last_sync.answer
        return self.held


def settle(*members: Consumer) -> None:
    """Everybody under KIP-848 says what it holds, in turn, until a whole round changes nothing."""
    for _ in range(20):
        before = [(m.epoch, m.held) for m in members]
        for each in members:
            assert each.acks() == 0
        if before == [(m.epoch, m.held) for m in members]:
            return
    raise AssertionError("they do not settle")
