"""Members of a consumer group go: for good, for a while, because they are silent, do not let go, or are removed.

Job: the heartbeats with epoch -1 and -2, the rows of a LeaveGroup, and the ends of a session and of a time to let go.
Rules
- Who goes frees what it held; the group epoch grows, and the next heartbeat of anybody makes the target.
- A static member that goes for a while keeps its share, and the group its epoch. Its session goes on.
- The rows of one request are judged against the group as it was before, and make one epoch.
Must not know: how members of the classic protocol are served.
Source: KIP-848; PROTOCOL 2.5, 4.2, 7.3.3, 7.3.7 and 7.3.15 in docs/PROTOCOL.md; KAFKA-18188 (removal by an operator).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from kaas.coordinator.announcements import Cause
from kaas.coordinator.answers import ConsumerHeartbeatAnswer, LeaveAnswer, LeftMember
from kaas.coordinator.classic.leave import is_by_operator
from kaas.coordinator.core import Answering, Core
from kaas.coordinator.events import ConsumerHeartbeat, Leave, Leaving
from kaas.coordinator.group import Group
from kaas.coordinator.modern import downgrade, sessions
from kaas.coordinator.modern.change import Change
from kaas.coordinator.modern.checks import NOT_DURABLE, check_known
from kaas.coordinator.modern.epochs import grow
from kaas.coordinator.modern.group import AWAY, Member, MemberState, ModernGroup
from kaas.errors import ErrorCode


def leave(core: Core, group: Group, event: ConsumerHeartbeat, now_ms: int) -> None:
    """Handle a heartbeat with epoch -1 or -2."""
    modern = group.modern
    assert modern is not None
    fault = check_known(modern, event.member_id, event.instance_id)
    if fault is not None:
        core.out.reply(event.reply_to, fault)
        return
    change = Change(core, group, now_ms)
    member = modern.members[event.member_id]
    answer = ConsumerHeartbeatAnswer(code=ErrorCode.NONE, member_id=event.member_id, epoch=event.epoch)
    if event.epoch == AWAY:
        go_for_a_while(change, member)
        change.close(event.reply_to, answer, NOT_DURABLE)
    else:
        change.announce("member_left", member)
        cause = Cause(kind="member_left", member_id=member.member_id, detail=about(member))
        take_out(change, group, [(member, cause)], event.reply_to, answer, NOT_DURABLE)


def go_for_a_while(change: Change, member: Member) -> None:
    """The member's next life has its share; what it was to give up is free now, as nobody reads it."""
    away = msgspec.structs.replace(
        member, epoch=AWAY, previous_epoch=member.epoch, state=MemberState.STABLE, revoking={}
    )
    change.put(away)


def take_out(
    change: Change,
    group: Group,
    gone: Sequence[tuple[Member, Cause]],
    to: Any = None,
    answer: Any = None,
    refusal: Any = None,
) -> None:
    """Members go, and the decision ends: the group epoch grows by one, or the group is one of classic members again."""
    core = change.core
    for member, _ in gone:
        change.remove(member.member_id)
    if gone and downgrade.is_due(core, change.group):
        follower = None if to is None else Answering(to=to, answer=answer, refusal=refusal)
        downgrade.downgrade(core, group, [cause for _, cause in gone], follower, change.now_ms)
        return
    for index, (_, cause) in enumerate(gone):
        if index == 0:
            grow(change, cause)
        else:
            change.also(cause)
    change.close(to, answer, refusal)


def about(member: Member, **more: str | int | None) -> dict[str, str | int | None]:
    """What a sentence about a cause needs of a member."""
    return {"client_id": member.client_id, "instance_id": member.instance_id, **more}


# LeaveGroup


def leave_rows(core: Core, group: Group, event: Leave, now_ms: int) -> None:
    """Handle a LeaveGroup: members of either protocol, by their ids or their instance ids."""
    modern = group.modern
    assert modern is not None
    rows = []
    gone: dict[str, tuple[Member, Cause]] = {}
    change = Change(core, group, now_ms)
    for row in event.members:
        code, member = find(modern, row)
        rows.append(LeftMember(row.member_id, row.instance_id, code))
        if member is not None and member.member_id not in gone:
            by_operator = member.classic is None or is_by_operator(row)
            kind = "member_removed" if by_operator else "member_left"
            cause = Cause(kind=kind, member_id=member.member_id, detail=about(member, reason=row.reason))
            gone[member.member_id] = member, cause
            change.announce("member_left", member, reason=row.reason)
    refused = LeaveAnswer(code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    take_out(change, group, list(gone.values()), event.reply_to, LeaveAnswer(members=tuple(rows)), refused)


def find(group: ModernGroup, row: Leaving) -> tuple[ErrorCode, Member | None]:
    """Whom a row means; an operator may know the instance only."""
    if not row.member_id and row.instance_id is not None:
        member = group.holder(row.instance_id)
        return (ErrorCode.UNKNOWN_MEMBER_ID if member is None else ErrorCode.NONE), member
    fault = check_known(group, row.member_id, row.instance_id)
    if fault is not None:
        return fault.code, None
    return ErrorCode.NONE, group.members[row.member_id]


# Timers


def session_expired(core: Core, group: Group, member: Member, now_ms: int) -> None:
    """A member was silent for its whole session, or did not come back within it."""
    modern = group.modern
    assert modern is not None
    silent_ms = now_ms - modern.heard_ms.get(member.member_id, now_ms)
    timeout_ms = sessions.timeout_ms(core, modern, member)
    detail = about(member, silent_ms=silent_ms, timeout_ms=timeout_ms)
    change = Change(core, group, now_ms)
    change.announce("member_expired", member, silent_ms=silent_ms, timeout_ms=timeout_ms)
    take_out(change, group, [(member, Cause(kind="session_expired", member_id=member.member_id, detail=detail))])


def revocation_expired(core: Core, group: Group, member: Member, now_ms: int) -> None:
    """A member still holds what it was told to give up a rebalance timeout ago: others wait for that."""
    if member.revoking:
        drop_the_late(core, group, member, "reconciling", "did not give up partitions in time", now_ms)


def drop_the_late(core: Core, group: Group, member: Member, phase: str, reason: str, now_ms: int) -> None:
    """A member had its rebalance timeout for a step, and did not take it."""
    timeout_ms = member.rebalance_timeout_ms
    detail = about(member, timeout_ms=timeout_ms, phase=phase)
    change = Change(core, group, now_ms)
    change.announce("member_expired", member, timeout_ms=timeout_ms, reason=reason)
    take_out(change, group, [(member, Cause(kind="rebalance_timeout", member_id=member.member_id, detail=detail))])
