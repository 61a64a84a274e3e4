"""What requests are answered: plain values that a handler encodes. Source: the response schemas of the APIs they name."""

from __future__ import annotations

import msgspec

from kaas.coordinator.topics import Partitions
from kaas.errors import ErrorCode

NO_GENERATION = -1


class JoinedMember(msgspec.Struct, frozen=True, gc=False):
    """A row of the leader's JoinGroup answer."""

    member_id: str
    instance_id: str | None
    metadata: bytes


class JoinAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """JoinGroup. A refusal has generation -1, no leader, no members, null protocol."""

    code: ErrorCode
    member_id: str
    generation: int = NO_GENERATION
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str = ""
    skip_assignment: bool = False
    members: tuple[JoinedMember, ...] = ()


class SyncAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """SyncGroup."""

    code: ErrorCode
    assignment: bytes = b""
    protocol_type: str | None = None
    protocol_name: str | None = None


class ConsumerHeartbeatAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """ConsumerGroupHeartbeat. `assignment` is null where the member knows it already; `interval_ms` is 0 in a refusal."""

    code: ErrorCode
    message: str | None = None
    member_id: str | None = None
    epoch: int = 0
    interval_ms: int = 0
    assignment: Partitions | None = None


class LeftMember(msgspec.Struct, frozen=True, gc=False):
    """A row of a LeaveGroup answer."""

    member_id: str
    instance_id: str | None
    code: ErrorCode


class LeaveAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """LeaveGroup: an error of the whole request, or one result per row, in the order asked."""

    code: ErrorCode = ErrorCode.NONE
    members: tuple[LeftMember, ...] = ()


class CommitAnswer(msgspec.Struct, frozen=True):
    """OffsetCommit: one code for all rows that the request's edge let through, save the rows (by index) with their own."""

    code: ErrorCode
    rows: dict[int, ErrorCode] | None = None


class DeleteOffsetsAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """OffsetDelete: an error of the group, or one code per partition asked."""

    code: ErrorCode = ErrorCode.NONE
    partitions: dict[tuple[str, int], ErrorCode] = {}


class DeleteGroupAnswer(msgspec.Struct, frozen=True):
    """One group of a DeleteGroups."""

    code: ErrorCode


HeartbeatAnswer = ErrorCode
"""Heartbeat has nothing else to say."""
