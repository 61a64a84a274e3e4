"""A consumer group and its members: the data, and questions that need nothing else.

Job: hold what is known of a group; say its state, who holds a partition, what it subscribes to; invariants.
Rules: members are kept in the order in which they were added. A member is a value: it is replaced, never changed in place, so
that a record and the state may share it; `put` and `remove` keep instances, owners and counts right. Nothing makes effects.
Must not know: requests, timers, records, how an assignment is made.
Source: Apache Kafka 4.2 `ConsumerGroup`, `ModernGroup`, `ConsumerGroupMember`; PROTOCOL 4 in docs/PROTOCOL.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import TypeVar

import msgspec

from kaas.coordinator.account import Account
from kaas.coordinator.topics import Partitions

K = TypeVar("K", str, int)

LEFT = -1
"""The epoch of a member that leaves for good."""
AWAY = -2
"""The epoch of a static member between two lives."""


class State(Enum):
    """A group's state, in the words of ConsumerGroupDescribe."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"
    DEAD = "Dead"


class MemberState(IntEnum):
    """How far a member is; the numbers are those of Apache's records."""

    STABLE = 0
    UNREVOKED = 1
    UNRELEASED = 2
    UNKNOWN = 127


class ClassicPart(msgspec.Struct, frozen=True, array_like=True):
    """What only a member has that speaks the classic protocol: its session timeout (ms) and its protocols, best first."""

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]


