"""A classic group and its members: the data, the one transition, and questions that need nothing else.

Job: hold what is known of a group; `transition_to`; invariants.
Rules: members are kept in the order in which they were added; the leader, where there is one, is a member. Nothing here makes
effects.
Must not know: requests, timers, records.
Source: Apache Kafka 4.2 `ClassicGroup`, `ClassicGroupMember`; PROTOCOL sections in docs/PROTOCOL.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kaas.coordinator.account import Account
from kaas.coordinator.classic.states import TABLE, State
from kaas.coordinator.events import Protocols
from kaas.wire.consumer_protocol import PROTOCOL_TYPE, decode_subscription

NOT_SET = -(2**62)
"""When a timer was set that is not."""


@dataclass(slots=True, kw_only=True)
class Member:
    """One member. `parked_join` and `parked_sync` are tokens of requests that wait for their answer.

    `is_new`: its first Join is parked. `heard_ms`: the last request that restarted its session, on the clock of `now_ms`.
    `session_set_ms`: when the timer of its session was set last. `synced`: it has asked for its assignment in this generation.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: Protocols
    assignment: bytes = b""
    parked_join: Any = None
    parked_sync: Any = None
    is_new: bool = False
    synced: bool = False
    heard_ms: int = 0
    session_set_ms: int = NOT_SET
    joined_at: int = 0

    @property
    def waits(self) -> bool:
        """Whether a request of this member is parked."""
        return self.parked_join is not None or self.parked_sync is not None

    def metadata_of(self, protocol: str) -> bytes:
        """The metadata this member sent with a protocol; empty when it has no such protocol."""
        return next((metadata for name, metadata in self.protocols if name == protocol), b"")

    def supports(self, protocol: str) -> bool:
        return any(name == protocol for name, _ in self.protocols)


@dataclass(slots=True, kw_only=True)
class Rebalance(Account):
    """The rebalance under way, and what it began with.

    `initial`: the group was Empty, so the join phase lasts as long as its delay. `grew`: somebody came in this window of the
    delay. `ready`: the join phase is done and waits only for its generation to be durable.
    """

    generation_before: int
    members_before: int
    before: dict[str, bytes]
    deadline_ms: int = 0
    initial: bool = False
    initial_left_ms: int = 0
    initial_window_ms: int = 0
    grew: bool = False
    ready: bool = False


