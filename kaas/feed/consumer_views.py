"""The membership of a consumer group (KIP-848) as the feed shows it.

Job: members with what they have and what they are to have, the rebalance under way, whom it waits for.
Rules: pure. Topics that are gone are left out. Members are waited for in the order in which an operator can do something about
it: those that hold on to partitions first. Nobody is named while there is no target yet: whoever is heard next makes it.
Must not know: Redis, when something is published.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kaas.coordinator.modern.group import AWAY, Member, MemberState, ModernGroup
from kaas.coordinator.topics import Partitions, Topics
from kaas.feed.records import under_way
from kaas.feed.types import MemberView, RebalanceView, TopicPartitions, WaitingFor
from kaas.wire.consumer_protocol import PROTOCOL_TYPE

TIMERS = ("revocation", "heartbeat", "away")
"""What ends the wait for a member, in the order in which members are named."""


def header(group: ModernGroup, wall_offset_ms: int) -> dict[str, Any]:
    """The top-level fields of a snapshot that come from the membership."""
    return {
        "state": group.state.value,
        "state_since": group.state_since_ms + wall_offset_ms,
        "type": "consumer",
        "protocol_type": PROTOCOL_TYPE,
        "protocol": group.target_assignor,
        "group_epoch": group.epoch,
        "assignment_epoch": group.target_epoch,
        "rebalance": rebalance_view(group, wall_offset_ms),
    }


def member_state(group: ModernGroup, member: Member) -> str:
    """What the member is doing, in one word."""
    if member.epoch == AWAY:
        return "away"
    if member.state == MemberState.UNREVOKED:
        return "revoking"
    if member.epoch < group.epoch:
        return "behind"
    return "stable" if member.state == MemberState.STABLE else "waiting"


def member_view(
    group: ModernGroup, member: Member, topics: Topics, session_timeout_ms: int, wall_offset_ms: int
) -> MemberView:
    """One member."""
    heard_ms = group.heard_ms.get(member.member_id)
    return MemberView(
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        state=member_state(group, member),
        epoch=member.epoch,
        subscription=sorted(member.topics),
        subscription_regex=member.regex or None,
        assignment=shares(member.assigned, topics),
        target_assignment=shares(group.target.get(member.member_id, {}), topics),
        revoking=shares(member.revoking, topics),
        session_timeout_ms=member.session_timeout_ms(session_timeout_ms),
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        last_heartbeat_at=None if heard_ms is None else heard_ms + wall_offset_ms,
        joined_at=member.joined_at or None,
        kind="consumer" if member.classic is None else "classic",
        server_assignor=member.assignor,
        rack_id=member.rack_id,
    )


def shares(partitions: Partitions, topics: Topics) -> list[TopicPartitions]:
    """Partitions by topic name, sorted."""
    return [TopicPartitions(topic=name, partitions=list(held)) for name, held in topics.named(partitions).items()]


def rebalance_view(group: ModernGroup, wall_offset_ms: int) -> RebalanceView | None:
    """The rebalance under way."""
    rebalance = group.rebalance
    if rebalance is None:
        return None
    waiting = sorted(
        waits_for(group, wall_offset_ms) if rebalance.phase == "reconciling" else (),
        key=lambda one: TIMERS.index(one.timer),
    )
    return under_way(
        rebalance,
        waiting,
        wall_offset_ms,
        generation_before=rebalance.epoch_before,
        members_before=len(rebalance.before),
    )


def waits_for(group: ModernGroup, wall_offset_ms: int) -> Iterable[WaitingFor]:
    """Every member that has something to do before the group is Stable, and what ends the wait for it."""
    for member in group.members.values():
        state = member_state(group, member)
        if state == "revoking":
            since_ms = group.revoking_since_ms.get(member.member_id, group.state_since_ms)
            deadline_at = since_ms + member.rebalance_timeout_ms + wall_offset_ms
            yield waiting(member, "revocation", deadline_at, since_ms + wall_offset_ms)
        elif state != "stable" and not (state == "waiting" and is_kept_waiting(group, member)):
            yield waiting(member, "away" if state == "away" else "heartbeat", None)


def is_kept_waiting(group: ModernGroup, member: Member) -> bool:
    """Whether somebody else still holds part of what this member is to have."""
    me = member.member_id
    places = ((topic_id, number) for topic_id, held in group.target.get(me, {}).items() for number in held)
    return any(group.owners.get(place, me) != me for place in places)


def waiting(member: Member, timer: str, deadline_at: int | None, since: int | None = None) -> WaitingFor:
    return WaitingFor(
        member_id=member.member_id, client_id=member.client_id, timer=timer, deadline_at=deadline_at, since=since
    )
