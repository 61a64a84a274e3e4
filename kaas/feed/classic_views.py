"""The membership of a classic group as the feed shows it.

Job: members, the rebalance under way, whom it waits for.
Rules: pure. What a client sent and cannot be decoded is shown raw (base64), never dropped.
Must not know: Redis, when something is published.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any

from kaas.coordinator.classic.group import ClassicGroup, Member
from kaas.coordinator.classic.states import State
from kaas.feed.records import under_way
from kaas.feed.types import MemberView, RebalanceView, TopicPartitions, WaitingFor
from kaas.wire.consumer_protocol import PROTOCOL_TYPE, decode_assignment, decode_subscription


def header(group: ClassicGroup, wall_offset_ms: int) -> dict[str, Any]:
    """The top-level fields of a snapshot that come from the membership. `simple`: a group that never had a member."""
    return {
        "state": group.state.value,
        "state_since": group.state_since_ms + wall_offset_ms,
        "type": "classic" if group.protocol_type or group.members else "simple",
        "protocol_type": group.protocol_type,
        "protocol": group.protocol_name,
        "leader": group.leader,
        "generation": group.generation,
        "pending_members": len(group.pending),
        "rebalance": rebalance_view(group, wall_offset_ms),
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


def rebalance_view(group: ClassicGroup, wall_offset_ms: int) -> RebalanceView | None:
    """The rebalance under way."""
    rebalance = group.rebalance
    if rebalance is None:
        return None
    waiting = list(waits_for(group, wall_offset_ms))
    return under_way(
        rebalance,
        waiting,
        wall_offset_ms,
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
