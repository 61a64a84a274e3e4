"""A classic group becomes one of consumers: the first heartbeat of KIP-848 asks for it.

Job: say whether the group can be upgraded, and make the membership that it then has; put that in the place of the classic one.
Rules: a group that nobody is in changes its protocol without further questions, and its numbers begin anew; its offsets stay.
Must not know: what the heartbeat wants beside that.
Source: PROTOCOL 4.6, 7.3.4 and 7.3.13 in docs/PROTOCOL.md.
"""

from __future__ import annotations

from kaas.coordinator.classic.group import ClassicGroup
from kaas.coordinator.classic.states import State
from kaas.coordinator.core import Core
from kaas.coordinator.events import ConsumerHeartbeat
from kaas.coordinator.group import Group
from kaas.coordinator.modern.checks import Refusal, refusal
from kaas.coordinator.modern.group import ModernGroup
from kaas.errors import ErrorCode


def upgraded(core: Core, group: Group, event: ConsumerHeartbeat) -> ModernGroup | Refusal:
    """The membership that the group would have, or why it stays classic. Nothing has changed yet."""
    if group.classic.state is State.EMPTY:
        return ModernGroup(group_id=group.group_id)
    return refusal(ErrorCode.GROUP_ID_NOT_FOUND, f"{event.group_id!r} is a classic group with members.")


def take_over(core: Core, group: Group, modern: ModernGroup, now_ms: int) -> None:
    """The group has this membership from now on; the record that says so is the caller's."""
    core.forget_timers(group)
    group.classic = ClassicGroup(group_id=group.group_id, reserved=group.classic.reserved)
    group.modern = modern
