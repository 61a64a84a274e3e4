"""A consumer group comes back from disk: its members go on as they were, with a full session and all their time to let go.

Source: PROTOCOL 3.6 and 4.2 in docs/PROTOCOL.md.
"""

from __future__ import annotations

from kaas.coordinator import timers
from kaas.coordinator.core import Core
from kaas.coordinator.modern.group import ModernGroup
from kaas.coordinator.modern.sessions import heard


def loaded(core: Core, group: ModernGroup, now_ms: int) -> None:
    """The timers of a group that was read, and what a rebalance begins with."""
    for member in group.members.values():
        heard(core, group, member, now_ms)
        if member.revoking and member.classic is None:
            key = timers.revocation(group.group_id, member.member_id)
            core.out.set_timer(key, now_ms + member.rebalance_timeout_ms)
    group.settled = {member_id: member.assigned for member_id, member in group.members.items()}
    group.settled_epoch = group.epoch
