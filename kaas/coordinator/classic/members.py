"""What happens to one member: it is heard, it waits, it is sent back, it goes.

Job: a member's session and its parked requests, kept in step whatever the reason.
Rules: a session runs exactly while nothing of the member is parked: who waits for us cannot speak. A member goes by one way,
which ends its timers and answers whatever it waits for.
Must not know: why a member goes, what its group does about it.
Source: PROTOCOL 3.2 and 7.1 in docs/PROTOCOL.md.
"""

from __future__ import annotations

from kaas.coordinator import timers
from kaas.coordinator.announcements import member_change
from kaas.coordinator.answers import JoinAnswer, SyncAnswer
from kaas.coordinator.classic.group import NOT_SET, ClassicGroup, Member
from kaas.coordinator.core import Core
from kaas.errors import ErrorCode


def heard(core: Core, group: ClassicGroup, member: Member, now_ms: int) -> None:
    """A request showed that the member lives. Nothing to do for one that waits: its session does not run."""
    if member.parked_join is None and member.parked_sync is None:
        restart_session(core, group, member, now_ms)


SESSION_STEP_MS = 100
"""A session that began anew less than this ago is not set again: a member that commits a hundred times a second would set its
timer as often. `session_left_ms` makes good for that when the timer is due."""


def restart_session(core: Core, group: ClassicGroup, member: Member, now_ms: int) -> None:
    """The member's session begins anew."""
    member.heard_ms = now_ms
    if now_ms >= member.session_set_ms + SESSION_STEP_MS:
        set_session(core, group, member, now_ms, member.session_timeout_ms)


def set_session(core: Core, group: ClassicGroup, member: Member, now_ms: int, length_ms: int) -> None:
    """The member's session ends so long from now if nothing more is heard of it."""
    member.session_set_ms = now_ms
    core.out.set_timer(timers.session(group.group_id, member.member_id), now_ms + length_ms)


def session_left_ms(member: Member, now_ms: int) -> int:
    """How long the session still lasts whose timer is due: the member may have been heard since it was set."""
    if member.heard_ms <= member.session_set_ms:
        return 0
    return max(member.heard_ms + member.session_timeout_ms - now_ms, 0)


def stop_session(core: Core, group: ClassicGroup, member: Member) -> None:
    """The member waits for us, or is gone."""
    member.session_set_ms = NOT_SET
    core.out.cancel_timer(timers.session(group.group_id, member.member_id))


def refuse_join(core: Core, group: ClassicGroup, member: Member, code: ErrorCode, member_id: str) -> None:
    """Answer the member's parked Join, if there is one, with an error."""
    token = group.unpark_join(member)
    if token is not None:
        core.out.reply(token, JoinAnswer(code=code, member_id=member_id))


def refuse_sync(core: Core, member: Member, code: ErrorCode) -> None:
    """Answer the member's parked Sync, if there is one, with an error."""
    token, member.parked_sync = member.parked_sync, None
    if token is not None:
        core.out.reply(token, SyncAnswer(code=code))


def remove_member(core: Core, group: ClassicGroup, member: Member, *, kind: str, **more: str | int | None) -> None:
    """Take a member out, with its timers; whatever it waits for is answered that it is unknown.

    A parked Join names no member: the id it was sent with is gone. (Apache leaves a parked Sync hanging.)
    """
    refuse_join(core, group, member, ErrorCode.UNKNOWN_MEMBER_ID, "")
    refuse_sync(core, member, ErrorCode.UNKNOWN_MEMBER_ID)
    group.remove(member.member_id)
    stop_session(core, group, member)
    core.out.cancel_timer(timers.new_member(group.group_id, member.member_id))
    core.out.announce(group.group_id, member_change(kind, member, **more))


def send_away(core: Core, group: ClassicGroup, code: ErrorCode) -> None:
    """Everyone who waits is answered, because nobody here will answer them later."""
    for member in group.members.values():
        refuse_join(core, group, member, code, member.member_id)
        refuse_sync(core, member, code)
