"""Durable facts about a group: what the journal holds and `replay.apply` applies, live and at a restart alike.

Rules: a record is absolute (it says what is, not what changed by how much), so that applying the newest ones again does no
harm. A field is only ever added at the end, with a default, so that older journals load.
Shape: msgpack arrays `[tag, ...fields]`, the tag first.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from kaas.coordinator.modern.group import Member as ConsumerMember
from kaas.coordinator.modern.group import ResolvedRegex
from kaas.coordinator.offset_entry import OffsetKey, OffsetRows
from kaas.coordinator.topics import Partitions
from kaas.coordinator.transactions.state import TransactionGone, TransactionState


class OffsetsCommitted(msgspec.Struct, frozen=True, array_like=True, tag="commit"):
    """Offsets as they are from now on."""

    offsets: OffsetRows


class OffsetsDeleted(msgspec.Struct, frozen=True, array_like=True, tag="delete"):
    """Offsets that are gone. `why` is one of deleted, expired, topic_deleted."""

    partitions: list[OffsetKey]
    why: str


class GenerationReserved(msgspec.Struct, frozen=True, array_like=True, tag="generation"):
    """No generation up to this one will be given again, whatever happens before the group is Stable."""

    generation: int


class StoredMember(msgspec.Struct, frozen=True, array_like=True):
    """A classic member as it is kept; `protocols` in its own order of preference."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]
    assignment: bytes
    joined_at: int


class GroupStable(msgspec.Struct, frozen=True, array_like=True, tag="stable"):
    """A classic group with its members and their assignments.

    `is_shared_out` is false where the assignments leave something out: the group was a consumer group until now and is about to
    rebalance, which a restart does in its place.
    """

    generation: int
    protocol_type: str
    protocol_name: str
    leader: str
    members: list[StoredMember]
    at: int
    is_shared_out: bool = True


class GroupEmpty(msgspec.Struct, frozen=True, array_like=True, tag="empty"):
    """A classic group that nobody is in."""

    generation: int
    protocol_type: str
    at: int


class MemberReplaced(msgspec.Struct, frozen=True, array_like=True, tag="replaced"):
    """A static member came back: the new id takes the old one's place, assignment and leadership (KIP-345)."""

    old_member_id: str
    member: StoredMember


class OffsetsStaged(msgspec.Struct, frozen=True, array_like=True, tag="stage"):
    """Offsets that a transaction will commit or drop (KIP-447). They are seen by nobody until then."""

    producer_id: int
    epoch: int
    offsets: OffsetRows


class StagedEnded(msgspec.Struct, frozen=True, array_like=True, tag="unstage"):
    """The transaction of a producer has ended for this group: what it staged is committed, or dropped."""

    producer_id: int
    committed: bool


class ConsumerGroupChanged(msgspec.Struct, frozen=True, array_like=True, tag="consumer"):
    """A consumer group (KIP-848) after a decision: its numbers, and the members, targets and patterns that are new or changed.

    `at`: since when the group has its state (wall time, ms). What is `gone` (member ids) has no target either. `whole`: this is
    all of it, and whatever the group was before, classic membership included, is replaced; else what is not named here stays.
    A classic group that follows is told by GroupStable or GroupEmpty, which replace it in turn. `number` counts the records of
    a group, so that one that was lost is missed; `lacks`: what such a record said is missing here.
    """

    epoch: int
    metadata_hash: int
    target_epoch: int
    target_assignor: str
    at: int
    whole: bool = False
    members: list[ConsumerMember] = []
    gone: list[str] = []
    targets: dict[str, Partitions] = {}
    regexes: dict[str, ResolvedRegex] = {}
    regexes_gone: list[str] = []
    number: int = 0
    lacks: bool = False


class GroupDeleted(msgspec.Struct, frozen=True, array_like=True, tag="tombstone"):
    """The group and all of its offsets are gone. `why` is one of deleted, expired."""

    at: int
    why: str


Record = (
    OffsetsCommitted
    | OffsetsDeleted
    | GenerationReserved
    | GroupStable
    | GroupEmpty
    | MemberReplaced
    | OffsetsStaged
    | StagedEnded
    | ConsumerGroupChanged
    | GroupDeleted
    | TransactionState
    | TransactionGone
)
"""Everything a journal may hold about a group."""

OFFSET_RECORDS = (OffsetsCommitted, OffsetsDeleted, OffsetsStaged, StagedEnded)
"""Records that the offsets file of a group covers; the others are covered by its group-state file. A tombstone by both."""

TRANSACTION_RECORDS = (TransactionState, TransactionGone)
"""Records about a transactional id, which stands in the entry where a group's id would."""

encode: Callable[[Record], bytes] = msgspec.msgpack.Encoder().encode
"""The body of a journal entry."""

_decoder = msgspec.msgpack.Decoder(Record)


def decode(body: bytes) -> Record:
    """Raises ValueError when this is no record."""
    return _decoder.decode(body)
