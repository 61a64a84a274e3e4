"""A group's state as the feed shows it.

Job: coordinator state to the shapes of `types`: header, members, offsets, the rebalance under way and whom it waits for.
Rules: pure; nothing is cached, as a publication touches only what changed. What a client sent and cannot be decoded is shown
raw (base64), never dropped.
Must not know: Redis, when something is published.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import msgspec

from kaas.coordinator.announcements import Cause, RebalanceCompleted
from kaas.coordinator.classic.group import ClassicGroup, Member
from kaas.coordinator.classic.states import State
from kaas.coordinator.group import Group
from kaas.coordinator.offset_entry import OffsetEntry, OffsetKey
from kaas.coordinator.topics import Partitions
from kaas.feed.types import (
    LastRebalance,
    MemberView,
    MovedPartition,
    OffsetView,
    Phase,
    RebalanceRecord,
    RebalanceView,
    TopicPartitions,
    WaitingFor,
)
from kaas.wire.consumer_protocol import PROTOCOL_TYPE, decode_assignment, decode_subscription

NAMED = 50
"""Members that a rebalance waits for, at most, by name."""
MOVES = 1_000
"""Moves that a record of a rebalance lists, at most."""

Ends = tuple[int, int, int]
"""Log start, log end, last stable offset."""


class LogEnds(Protocol):
    """Where the logs of this broker end."""

    def ends_of(self, topic: str, partition: int) -> Ends | None: ...


def group_type(group: Group) -> str:
    """`simple`: offsets of a group that never had a member."""
    return "classic" if group.classic.protocol_type or group.classic.members else "simple"


def header(group: Group, wall_offset_ms: int, last: LastRebalance | None) -> dict[str, Any]:
    """The top-level fields of a snapshot that come from the group."""
    classic = group.classic
    return {
        "state": classic.state.value,
        "state_since": classic.state_since_ms + wall_offset_ms,
        "type": group_type(group),
        "protocol_type": classic.protocol_type,
        "protocol": classic.protocol_name,
        "leader": classic.leader,
        "generation": classic.generation,
        "pending_members": len(classic.pending),
        "rebalance": rebalance_view(classic, wall_offset_ms),
        "last_rebalance": last,
    }


def member_state(group: ClassicGroup, member: Member) -> str:
    """What the member is doing, in one word."""
    if member.parked_join is not None:
        return "joining"
    if member.parked_sync is not None:
        return "syncing"
    if group.state is State.PREPARING_REBALANCE:
        return "missing"
    return "stable" if member.synced else "unsynced"


def member_view(group: ClassicGroup, member: Member, wall_offset_ms: int) -> MemberView:
    """One member."""
    metadata = group.shown_metadata(member)
    subscription, subscription_raw = decoded_subscription(group, metadata)
    assignment, assignment_raw = decoded_assignment(group, member.assignment)
    return MemberView(
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        state=member_state(group, member),
        epoch=group.generation,
        subscription=subscription,
        subscription_raw=subscription_raw,
        assignment=assignment,
        assignment_raw=assignment_raw,
        session_timeout_ms=member.session_timeout_ms,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        last_heartbeat_at=member.heard_ms + wall_offset_ms if member.heard_ms else None,
        joined_at=member.joined_at or None,
        is_leader=member.member_id == group.leader,
    )


def decoded_subscription(group: ClassicGroup, metadata: bytes) -> tuple[list[str] | None, str | None]:
    if group.protocol_type == PROTOCOL_TYPE:
        try:
            return sorted(decode_subscription(metadata).topics), None
        except ValueError:
            pass
    return None, base64.b64encode(metadata).decode()


def decoded_assignment(group: ClassicGroup, data: bytes) -> tuple[list[TopicPartitions] | None, str | None]:
    if group.protocol_type == PROTOCOL_TYPE:
        try:
            partitions = decode_assignment(data).partitions
        except ValueError:
            pass
        else:
            return [TopicPartitions(topic=t, partitions=sorted(p)) for t, p in sorted(partitions.items())], None
    return None, base64.b64encode(data).decode()


def offset_view(entry: OffsetEntry, ends: Ends | None) -> OffsetView:
    """One committed offset with the ends of its log."""
    log_start, log_end, last_stable = ends if ends is not None else (None, None, None)
    return OffsetView(
        committed=entry.offset,
        leader_epoch=entry.leader_epoch,
        metadata=entry.metadata,
        committed_at=entry.committed_at,
        expires_at=entry.expires_at,
        log_start=log_start,
        log_end=log_end,
        last_stable=last_stable,
    )


def rebalance_view(group: ClassicGroup, wall_offset_ms: int) -> RebalanceView | None:
    """The rebalance under way."""
    rebalance = group.rebalance
    if rebalance is None:
        return None
    waiting = list(waits_for(group, wall_offset_ms))
    return RebalanceView(
        started_at=rebalance.started_ms + wall_offset_ms,
        cause=rebalance.cause.kind,
        member_id=rebalance.cause.member_id,
        detail=rebalance.cause.detail,
        also=[cause_fields(cause) for cause in rebalance.also[:NAMED]],
        phase=rebalance.phase,
        phase_since=rebalance.phase_since_ms + wall_offset_ms,
        phases=[Phase(name=name, duration_ms=ms) for name, ms in rebalance.phases],
        waiting_for=waiting[:NAMED],
        waiting_count=len(waiting),
        generation_before=rebalance.generation_before,
        members_before=rebalance.members_before,
    )


def waits_for(group: ClassicGroup, wall_offset_ms: int) -> Iterable[WaitingFor]:
    """Whom the present phase waits for, and what ends the wait."""
    rebalance = group.rebalance
    assert rebalance is not None
    deadline_at = rebalance.deadline_ms + wall_offset_ms
    if rebalance.initial:
        yield WaitingFor(member_id=None, client_id=None, timer="initial_delay", deadline_at=deadline_at)
    elif rebalance.phase == "joining":
        for member in group.members.values():
            if member.parked_join is None:
                yield waiting(member, "rebalance", deadline_at)
        for member_id, deadline_ms in group.pending.items():
            yield WaitingFor(
                member_id=member_id, client_id=None, timer="pending_member", deadline_at=deadline_ms + wall_offset_ms
            )
    else:
        leader = group.members.get(group.leader or "")
        if leader is not None and not leader.synced:
            yield waiting(leader, "sync", deadline_at)


def waiting(member: Member, timer: str, deadline_at: int) -> WaitingFor:
    return WaitingFor(member_id=member.member_id, client_id=member.client_id, timer=timer, deadline_at=deadline_at)


def cause_fields(cause: Cause) -> dict[str, Any]:
    return {"cause": cause.kind, "member_id": cause.member_id, "detail": cause.detail}


def rebalance_record(done: RebalanceCompleted, protocol: str) -> RebalanceRecord:
    """A rebalance that ended, with what moved."""
    before, after = owners(done.before, done.protocol_type), owners(done.after, done.protocol_type)
    moved = moves(before, after) if done.outcome != "superseded" else []
    duration_ms = done.ended_at - done.started_at
    stopped = done.outcome == "stable" and not is_cooperative(protocol)
    return RebalanceRecord(
        started_at=done.started_at,
        ended_at=done.ended_at,
        duration_ms=duration_ms,
        phases=[Phase(name=name, duration_ms=ms) for name, ms in done.phases],
        cause=done.cause.kind,
        member_id=done.cause.member_id,
        detail=done.cause.detail,
        also=[cause_fields(cause) for cause in done.also[:NAMED]],
        outcome=done.outcome,
        generation_before=done.generation_before,
        generation_after=done.generation_after,
        members_before=done.members_before,
        members_after=done.members_after,
        moved=moved[:MOVES],
        moved_count=len(moved),
        kept=sum(1 for key, owner in before.items() if after.get(key) == owner),
        without_ms=dict.fromkeys(list(done.after)[:MOVES], duration_ms) if stopped else {},
    )


def is_cooperative(protocol: str) -> bool:
    """Whether members of this strategy go on with what they keep while the group rebalances (KIP-429)."""
    return protocol.startswith("cooperative")


def moves(before: dict[OffsetKey, str], after: dict[OffsetKey, str]) -> list[MovedPartition]:
    """Partitions that changed hands, sorted."""
    return [
        MovedPartition(topic=key[0], partition=key[1], from_member=before.get(key), to_member=after.get(key))
        for key in sorted(before.keys() | after.keys())
        if before.get(key) != after.get(key)
    ]


def owners(assignments: Mapping[str, bytes | Partitions], protocol_type: str) -> dict[OffsetKey, str]:
    """Who has each partition; what cannot be decoded has none."""
    found: dict[OffsetKey, str] = {}
    if protocol_type != PROTOCOL_TYPE:
        return found
    for member_id, data in assignments.items():
        if not isinstance(data, bytes):
            continue
        try:
            partitions = decode_assignment(data).partitions
        except ValueError:
            continue
        for topic, numbers in partitions.items():
            found.update(dict.fromkeys(((topic, number) for number in numbers), member_id))
    return found


def last_of(record: RebalanceRecord) -> LastRebalance:
    """What lists show of a rebalance."""
    return LastRebalance(
        at=record.ended_at,
        cause=record.cause,
        member_id=record.member_id,
        detail=record.detail,
        duration_ms=record.duration_ms,
    )


def builtins(value: Any) -> Any:
    """Plain dicts and lists of a view, ready for JSON."""
    return msgspec.to_builtins(value)
