"""Rebalances as the feed tells them: those under way, and those that ended: why, how long, who had what before and after.

Rules: pure. An assignment that cannot be decoded owns nothing. Topics that are gone are left out: nothing of them moved.
Must not know: Redis, when something is published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kaas.coordinator.account import Account
from kaas.coordinator.announcements import Cause, RebalanceCompleted
from kaas.coordinator.offset_entry import OffsetKey
from kaas.coordinator.topics import Partitions, Topics
from kaas.feed.types import LastRebalance, MovedPartition, Phase, RebalanceRecord, RebalanceView, WaitingFor
from kaas.wire.consumer_protocol import PROTOCOL_TYPE, decode_assignment

NAMED = 50
"""Members and causes, at most, of one rebalance by name."""
MOVES = 1_000
"""Moves that a record of a rebalance lists, at most."""


def cause_fields(cause: Cause) -> dict[str, Any]:
    return {"cause": cause.kind, "member_id": cause.member_id, "detail": cause.detail}


def under_way(
    rebalance: Account,
    waiting: Sequence[WaitingFor],
    wall_offset_ms: int,
    *,
    generation_before: int,
    members_before: int,
) -> RebalanceView:
    """A rebalance under way, and whom it waits for."""
    return RebalanceView(
        started_at=rebalance.started_ms + wall_offset_ms,
        cause=rebalance.cause.kind,
        member_id=rebalance.cause.member_id,
        detail=rebalance.cause.detail,
        also=[cause_fields(cause) for cause in rebalance.also[:NAMED]],
        phase=rebalance.phase,
        phase_since=rebalance.phase_since_ms + wall_offset_ms,
        phases=[Phase(name=name, duration_ms=ms) for name, ms in rebalance.phases],
        waiting_for=list(waiting[:NAMED]),
        waiting_count=len(waiting),
        generation_before=generation_before,
        members_before=members_before,
    )


def rebalance_record(done: RebalanceCompleted, protocol: str, topics: Topics) -> RebalanceRecord:
    """A rebalance that ended, with what moved. Members of a consumer group go on with what they keep."""
    before, after = owners(done.before, done.protocol_type, topics), owners(done.after, done.protocol_type, topics)
    moved = moves(before, after) if done.outcome != "superseded" else []
    duration_ms = done.ended_at - done.started_at
    stopped = done.outcome == "stable" and done.kind == "classic" and not is_cooperative(protocol)
    return RebalanceRecord(
        kind=done.kind,
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


def owners(assignments: Mapping[str, bytes | Partitions], protocol_type: str, topics: Topics) -> dict[OffsetKey, str]:
    """Who has each partition."""
    found: dict[OffsetKey, str] = {}
    for member_id, held in assignments.items():
        named = decoded(held, protocol_type) if isinstance(held, bytes) else topics.named(held)
        for topic, numbers in named.items():
            found.update(dict.fromkeys(((topic, number) for number in numbers), member_id))
    return found


def decoded(assignment: bytes, protocol_type: str) -> Mapping[str, Sequence[int]]:
    """The partitions by topic name that the bytes of a classic member say; none where they say nothing that is understood."""
    if protocol_type != PROTOCOL_TYPE:
        return {}
    try:
        return decode_assignment(assignment).partitions
    except ValueError:
        return {}


def last_of(record: RebalanceRecord) -> LastRebalance:
    """What lists show of a rebalance."""
    return LastRebalance(
        at=record.ended_at,
        cause=record.cause,
        member_id=record.member_id,
        detail=record.detail,
        duration_ms=record.duration_ms,
    )
