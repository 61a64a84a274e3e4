"""Heartbeat: a member is alive, and hears whether it must come back.

Rules: while the state is still being read the answer is 0, because 14 makes some clients stop beating for ever; a heartbeat
while assignments are on their way is good (KAFKA-10134).
Source: PROTOCOL 2.4 in docs/PROTOCOL.md.
"""

from __future__ import annotations

from kaas.coordinator.classic.checks import check_generation, check_member
from kaas.coordinator.classic.members import heard
from kaas.coordinator.classic.states import TABLE
from kaas.coordinator.core import Core
from kaas.coordinator.events import Heartbeat
from kaas.errors import ErrorCode


def heartbeat(core: Core, event: Heartbeat, now_ms: int) -> None:
    """Handle a Heartbeat; the session of a member whose group, id and generation are right begins anew."""
    core.out.reply(event.reply_to, beat(core, event, now_ms))


def beat(core: Core, event: Heartbeat, now_ms: int) -> ErrorCode:
    """The answer."""
    if not event.group_id:
        return ErrorCode.INVALID_GROUP_ID
    code, found = core.find(event.group_id)
    if code:
        return ErrorCode.NONE if code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS else code
    if found is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    group = found.classic
    if code := check_member(group, event.member_id, event.instance_id):
        return code
    if code := check_generation(group, event.generation):
        return code
    heard(core, group, group.members[event.member_id], now_ms)
    return TABLE[group.state].heartbeat