class Member(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """One member.

    `epoch`: the target epoch up to which it has reconciled, or AWAY. `previous_epoch`: the one before, which a repeated
    heartbeat may still name. `assigned`: what it was told it may read; `revoking`: what it was told to give up and may still
    hold. `regex` is empty where the member has none. `assignor`: null where it prefers none. `classic`: null for a member
    that speaks KIP-848. `joined_at`: wall time, ms.
    """

    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    topics: tuple[str, ...] = ()
    regex: str = ""
    assignor: str | None = None
    classic: ClassicPart | None = None
    epoch: int = 0
    previous_epoch: int = -1
    state: int = MemberState.STABLE
    assigned: Partitions = {}
    revoking: Partitions = {}
    joined_at: int = 0

    def session_timeout_ms(self, of_group_ms: int) -> int:
        """A member of the classic protocol brings its own session timeout; the others have the group's."""
        return of_group_ms if self.classic is None else self.classic.session_timeout_ms


class ResolvedRegex(msgspec.Struct, frozen=True, array_like=True):
    """The topics that a pattern matched at a moment (wall time, ms), sorted."""

    topics: tuple[str, ...]
    at: int


@dataclass(slots=True, kw_only=True)
class Rebalance(Account):
    """The rebalance under way, and what it began with.

    It began when the group epoch grew, and ends when the group is Stable or Empty. `phase`: `assigning` until there is a
    target of the group epoch, then `reconciling`. `also`: why the epoch grew again meanwhile.
    """

    epoch_before: int
    before: dict[str, Partitions]


@dataclass(slots=True, kw_only=True)
class ModernGroup:
    """The membership of one consumer group.

    Durable: `target` is member id to what it is to hold, of `target_epoch`; `target_assignor` made it. `metadata_hash`: of the
    subscribed topics as they were at the group epoch. `regexes`: what is known of patterns that members have.
    Counted: `owners` is (topic id, partition) to the member that holds it or has not let go of it yet, `gained` to that
    member's epoch when it was given it, where that is known. `names`, `patterns` and `preferences`: topic, pattern and
    assignor to how many members name it. `resting`: epoch to how many members of it wait for nothing. `classic_count`: members
    of the classic protocol; `support`: how many of them have a strategy.
    In memory: `heard_ms`: when a member was heard last, on the clock of `now_ms`. `rejoin_by_ms`: until when a classic member
    that was told to join again may do so. `matching`: patterns are being matched; that was begun last at `matched_ms` (null:
    never), when `matched_arrivals` topics had arrived. `target_made_ms`: when the target was made (null: in an earlier life).
    `stale`: subscribed topics may have changed since `metadata_hash`, `changed_topics` among them. `in_flight`: records on
    their way. `unsaved`: a record was lost, so the next one holds the whole group.
    `record_number`: that of the group's last record.

    For people (`rebalance`): `settled` is what each member held when the group was last Stable, at `settled_epoch`;
    `revoking_since_ms` is when a member was told to give up what it still holds.
    """

    group_id: str
    epoch: int = 0
    metadata_hash: int = 0
    target_epoch: int = 0
    target_assignor: str = ""
    members: dict[str, Member] = field(default_factory=dict)
    instances: dict[str, str] = field(default_factory=dict)
    target: dict[str, Partitions] = field(default_factory=dict)
    owners: dict[tuple[bytes, int], str] = field(default_factory=dict)
    gained: dict[tuple[bytes, int], int] = field(default_factory=dict)
    names: dict[str, int] = field(default_factory=dict)
    patterns: dict[str, int] = field(default_factory=dict)
    preferences: dict[str, int] = field(default_factory=dict)
    resting: dict[int, int] = field(default_factory=dict)
    classic_count: int = 0
    support: dict[str, int] = field(default_factory=dict)
    regexes: dict[str, ResolvedRegex] = field(default_factory=dict)
    heard_ms: dict[str, int] = field(default_factory=dict)
    matching: bool = False
    matched_ms: int | None = None
    matched_arrivals: int = 0
    target_made_ms: int | None = None
    state_since_ms: int = 0
    stale: bool = True
    changed_topics: dict[str, None] = field(default_factory=dict)
    in_flight: int = 0
    unsaved: bool = False
    record_number: int = 0
    rebalance: Rebalance | None = None
    settled: dict[str, Partitions] = field(default_factory=dict)
    settled_epoch: int = 0
    revoking_since_ms: dict[str, int] = field(default_factory=dict)
    rejoin_by_ms: dict[str, int] = field(default_factory=dict)

    # Members

    def put(self, member: Member) -> None:
        """A member is new, or is another value than before; what it holds no longer is free."""
        before = self.members.get(member.member_id)
        if before is not None:
            self._count(before, -1)
            if before.instance_id is not None and before.instance_id != member.instance_id:
                del self.instances[before.instance_id]
        self.members[member.member_id] = member
        if member.instance_id is not None:
            assert self.instances.get(member.instance_id, member.member_id) == member.member_id
            self.instances[member.instance_id] = member.member_id
        self._count(member, 1)
        self._own(before, member)

    def remove(self, member_id: str) -> Member:
        """A member is gone, with its target and all that it held."""
        member = self.members.pop(member_id)
        self._count(member, -1)
        if member.instance_id is not None:
            del self.instances[member.instance_id]
        for key in keys_of(member.assigned, member.revoking):
            self._free(key, member_id)
        self.target.pop(member_id, None)
        self.heard_ms.pop(member_id, None)
        self.revoking_since_ms.pop(member_id, None)
        self.rejoin_by_ms.pop(member_id, None)
        return member

    def replace(self, member_id: str, successor: Member) -> Member:
        """A new id takes the place of an old one, its target included. The old member is given back."""
        target = self.target.get(member_id)
        gained = {key: self.gained[key] for key in keys_of(successor.assigned) if key in self.gained}
        member = self.remove(member_id)
        self.put(successor)
        self.gained |= gained
        if target is not None:
            self.target[successor.member_id] = target
        return member

    def _count(self, member: Member, step: int) -> None:
        for name in member.topics:
            add(self.names, name, step)
        if member.regex:
            add(self.patterns, member.regex, step)
        if member.assignor is not None:
            add(self.preferences, member.assignor, step)
        if member.state == MemberState.STABLE:
            add(self.resting, member.epoch, step)
        if member.classic is not None:
            self.classic_count += step
            for name in {name: None for name, _ in member.classic.protocols}:
                add(self.support, name, step)

    def _own(self, before: Member | None, member: Member) -> None:
        if before is not None and before.assigned is member.assigned and before.revoking is member.revoking:
            return
        held = keys_of(member.assigned, member.revoking)
        if before is not None:
            for key in keys_of(before.assigned, before.revoking).keys() - held.keys():
                self._free(key, member.member_id)
        for key in held:
            if key not in self.owners:
                self.owners[key] = member.member_id
                self.gained[key] = member.epoch

    def _free(self, key: tuple[bytes, int], member_id: str) -> None:
        if self.owners.get(key) == member_id:
            del self.owners[key]
            self.gained.pop(key, None)

    def set_target(self, target: dict[str, Partitions], epoch: int, assignor: str) -> None:
        """The assignment of a group epoch, one entry per member."""
        assert self.target_epoch <= epoch <= self.epoch and target.keys() == self.members.keys()
        self.target, self.target_epoch, self.target_assignor = target, epoch, assignor

    # Questions

    def holder(self, instance_id: str | None) -> Member | None:
        """The member that has an instance id."""
        member_id = None if instance_id is None else self.instances.get(instance_id)
        return None if member_id is None else self.members[member_id]

    def owner(self, topic_id: bytes, partition: int) -> str | None:
        """The member that holds a partition, or has not let go of it yet."""
        return self.owners.get((topic_id, partition))

    @property
    def state(self) -> State:
        """A group whose members have all reconciled up to the target, which is that of the group epoch, is Stable."""
        if not self.members:
            return State.EMPTY
        if self.epoch > self.target_epoch:
            return State.ASSIGNING
        return State.STABLE if self.is_settled else State.RECONCILING

    @property
    def is_settled(self) -> bool:
        """Whether every member has what the target gives it."""
        return self.resting.get(self.target_epoch, 0) == len(self.members)

    def topics_of(self, member: Member) -> tuple[str, ...]:
        """The names that a member subscribes to, its pattern's among them, sorted, whether they exist or not."""
        matched = self.regexes.get(member.regex) if member.regex else None
        return member.topics if matched is None else tuple(sorted({*member.topics, *matched.topics}))

    def subscribed(self) -> frozenset[str]:
        """The names that somebody subscribes to."""
        matched = (self.regexes[pattern].topics for pattern in self.patterns if pattern in self.regexes)
        return frozenset(self.names).union(*matched)

    def subscribes_to(self, topic: str) -> bool:
        """Whether somebody subscribes to a topic."""
        return topic in self.names or any(
            topic in self.regexes[pattern].topics for pattern in self.patterns if pattern in self.regexes
        )

    @property
    def is_all_classic(self) -> bool:
        """Whether nobody here speaks KIP-848, and somebody the classic protocol."""
        return 0 < self.classic_count == len(self.members)

    def supports_one_of(self, protocols: Iterable[str]) -> bool:
        """Whether all classic members, who may be among themselves some day, have one of these strategies."""
        return any(self.support.get(name, 0) == self.classic_count for name in protocols)

    # What cannot be

    def check(self) -> None:
        """For simulations and tests: what is counted agrees with the members, and nothing has two owners."""
        who = repr(self.group_id)
        assert 0 <= self.target_epoch <= self.epoch, f"{who}: target epoch {self.target_epoch} of {self.epoch}"
        fresh = ModernGroup(group_id=self.group_id)
        held = 0
        for member in self.members.values():
            fresh.put(member)
            held += len(keys_of(member.assigned, member.revoking))
            assert member.epoch <= self.target_epoch, f"{who}: {member.member_id} is ahead at {member.epoch}"
            assert not member.revoking or member.state == MemberState.UNREVOKED, f"{who}: {member.member_id} gives up"
        for name in ("instances", "owners", "names", "patterns", "preferences", "resting", "classic_count", "support"):
            assert getattr(self, name) == getattr(fresh, name), f"{who}: {name} and members differ"
        assert held == len(self.owners), f"{who}: a partition of two members"
        assert self.gained.keys() <= self.owners.keys(), f"{who}: a partition of nobody since an epoch"
        assert self.target.keys() <= self.members.keys(), f"{who}: a target for nobody"
        assert self.heard_ms.keys() <= self.members.keys(), f"{who}: heard somebody who is not there"
        self._check_target(who)

    def _check_target(self, who: str) -> None:
        given = [key for share in self.target.values() for key in keys_of(share)]
        assert len(given) == len(set(given)), f"{who}: a partition for two members"
        if self.state in (State.EMPTY, State.STABLE):
            assert self.rebalance is None, f"{who}: the account of a rebalance that is over"
        if self.state is State.STABLE:
            for (
                member_id,
                member,
            ) in self.members.items():  # less than its target only for a pattern that is being matched
                assert keys_of(member.assigned).keys() <= keys_of(self.target[member_id]).keys(), f"{who}: {member_id}"


def keys_of(*held: Partitions) -> dict[tuple[bytes, int], None]:
    """(topic id, partition) of all that is in these, in order."""
    return {(topic_id, p): None for one in held for topic_id, partitions in one.items() for p in partitions}


def add(counts: dict[K, int], key: K, step: int) -> None:
    """Count up or down; what is counted down to nothing is not there."""
    count = counts.get(key, 0) + step
    if count:
        counts[key] = count
    else:
        del counts[key]
