"""A static member comes back: its instance id is known, its process is new.

Job: give the new member id the place of the old one, without a rebalance where the group can go on as it is.
Rules: the old holder is told 82 at once, wherever it waits, and at each later request. In Stable with the same vote the
replacement is durable before it is answered; when the write fails nothing has changed, and when the group has moved on
meanwhile the Join is judged anew. The old session timeout counts until the new holder beats.
Source: PROTOCOL 3.5 and 7.1 in docs/PROTOCOL.md; KIP-345, KIP-814 (SkipAssignment), KAFKA-9801 (Completing), 14009 (new
timeouts), 18263 (revert on a failed write).
"""

from __future__ import annotations

import msgspec

from kaas.coordinator import timers
from kaas.coordinator.announcements import Cause, MembersChanged, member_change
from kaas.coordinator.answers import JoinAnswer
from kaas.coordinator.classic.group import ClassicGroup, Member
from kaas.coordinator.classic.members import refuse_join, refuse_sync, set_session, stop_session
from kaas.coordinator.classic.rebalance import join_answer, prepare_or_complete
from kaas.coordinator.classic.states import State
from kaas.coordinator.classic.sync import stored
from kaas.coordinator.core import Core
from kaas.coordinator.events import Join
from kaas.coordinator.records import MemberReplaced
from kaas.errors import ErrorCode


def replace(core: Core, group: ClassicGroup, event: Join, now_ms: int) -> None:
    """Handle the Join of a known instance without a member id."""
    old = group.holder(event.instance_id)
    assert old is not None
    new = successor(old, event, now_ms)
    if group.state is State.STABLE and vote_stays(group, old, new):
        record = MemberReplaced(old.member_id, stored(new, old.assignment))
        core.out.persist(group.group_id, record, Replaced(group.group_id, old, new.member_id, event))
    else:
        take_over(core, group, old, new, event, now_ms)


def successor(old: Member, event: Join, now_ms: int) -> Member:
    """The new life of a member: what it says of itself now, and the assignment it had."""
    return Member(
        member_id=f"{event.instance_id}-{event.fresh_id}",
        instance_id=event.instance_id,
        client_id=event.client_id,
        client_host=event.client_host,
        session_timeout_ms=event.session_timeout_ms,
        rebalance_timeout_ms=event.rebalance_timeout_ms,
        protocols=event.protocols,
        assignment=old.assignment,
        is_new=old.is_new,
        synced=old.synced,
        heard_ms=now_ms,
        joined_at=old.joined_at,
    )


def vote_stays(group: ClassicGroup, old: Member, new: Member) -> bool:
    """Whether the group would choose the same protocol with the new member in place of the old one."""
    group.replace(old, new)
    same = group.vote() == group.protocol_name
    group.replace(new, old)
    return same


def take_over(core: Core, group: ClassicGroup, old: Member, new: Member, event: Join, now_ms: int) -> None:
    """The new holder's Join is parked in a rebalance, which begins if none is under way. A newcomer is one still."""
    fence(core, group, old, new, event.reason)
    group.replace(old, new)
    group.park_join(new, event.reply_to)
    stop_session(core, group, old)
    core.out.cancel_timer(timers.new_member(group.group_id, old.member_id))
    if new.is_new:
        deadline_ms = now_ms + core.config.new_member_join_timeout_ms
        core.out.set_timer(timers.new_member(group.group_id, new.member_id), deadline_ms)
    detail = {"client_id": new.client_id, "instance_id": new.instance_id, "reason": event.reason}
    cause = Cause(kind="static_member_replaced", member_id=new.member_id, detail=detail)
    prepare_or_complete(core, group, [cause], now_ms)


def fence(core: Core, group: ClassicGroup, old: Member, new: Member, reason: str | None) -> None:
    """Whatever the old holder waits for is answered 82, with its own id: it must stop, not join again."""
    refuse_join(core, group, old, ErrorCode.FENCED_INSTANCE_ID, old.member_id)
    refuse_sync(core, old, ErrorCode.FENCED_INSTANCE_ID)
    core.out.announce(group.group_id, member_change("member_fenced", old))
    core.out.announce(group.group_id, member_change("member_replaced", old, replaced_by=new.member_id, reason=reason))


class Replaced(msgspec.Struct, frozen=True):
    """Answers a replacement in Stable once it is durable, or leaves everything as it was."""

    group_id: str
    old: Member
    new_member_id: str
    event: Join

    def written(self, core: Core, now_ms: int) -> None:
        """The record has been applied, unless the group was not Stable any more, or the old holder gone, by then."""
        group = core.classic(self.group_id)
        new = None if group is None else group.members.get(self.new_member_id)
        if group is None or new is None:
            core.again.append(self.event)
            return
        new.heard_ms = now_ms
        stop_session(core, group, self.old)
        set_session(core, group, new, now_ms, self.old.session_timeout_ms)
        fence(core, group, self.old, new, self.event.reason)
        core.out.reply(self.event.reply_to, stable_answer(group, self.old, new, self.event))
        core.out.announce(group.group_id, MembersChanged(member_ids=(self.old.member_id, new.member_id)))

    def failed(self, core: Core, now_ms: int) -> None:
        """The old id goes on as if nobody had come."""
        core.out.reply(
            self.event.reply_to, JoinAnswer(code=ErrorCode.COORDINATOR_NOT_AVAILABLE, member_id=self.event.member_id)
        )


def stable_answer(group: ClassicGroup, old: Member, new: Member, event: Join) -> JoinAnswer:
    """The same generation. A leader that can say SkipAssignment is told who is there, so that it watches their topics; one
    that cannot is told its old id as the leader's, so that it does not assign (KIP-814)."""
    if new.member_id != group.leader:
        return join_answer(group, new)
    if event.can_skip_assignment:
        return join_answer(group, new, skip_assignment=True)
    return msgspec.structs.replace(join_answer(group, new), leader=old.member_id, members=())
