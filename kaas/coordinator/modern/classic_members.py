"""Members of the classic protocol in a consumer group.

Rules: a consumer group that nobody is in is a classic group for who joins it; its numbers begin anew, its offsets stay.
Source: PROTOCOL 2.2 and 7.3.13 in docs/PROTOCOL.md.
"""

from __future__ import annotations

from kaas.coordinator.answers import JoinAnswer
from kaas.coordinator.classic import join as classic_join
from kaas.coordinator.core import Core
from kaas.coordinator.events import Join
from kaas.coordinator.group import Group
from kaas.errors import ErrorCode


def join(core: Core, group: Group, event: Join, now_ms: int) -> None:
    """Handle a JoinGroup to a consumer group."""
    assert group.modern is not None
    if group.modern.members:
        core.out.reply(
            event.reply_to, JoinAnswer(code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL, member_id=event.member_id)
        )
        return
    group.modern = None
    classic_join.join(core, event, now_ms)
