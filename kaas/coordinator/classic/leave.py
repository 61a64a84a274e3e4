"""LeaveGroup, and every other way out of a group.

Job: members leave by their own request or an operator's; sessions end.
Rules: each row of a request has its own result, judged in the order asked. A removed member's parked requests are answered.
Source: PROTOCOL 2.5 in docs/PROTOCOL.md; KIP-345 (batches, removal by instance id), KIP-800 (reasons).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kaas.coordinator import timers
from kaas.coordinator.announcements import Cause
from kaas.coordinator.answers import JoinAnswer, LeaveAnswer, LeftMember, SyncAnswer
from kaas.coordinator.classic.checks import check_member
from kaas.coordinator.classic.group import ClassicGroup, Member
from kaas.coordinator.classic.rebalance import complete_if_all_are_back, member_change, prepare_or_complete
from kaas.coordinator.events import Leave, Leaving
from kaas.errors import ErrorCode

if TYPE_CHECKING:
    from kaas.coordinator.coordinator import Coordinator

REMOVED_BY_OPERATOR = "member was removed by an admin"
"""How Kafka's admin client begins the reason of a removal (KIP-800)."""


def leave(core: Coordinator, event: Leave, now_ms: int) -> None:
    """Handle a LeaveGroup. The answer comes once an emptied group is durable as such."""
    if not event.group_id:
        core.out.reply(event.reply_to, LeaveAnswer(code=ErrorCode.INVALID_GROUP_ID))
        return
    if (code := core.unavailable(event.group_id)) is not ErrorCode.NONE:
        core.out.reply(event.reply_to, LeaveAnswer(code=code))
        return
    group = core.classic(event.group_id)
    rows, cause = [], None
    for row in event.members:
        code, why = (ErrorCode.UNKNOWN_MEMBER_ID, None) if group is None else leave_one(core, group, row, now_ms)
        rows.append(LeftMember(row.member_id, row.instance_id, code))
        cause = cause or why
    if group is not None:
        if cause is not None:
            prepare_or_complete(core, group, cause, now_ms)
        else:
            complete_if_all_are_back(core, group, now_ms)
    core.out.reply_when_durable(event.reply_to, LeaveAnswer(members=tuple(rows)))


def leave_one(core: Coordinator, group: ClassicGroup, row: Leaving, now_ms: int) -> tuple[ErrorCode, Cause | None]:
    """One row: its result, and why the group rebalances if a member went."""
    if not row.member_id and row.instance_id is not None:  # an operator knows the instance only
        holder = group.holder(row.instance_id)
        if holder is None:
            return ErrorCode.UNKNOWN_MEMBER_ID, None
        return ErrorCode.NONE, take_out(core, group, holder, row, now_ms)
    if row.member_id in group.pending and row.instance_id is None:
        del group.pending[row.member_id]
        core.out.cancel_timer(timers.pending_member(group.group_id, row.member_id))
        return ErrorCode.NONE, None
    code = check_member(group, row.member_id, row.instance_id)
    if code:
        return code, None
    return ErrorCode.NONE, take_out(core, group, group.members[row.member_id], row, now_ms)


def take_out(core: Coordinator, group: ClassicGroup, member: Member, row: Leaving, now_ms: int) -> Cause:
    """Remove a member that leaves, or that an operator removes."""
    by_operator = not row.member_id or (row.reason or "").startswith(REMOVED_BY_OPERATOR)
    remove_member(core, group, member, now_ms, kind="member_left", reason=row.reason)
    return Cause(
        kind="member_removed" if by_operator else "member_left",
        member_id=member.member_id,
        detail={"client_id": member.client_id, "instance_id": member.instance_id, "reason": row.reason},
    )


def remove_member(
    core: Coordinator, group: ClassicGroup, member: Member, now_ms: int, *, kind: str, **more: str | int | None
) -> None:
    """Take a member out, with its timers; whatever it waits for is answered that it is unknown.

    A parked Join names no member: the id it was sent with is gone. (Apache leaves a parked Sync hanging.)
    """
    join_token = group.unpark_join(member)
    group.remove(member.member_id)
    core.out.cancel_timer(timers.session(group.group_id, member.member_id))
    core.out.cancel_timer(timers.new_member(group.group_id, member.member_id))
    if join_token is not None:
        core.out.reply(join_token, JoinAnswer(code=ErrorCode.UNKNOWN_MEMBER_ID, member_id=""))
    if member.parked_sync is not None:
        token, member.parked_sync = member.parked_sync, None
        core.out.reply(token, SyncAnswer(code=ErrorCode.UNKNOWN_MEMBER_ID))
    core.out.announce(group.group_id, member_change(kind, member, **more))


def session_expired(core: Coordinator, group: ClassicGroup, member: Member, now_ms: int) -> None:
    """A member was silent for its whole session, and nothing of it is parked: it is gone."""
    if member.parked_join is not None or member.parked_sync is not None:
        return
    silent_ms = now_ms - member.heard_ms
    remove_member(
        core,
        group,
        member,
        now_ms,
        kind="member_expired",
        silent_ms=silent_ms,
        timeout_ms=member.session_timeout_ms,
    )
    detail = {
        "client_id": member.client_id,
        "instance_id": member.instance_id,
        "silent_ms": silent_ms,
        "timeout_ms": member.session_timeout_ms,
    }
    cause = Cause(kind="session_expired", member_id=member.member_id, detail=detail)
    prepare_or_complete(core, group, cause, now_ms)


def send_away(core: Coordinator, group: ClassicGroup, code: ErrorCode) -> None:
    """Everyone who waits is answered, because nobody here will answer them later."""
    for member in group.members.values():
        token = group.unpark_join(member)
        if token is not None:
            core.out.reply(token, JoinAnswer(code=code, member_id=member.member_id))
        if member.parked_sync is not None:
            sync_token, member.parked_sync = member.parked_sync, None
            core.out.reply(sync_token, SyncAnswer(code=code))
