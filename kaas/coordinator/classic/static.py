"""A static member comes back: its instance id is known, its process is new.

Job: give the new member id the place of the old one, without a rebalance where the group can go on as it is.
Rules: the old holder is told 82 at once, wherever it waits, and at each later request. In Stable with the same vote the
replacement is durable before it is answered; when the write fails nothing has changed. The session goes on as it was until
the new holder beats.
Source: PROTOCOL 3.5 in docs/PROTOCOL.md; KIP-345, KIP-814 (SkipAssignment), KAFKA-9801 (Completing), 14009 (new timeouts),
18263 (revert on a failed write).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from kaas.coordinator import timers
from kaas.coordinator.announcements import Cause, MembersChanged
from kaas.coordinator.answers import JoinAnswer, SyncAnswer
from kaas.coordinator.classic.group import ClassicGroup, Member
from kaas.coordinator.classic.rebalance import join_answer, member_change, prepare_or_complete
from kaas.coordinator.classic.states import State
from kaas.coordinator.classic.sync import stored
from kaas.coordinator.events import Join
from kaas.coordinator.records import MemberReplaced
from kaas.errors import ErrorCode

if TYPE_CHECKING:
    from kaas.coordinator.coordinator import Coordinator


def replace(core: Coordinator, group: ClassicGroup, event: Join, now_ms: int) -> None:
    """Handle the Join of a known instance without a member id."""
    assert event.instance_id is not None
    old = group.members[group.instances[event.instance_id]]
    new = successor(old, event, now_ms)
    if group.state is State.STABLE and vote_stays(group, old, new):
        core.out.persist(
            group.group_id,
            MemberReplaced(old.member_id, stored(new, old.assignment)),
            Replaced(group.group_id, old, new.member_id, event),
        )
        return
    fence(core, group, old, new, event.reason)
    new.is_new = old.is_new
    group.replace(old, new)
    group.park_join(new, event.reply_to)
    swap_timers(core, group, old, new, now_ms)
    detail = {"client_id": new.client_id, "instance_id": new.instance_id, "reason": event.reason}
    cause = Cause(kind="static_member_replaced", member_id=new.member_id, detail=detail)
    prepare_or_complete(core, group, cause, now_ms)


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
        synced=old.synced,
        heard_ms=now_ms,
        joined_at=old.joined_at,
        can_skip_assignment=event.can_skip_assignment,
    )


def vote_stays(group: ClassicGroup, old: Member, new: Member) -> bool:
    """Whether the group would choose the same protocol with the new member in place of the old one."""
    group.replace(old, new)
    same = group.vote() == group.protocol_name
    group.replace(new, old)
    return same


def fence(core: Coordinator, group: ClassicGroup, old: Member, new: Member, reason: str | None) -> None:
    """Whatever the old holder waits for is answered 82, with its own id: it must stop, not join again."""
    token = group.unpark_join(old)
    if token is not None:
        core.out.reply(token, JoinAnswer(code=ErrorCode.FENCED_INSTANCE_ID, member_id=old.member_id))
    if old.parked_sync is not None:
        sync_token, old.parked_sync = old.parked_sync, None
        core.out.reply(sync_token, SyncAnswer(code=ErrorCode.FENCED_INSTANCE_ID))
    core.out.announce(group.group_id, member_change("member_fenced", old))
    core.out.announce(group.group_id, member_change("member_replaced", old, replaced_by=new.member_id, reason=reason))


def swap_timers(core: Coordinator, group: ClassicGroup, old: Member, new: Member, now_ms: int) -> None:
    """Timers of the old id end; a newcomer's five minutes go on under the new one."""
    core.out.cancel_timer(timers.session(group.group_id, old.member_id))
    core.out.cancel_timer(timers.new_member(group.group_id, old.member_id))
    if new.is_new:
        core.out.set_timer(
            timers.new_member(group.group_id, new.member_id), now_ms + core.config.new_member_join_timeout_ms
        )


class Replaced(msgspec.Struct, frozen=True):
    """Answers a replacement in Stable once it is durable, or leaves everything as it was."""

    group_id: str
    old: Member
    new_member_id: str
    event: Join

    def written(self, core: Coordinator, now_ms: int) -> None:
        """The record has been applied, unless the old holder had gone by then: in that case the Join is judged anew."""
        group = core.classic(self.group_id)
        new = None if group is None else group.members.get(self.new_member_id)
        if group is None or new is None:
            core.join(self.event, now_ms)
            return
        new.can_skip_assignment = self.event.can_skip_assignment
        core.out.cancel_timer(timers.session(self.group_id, self.old.member_id))
        core.out.set_timer(
            timers.session(self.group_id, new.member_id), self.old.heard_ms + self.old.session_timeout_ms
        )
        new.heard_ms = self.old.heard_ms
        fence(core, group, self.old, new, self.event.reason)
        if group.state is State.STABLE:
            core.out.reply(self.event.reply_to, stable_answer(group, self.old, new))
            core.out.announce(group.group_id, MembersChanged(member_ids=(self.old.member_id, new.member_id)))
            return
        group.park_join(new, self.event.reply_to)
        core.out.cancel_timer(timers.session(self.group_id, new.member_id))
        cause = Cause(kind="static_member_replaced", member_id=new.member_id, detail={"instance_id": new.instance_id})
        prepare_or_complete(core, group, cause, now_ms)

    def failed(self, core: Coordinator, now_ms: int) -> None:
        """The old id goes on as if nobody had come."""
        core.out.reply(
            self.event.reply_to, JoinAnswer(code=ErrorCode.COORDINATOR_NOT_AVAILABLE, member_id=self.event.member_id)
        )


def stable_answer(group: ClassicGroup, old: Member, new: Member) -> JoinAnswer:
    """The same generation. A leader that can say SkipAssignment is told who is there, so that it watches their topics; one
    that cannot is told its old id as the leader's, so that it does not assign (KIP-814)."""
    if new.member_id != group.leader:
        return join_answer(group, new)
    if new.can_skip_assignment:
        return join_answer(group, new, skip_assignment=True)
    return msgspec.structs.replace(join_answer(group, new), leader=old.member_id, members=())
