"""LeaveGroup, and the end of a session.

Job: members leave by their own request or an operator's; a member that is silent too long is gone.
Rules: each row of a request has its own result, judged in the order asked; the group rebalances once, after the last row.
Source: PROTOCOL 2.5 in docs/PROTOCOL.md; KIP-345 (batches, removal by instance id), KIP-800 (reasons).
"""

from __future__ import annotations

from kaas.coordinator import timers
from kaas.coordinator.announcements import Cause, MembersChanged
from kaas.coordinator.answers import LeaveAnswer, LeftMember
from kaas.coordinator.classic.checks import check_member
from kaas.coordinator.classic.group import ClassicGroup, Member
from kaas.coordinator.classic.members import remove_member, session_left_ms, set_session
from kaas.coordinator.classic.rebalance import complete_if_all_are_back, prepare_or_complete
from kaas.coordinator.classic.states import State
from kaas.coordinator.core import Answering, Core
from kaas.coordinator.events import Leave, Leaving
from kaas.errors import ErrorCode

REMOVED_BY_OPERATOR = "member was removed by an admin"
"""How Kafka's admin client begins the reason of a removal (KIP-800)."""


def leave(core: Core, event: Leave, now_ms: int) -> None:
    """Handle a LeaveGroup."""
    if not event.group_id:
        core.out.reply(event.reply_to, LeaveAnswer(code=ErrorCode.INVALID_GROUP_ID))
        return
    code, group = core.find(event.group_id)
    if code:
        core.out.reply(event.reply_to, LeaveAnswer(code=code))
        return
    if group is None:
        rows = tuple(LeftMember(r.member_id, r.instance_id, ErrorCode.UNKNOWN_MEMBER_ID) for r in event.members)
        core.out.reply(event.reply_to, LeaveAnswer(members=rows))
        return
    leave_group(core, group.classic, event, now_ms)


def leave_group(core: Core, group: ClassicGroup, event: Leave, now_ms: int) -> None:
    """Row by row, then the group as a whole. That a group is empty is told only when it is durable."""
    had_members = bool(group.members)
    rows: list[LeftMember] = []
    causes: list[Cause] = []
    for row in event.members:
        code, cause = leave_one(core, group, row)
        rows.append(LeftMember(row.member_id, row.instance_id, code))
        if cause is not None:
            causes.append(cause)
    if causes:
        prepare_or_complete(core, group, causes, now_ms)
    else:
        complete_if_all_are_back(core, group, now_ms)
    answer = LeaveAnswer(members=tuple(rows))
    if had_members and group.state is State.EMPTY:
        refusal = LeaveAnswer(code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
        core.out.follow(event.group_id, Answering(to=event.reply_to, answer=answer, refusal=refusal))
    else:
        core.out.reply(event.reply_to, answer)


def is_by_operator(row: Leaving) -> bool:
    """Whether an operator has the member removed: nobody else knows the instance only, or says so."""
    return not row.member_id or (row.reason or "").startswith(REMOVED_BY_OPERATOR)


def leave_one(core: Core, group: ClassicGroup, row: Leaving) -> tuple[ErrorCode, Cause | None]:
    """One row: its result, and why the group rebalances if a member went."""
    if not row.member_id and row.instance_id is not None:  # an operator knows the instance only
        holder = group.holder(row.instance_id)
        if holder is None:
            return ErrorCode.UNKNOWN_MEMBER_ID, None
        return ErrorCode.NONE, take_out(core, group, holder, row)
    if row.member_id in group.pending:  # no member yet, so whatever instance id stands beside it holds nothing
        del group.pending[row.member_id]
        core.out.cancel_timer(timers.pending_member(group.group_id, row.member_id))
        core.out.announce(group.group_id, MembersChanged(member_ids=()))
        return ErrorCode.NONE, None
    code = check_member(group, row.member_id, row.instance_id)
    if code:
        return code, None
    return ErrorCode.NONE, take_out(core, group, group.members[row.member_id], row)


def take_out(core: Core, group: ClassicGroup, member: Member, row: Leaving) -> Cause:
    """Remove a member that leaves, or that an operator removes."""
    by_operator = is_by_operator(row)
    remove_member(core, group, member, kind="member_left", reason=row.reason)
    return Cause(
        kind="member_removed" if by_operator else "member_left",
        member_id=member.member_id,
        detail={"client_id": member.client_id, "instance_id": member.instance_id, "reason": row.reason},
    )


def session_expired(core: Core, group: ClassicGroup, member: Member, now_ms: int) -> None:
    """A member was silent for its whole session, and nothing of it is parked: it is gone."""
    if member.waits:
        return
    if left_ms := session_left_ms(member, now_ms):
        set_session(core, group, member, now_ms, left_ms)
        return
    silent_ms, timeout_ms = now_ms - member.heard_ms, member.session_timeout_ms
    remove_member(core, group, member, kind="member_expired", silent_ms=silent_ms, timeout_ms=timeout_ms)
    detail = {
        "client_id": member.client_id,
        "instance_id": member.instance_id,
        "silent_ms": silent_ms,
        "timeout_ms": timeout_ms,
    }
    cause = Cause(kind="session_expired", member_id=member.member_id, detail=detail)
    prepare_or_complete(core, group, [cause], now_ms)
