"""What a coordinator is told: requests, timers that ran out, outcomes of writes, changes of topics.

Rules: an event is complete: random ids and versions' quirks come in as fields, so that handling needs nothing else.
`reply_to` is the shell's own token and comes back in a Reply.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from kaas.coordinator.offset_entry import OffsetKey, OffsetRows
from kaas.coordinator.timers import TimerKey
from kaas.coordinator.topics import Partitions, Topic
from kaas.coordinator.transactions.events import (
    AddToTransaction,
    EndTransaction,
    InitProducer,
    MarkersFailed,
    MarkersWritten,
)

Protocols = tuple[tuple[str, bytes], ...]
"""Assignment strategies in a member's order of preference, each with its metadata."""


class Join(msgspec.Struct, frozen=True, kw_only=True):
    """JoinGroup. `fresh_id` is a new uuid4 as text, of which a member id is made for who comes without one; else empty.

    `requires_known_id`: the version asks a newcomer to come back with an id it was told (v4+, KIP-394).
    `can_skip_assignment`: the version can say SkipAssignment (v9+, KIP-814).
    """

    reply_to: Any
    group_id: str
    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: Protocols
    reason: str | None = None
    requires_known_id: bool = True
    can_skip_assignment: bool = True
    fresh_id: str


class Sync(msgspec.Struct, frozen=True, kw_only=True):
    """SyncGroup. Type and name are null in versions that do not carry them. `assignments`: member id to bytes.

    `protocol_missing`: the version carries type and name, and the request left one out.
    """

    reply_to: Any
    group_id: str
    generation: int
    member_id: str
    instance_id: str | None
    protocol_type: str | None
    protocol_name: str | None
    assignments: dict[str, bytes]
    protocol_missing: bool = False


class Heartbeat(msgspec.Struct, frozen=True, kw_only=True):
    """Heartbeat of a classic member."""

    reply_to: Any
    group_id: str
    generation: int
    member_id: str
    instance_id: str | None


class ConsumerHeartbeat(msgspec.Struct, frozen=True, kw_only=True):
    """ConsumerGroupHeartbeat (KIP-848). Null (-1 for the timeout) means unchanged. `fresh_id` is a new member id for who comes
    without one (version 0); else empty. `owned` is what the member holds.

    `makes_id`: the version lets the client choose its id (v1+), so an empty one is refused. `may_describe` says whether the
    client may see a topic; null: it may see all.
    """

    reply_to: Any
    group_id: str
    member_id: str
    epoch: int
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    topics: tuple[str, ...] | None = None
    regex: str | None = None
    assignor: str | None = None
    owned: Partitions | None = None
    client_id: str
    client_host: str
    makes_id: bool = True
    fresh_id: str = ""
    may_describe: Callable[[str], bool] | None = None


class TopicKnown(msgspec.Struct, frozen=True, kw_only=True):
    """A topic exists as said here: at the start, when it is made, when it grows. TopicDeleted ends it."""

    topic: Topic


class RegexesResolved(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to ResolveRegexes: pattern to the topics it matches, sorted, of those that who asked may see.

    What is not in it could not be matched.
    """

    group_id: str
    topics: dict[str, tuple[str, ...]]


class Leaving(msgspec.Struct, frozen=True, kw_only=True):
    """One row of a LeaveGroup."""

    member_id: str
    instance_id: str | None
    reason: str | None = None


class Leave(msgspec.Struct, frozen=True, kw_only=True):
    """LeaveGroup of one member or many."""

    reply_to: Any
    group_id: str
    members: tuple[Leaving, ...]


class Commit(msgspec.Struct, frozen=True, kw_only=True):
    """OffsetCommit of partitions that exist: topic, partition and what is to be kept there.

    `modern`: the version has the codes of KIP-848 (v9+). `has_metadata`: some row may have more than an empty one.
    """

    reply_to: Any
    group_id: str
    generation: int
    member_id: str
    instance_id: str | None
    rows: OffsetRows
    modern: bool = True
    has_metadata: bool = True


class StageOffsets(msgspec.Struct, frozen=True, kw_only=True):
    """TxnOffsetCommit of partitions that exist, by a producer that may. Versions below 3 carry no member: generation -1."""

    reply_to: Any
    group_id: str
    producer_id: int
    epoch: int
    generation: int
    member_id: str
    instance_id: str | None
    rows: OffsetRows


class EndStaged(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a transaction, for one group that it touched. Answered with an ErrorCode."""

    reply_to: Any
    group_id: str
    producer_id: int
    committed: bool


class DeleteOffsets(msgspec.Struct, frozen=True, kw_only=True):
    """OffsetDelete of partitions that exist."""

    reply_to: Any
    group_id: str
    partitions: tuple[OffsetKey, ...]


class DeleteGroup(msgspec.Struct, frozen=True, kw_only=True):
    """One group of a DeleteGroups."""

    reply_to: Any
    group_id: str


class TimerExpired(msgspec.Struct, frozen=True, kw_only=True):
    """A deadline passed."""

    key: TimerKey


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """Every record up to and including this sequence number that has not failed is durable."""

    up_to: int


class WriteFailed(msgspec.Struct, frozen=True, kw_only=True):
    """The records from `first` to `last` are not written and never will be."""

    first: int
    last: int


class ClockMoved(msgspec.Struct, frozen=True, kw_only=True):
    """Wall time in ms since 1970 is `now_ms + wall_offset_ms` from here on. Comes first, and after each jump of the clock."""

    wall_offset_ms: int


class PartitionsAdded(msgspec.Struct, frozen=True, kw_only=True):
    """A topic grew."""

    topic: str


class TopicDeleted(msgspec.Struct, frozen=True, kw_only=True):
    """A topic is gone; its committed offsets go with it."""

    topic: str


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was on disk is in the state: timers start, requests are taken."""


class Unload(msgspec.Struct, frozen=True, kw_only=True):
    """Another broker coordinates this group from `assignment_version` on."""

    group_id: str
    assignment_version: int


Event = (
    Join
    | Sync
    | Heartbeat
    | Leave
    | ConsumerHeartbeat
    | TopicKnown
    | RegexesResolved
    | Commit
    | StageOffsets
    | EndStaged
    | InitProducer
    | AddToTransaction
    | EndTransaction
    | MarkersWritten
    | MarkersFailed
    | DeleteOffsets
    | DeleteGroup
    | TimerExpired
    | Written
    | WriteFailed
    | ClockMoved
    | PartitionsAdded
    | TopicDeleted
    | Loaded
    | Unload
)