@dataclass(slots=True, kw_only=True)
class ClassicGroup:
    """The membership of one classic group.

    `assigned`: the assignments as of the last Stable, of members that have gone since too; never changed in place.
    `pending`: ids that were told and not used yet, with their deadlines. `support`: how many members have a protocol.
    `waiting_count`: members whose Join is parked. `unsynced_count`: members that have not asked for their assignment.
    `generation` starts at 0; the first completed join gives 1. `spent`: no generation up to this one may be given again; after
    a restart it may be above `generation`, as a round may have begun that never became Stable. `reserved` is the highest
    generation that is durable as spent (a new one is answered only when it is); `reserving` the highest one on its way there.
    """

    group_id: str
    state: State = State.EMPTY
    state_since_ms: int = 0
    generation: int = 0
    spent: int = 0
    reserved: int = 0
    reserving: int = 0
    protocol_type: str = ""
    protocol_name: str = ""
    leader: str | None = None
    members: dict[str, Member] = field(default_factory=dict)
    instances: dict[str, str] = field(default_factory=dict)
    pending: dict[str, int] = field(default_factory=dict)
    support: dict[str, int] = field(default_factory=dict)
    waiting_count: int = 0
    unsynced_count: int = 0
    rebalance: Rebalance | None = None
    assigned: dict[str, bytes] = field(default_factory=dict)
    assignment_in_flight: bool = False

    def next_generation(self) -> int:
        """The number of the next generation."""
        return max(self.generation, self.spent) + 1

    def transition_to(self, state: State, now_ms: int) -> State:
        """Enter a state; the one before is given back. A move that the table does not know is a fault of ours."""
        before = self.state
        assert state in TABLE[before].exits, f"{self.group_id!r}: {before.value} to {state.value}"
        self.state = state
        self.state_since_ms = now_ms
        return before

    def add(self, member: Member) -> None:
        """The first member leads."""
        assert member.member_id not in self.members
        self.members[member.member_id] = member
        self.unsynced_count += not member.synced
        self._count(member.protocols, 1)
        if member.instance_id is not None:
            assert member.instance_id not in self.instances
            self.instances[member.instance_id] = member.member_id
        if self.leader is None:
            self.leader = member.member_id

    def remove(self, member_id: str) -> Member:
        """Take a member out; if it led, the one that came next leads. Its parked requests are the caller's to answer."""
        member = self.members.pop(member_id)
        self.unsynced_count -= not member.synced
        self._count(member.protocols, -1)
        if member.parked_join is not None:
            self.waiting_count -= 1
        if member.instance_id is not None and self.instances.get(member.instance_id) == member_id:
            del self.instances[member.instance_id]
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)
        return member

    def replace(self, old: Member, new: Member) -> None:
        """A new id takes the place of an old one, leadership and order of arrival included. Neither waits for anything."""
        assert new.instance_id is not None and new.instance_id == old.instance_id
        assert not old.waits and not new.waits and old.synced == new.synced
        self._count(old.protocols, -1)
        self._count(new.protocols, 1)
        self.members = {
            (new.member_id if member_id == old.member_id else member_id): (new if member is old else member)
            for member_id, member in self.members.items()
        }
        self.instances[new.instance_id] = new.member_id
        if self.leader == old.member_id:
            self.leader = new.member_id

    def set_protocols(self, member: Member, protocols: Protocols) -> None:
        if member.protocols == protocols:
            return
        self._count(member.protocols, -1)
        member.protocols = protocols
        self._count(protocols, 1)

    def park_join(self, member: Member, token: Any) -> Any:
        """Keep a Join waiting; the token of an older one of the same member, if there is one."""
        older, member.parked_join = member.parked_join, token
        if older is None:
            self.waiting_count += 1
        return older

    def unpark_join(self, member: Member) -> Any:
        """The token of a member's parked Join, which is parked no more; null if there is none."""
        token, member.parked_join = member.parked_join, None
        if token is not None:
            self.waiting_count -= 1
        return token

    def begin_syncing(self) -> None:
        """Nobody has asked for an assignment of the generation that begins."""
        for member in self.members.values():
            member.synced = False
        self.unsynced_count = len(self.members)

    def mark_synced(self, member: Member) -> None:
        """The member has asked for its assignment."""
        self.unsynced_count -= not member.synced
        member.synced = True

    def _count(self, protocols: Protocols, step: int) -> None:
        for name in {name: None for name, _ in protocols}:
            count = self.support.get(name, 0) + step
            if count:
                self.support[name] = count
            else:
                del self.support[name]

    def holder(self, instance_id: str | None) -> Member | None:
        """The member that holds an instance id."""
        if instance_id is None or instance_id not in self.instances:
            return None
        return self.members[self.instances[instance_id]]

    def waiting(self) -> list[Member]:
        """Members whose Join is parked."""
        return [m for m in self.members.values() if m.parked_join is not None]

    def longest_rebalance_timeout_ms(self) -> int:
        return max((m.rebalance_timeout_ms for m in self.members.values()), default=0)

    def candidates(self) -> list[str]:
        """Protocols that every member has, in the leader's order."""
        if self.leader is None:
            return []
        everyone = len(self.members)
        return [name for name, _ in self.members[self.leader].protocols if self.support.get(name) == everyone]

    def vote(self) -> str:
        """The protocol that most members put first among those that all have; a tie goes to the leader's order.

        Source: PROTOCOL 3.4; Apache leaves ties open.
        """
        candidates = self.candidates()
        assert candidates, f"{self.group_id!r}: members without a protocol in common"
        votes = dict.fromkeys(candidates, 0)
        for member in self.members.values():
            votes[next(name for name, _ in member.protocols if name in votes)] += 1
        return max(candidates, key=lambda name: votes[name])  # max keeps the first of equals

    def accepts(self, protocol_type: str, protocols: Protocols) -> bool:
        """Whether a member with these protocols can be in the group: one of them is common to all who are in it."""
        if not protocol_type or not protocols:
            return False
        if not self.members:
            return True
        everyone = len(self.members)
        return protocol_type == self.protocol_type and any(self.support.get(name) == everyone for name, _ in protocols)

    def subscribed(self) -> frozenset[str] | None:
        """Topics that a member subscribes to; null means every topic, as the subscription of one cannot be read."""
        if not self.members:
            return frozenset()
        if self.protocol_type != PROTOCOL_TYPE:
            return None
        topics: set[str] = set()
        for member in self.members.values():
            try:
                topics.update(decode_subscription(self.shown_metadata(member)).topics)
            except ValueError:
                return None
        return frozenset(topics)

    def shown_metadata(self, member: Member) -> bytes:
        """A member's metadata for the chosen protocol, or for its own first choice while none is chosen."""
        if self.protocol_name and member.supports(self.protocol_name):
            return member.metadata_of(self.protocol_name)
        return member.protocols[0][1] if member.protocols else b""

    def check(self) -> None:
        """What cannot be. For simulations: the cheap ones of these are asserted on the way as well."""
        self._check_members()
        who = f"{self.group_id!r} in {self.state.value}"
        rebalancing = self.state in (State.PREPARING_REBALANCE, State.COMPLETING_REBALANCE)
        assert rebalancing == (self.rebalance is not None), f"{who}: the account of the rebalance"
        if self.state in (State.EMPTY, State.DEAD):
            assert not self.members, f"{who}: {len(self.members)} members"
        elif self.state is not State.PREPARING_REBALANCE or not self.pending:
            assert self.members, f"{who}: nobody, and nobody to wait for"
        if self.state is not State.PREPARING_REBALANCE:
            assert not self.waiting_count, f"{who}: a parked Join"
        if self.state is not State.COMPLETING_REBALANCE:
            assert not any(m.parked_sync is not None for m in self.members.values()), f"{who}: a parked Sync"
        if self.state in (State.COMPLETING_REBALANCE, State.STABLE):
            assert self.generation <= self.reserved, f"{who}: generation {self.generation} is not durable as given"
            assert self.protocol_name in self.candidates(), f"{who}: not every member has {self.protocol_name!r}"

    def _check_members(self) -> None:
        members = self.members.values()
        who = repr(self.group_id)
        assert self.waiting_count == len(self.waiting()), f"{who}: {self.waiting_count} wait"
        unsynced = sum(not m.synced for m in members)
        assert self.unsynced_count == unsynced, f"{who}: {self.unsynced_count} have not synced, {unsynced} say so"
        assert self.leader is None or self.leader in self.members, f"{who}: the leader is no member"
        assert (self.leader is None) == (not self.members), f"{who}: members without a leader"
        held = {m.instance_id: m.member_id for m in members if m.instance_id is not None}
        assert self.instances == held, f"{who}: instances and members differ"
        assert not self.pending.keys() & self.members.keys(), f"{who}: a member whose id is pending"
        assert not self.members or self.candidates(), f"{who}: members without a protocol in common"
        names = [name for m in members for name in {name: None for name, _ in m.protocols}]
        assert self.support == {name: names.count(name) for name in names}, f"{who}: protocols and members differ"
