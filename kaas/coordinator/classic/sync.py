"""SyncGroup: the leader hands out assignments, everyone asks for theirs.

Job: park Syncs until the leader's is there and durable; answer from what is known in Stable.
Rules: only the leader's assignments count, and only its first ones of a generation. Members that it left out get an empty
assignment: zero bytes, or, for consumers, one that decodes to no partitions, as several clients cannot decode zero bytes.
Source: PROTOCOL 2.3 in docs/PROTOCOL.md; the decodable empty assignment is a decision of ours (docs/decisions).
"""

from __future__ import annotations

import msgspec

from kaas.coordinator import timers
from kaas.coordinator.announcements import Cause, MembersChanged
from kaas.coordinator.answers import SyncAnswer
from kaas.coordinator.classic.checks import check_generation, check_member
from kaas.coordinator.classic.group import ClassicGroup, Member
from kaas.coordinator.classic.members import refuse_sync, restart_session, stop_session
from kaas.coordinator.classic.rebalance import enter, finish, prepare_or_complete, refuse_syncs
from kaas.coordinator.classic.states import TABLE, State
from kaas.coordinator.core import Core
from kaas.coordinator.events import Sync
from kaas.coordinator.records import GroupStable, StoredMember
from kaas.errors import ErrorCode
from kaas.wire.consumer_protocol import EMPTY_ASSIGNMENT, PROTOCOL_TYPE


def sync(core: Core, event: Sync, now_ms: int) -> None:
    """Handle a SyncGroup."""
    group = core.classic(event.group_id)
    code = check_sync(core, group, event)
    if code or group is None:
        core.out.reply(event.reply_to, SyncAnswer(code=code))
        return
    member = group.members[event.member_id]
    mark_synced(core, group, member)
    if group.state is State.STABLE:
        core.out.reply(event.reply_to, sync_answer(group, member))
        return
    park(core, group, member, event)
    if member.member_id == group.leader and not group.assignment_in_flight:
        persist_assignments(core, group, event, now_ms)


def check_sync(core: Core, group: ClassicGroup | None, event: Sync) -> ErrorCode:
    """From who asks to what it asks for; a wrong protocol is told last, as everything else makes it moot."""
    if event.protocol_missing:  # v5 must name type and protocol (KIP-559)
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if not event.group_id:
        return ErrorCode.INVALID_GROUP_ID
    if (code := core.unavailable(event.group_id)) is not ErrorCode.NONE:
        return code
    if group is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if code := check_member(group, event.member_id, event.instance_id):
        return code
    if code := check_generation(group, event.generation):
        return code
    if event.protocol_type not in (None, group.protocol_type) or event.protocol_name not in (None, group.protocol_name):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    return TABLE[group.state].sync or ErrorCode.NONE


def mark_synced(core: Core, group: ClassicGroup, member: Member) -> None:
    """The timer that looks for members who never sync goes when all have."""
    if not member.synced:
        group.mark_synced(member)
        core.out.announce(group.group_id, MembersChanged(member_ids=(member.member_id,)))
        if not group.unsynced_count:
            core.out.cancel_timer(timers.sync(group.group_id))


def park(core: Core, group: ClassicGroup, member: Member, event: Sync) -> None:
    """Wait for the leader. An older Sync of the same member is sent back."""
    refuse_sync(core, member, ErrorCode.REBALANCE_IN_PROGRESS)
    member.parked_sync = event.reply_to
    stop_session(core, group, member)


def sync_answer(group: ClassicGroup, member: Member) -> SyncAnswer:
    return SyncAnswer(
        code=ErrorCode.NONE,
        assignment=member.assignment,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
    )


def persist_assignments(core: Core, group: ClassicGroup, event: Sync, now_ms: int) -> None:
    """Make the generation with its assignments durable; strangers in the leader's list are dropped."""
    nothing = EMPTY_ASSIGNMENT if group.protocol_type == PROTOCOL_TYPE else b""
    members = [stored(m, event.assignments.get(m.member_id) or nothing) for m in group.members.values()]
    assert group.leader is not None
    record = GroupStable(
        group.generation, group.protocol_type, group.protocol_name, group.leader, members, core.wall_ms(now_ms)
    )
    group.assignment_in_flight = True
    core.out.persist(group.group_id, record, AssignmentWritten(group.group_id, group.generation))


def stored(member: Member, assignment: bytes) -> StoredMember:
    """A member as the journal keeps it."""
    return StoredMember(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        member.session_timeout_ms,
        member.rebalance_timeout_ms,
        member.protocols,
        assignment,
        member.joined_at,
    )


def is_current(group: ClassicGroup | None, generation: int) -> bool:
    """Whether a generation is the one that waits for its assignments; another event may have overtaken the write."""
    return group is not None and group.state is State.COMPLETING_REBALANCE and group.generation == generation


class AssignmentWritten(msgspec.Struct, frozen=True):
    """Makes the group Stable and answers everyone, or starts over."""

    group_id: str
    generation: int

    def written(self, core: Core, now_ms: int) -> None:
        """The record has been applied: the members have their assignments."""
        group = core.classic(self.group_id)
        if group is None or not is_current(group, self.generation):
            return
        group.assignment_in_flight = False
        enter(core, group, State.STABLE, now_ms)
        for member in group.members.values():
            if member.parked_sync is not None:
                token, member.parked_sync = member.parked_sync, None
                restart_session(core, group, member, now_ms)
                core.out.reply(token, sync_answer(group, member))
        finish(core, group, "stable", now_ms)
        core.out.announce(self.group_id, MembersChanged(member_ids=None))

    def failed(self, core: Core, now_ms: int) -> None:
        """Assignments that a crash would forget are not handed out."""
        group = core.classic(self.group_id)
        if group is None or not is_current(group, self.generation):
            return
        group.assignment_in_flight = False
        refuse_syncs(core, group, ErrorCode.COORDINATOR_NOT_AVAILABLE, now_ms)
        cause = Cause(kind="assignment_failed", member_id=group.leader, detail={"reason": "the disk refused the write"})
        prepare_or_complete(core, group, [cause], now_ms)
