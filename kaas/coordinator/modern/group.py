"""A consumer group and its members: the data, and questions that need nothing else.

Job: hold what is known of a group; say its state, who holds a partition, what it subscribes to; invariants.
Rules: members are kept in the order in which they were added. A member is a value: it is replaced, never changed in place, so
that a record and the state may share it; `put` and `remove` keep instances, owners and counts right. Nothing makes effects.
Must not know: requests, timers, records, how an assignment is made.
Source: Apache Kafka 4.2 `ConsumerGroup`, `ModernGroup`, `ConsumerGroupMember`; PROTOCOL 4 in docs/PROTOCOL.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, IntEnum

import msgspec

from kaas.coordinator.announcements import Cause
from kaas.coordinator.topics import Partitions

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


class ResolvedRegex(msgspec.Struct, frozen=True, array_like=True):
    """The topics that a pattern matched at a moment (wall time, ms), sorted."""

    topics: tuple[str, ...]
    at: int


@dataclass(slots=True, kw_only=True)
class Rebalance:
    """The rebalance under way: why, since when, and how its phases went. Times are on the clock of `now_ms`.

    It began when the group epoch grew, and ends when the group is Stable or Empty. `phase`: `assigning` until there is a
    target of the group epoch, then `reconciling`. `also`: why the epoch grew again meanwhile.
    """

    cause: Cause
    started_ms: int
    phase: str
    phase_since_ms: int
    epoch_before: int
    before: dict[str, Partitions]
    phases: list[tuple[str, int]] = field(default_factory=list)
    also: list[Cause] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class ModernGroup:
    """The membership of one consumer group.

    `target`: member id to what it is to hold, of `target_epoch`; `target_assignor` made it. `metadata_hash`: of the
    subscribed topics as they were at the group epoch; 0 asks for a new look. `owners`: (topic id, partition) to the member
    that holds it or has not let go of it yet. `heard_ms`: when a member was heard last, on the clock of `now_ms`. `unsaved`:
    a record was lost, so the next one holds the whole group.

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
    regexes: dict[str, ResolvedRegex] = field(default_factory=dict)
    heard_ms: dict[str, int] = field(default_factory=dict)
    state_since_ms: int = 0
    unsaved: bool = False
    rebalance: Rebalance | None = None
    settled: dict[str, Partitions] = field(default_factory=dict)
    settled_epoch: int = 0
    revoking_since_ms: dict[str, int] = field(default_factory=dict)
