"""The end of a group here: it was deleted, has expired, or is another broker's.

Must not know: which of these it is.
"""

from __future__ import annotations

from kaas.coordinator.announcements import StateChanged
from kaas.coordinator.classic import rebalance
from kaas.coordinator.classic.states import State
from kaas.coordinator.core import Core
from kaas.coordinator.group import Group


def end(core: Core, group: Group, now_ms: int) -> None:
    """Nothing about the group happens any more, and the feed is told that it is Dead."""
    core.forget_timers(group)
    if group.modern is None:
        rebalance.enter(core, group.classic, State.DEAD, now_ms)
    else:
        core.out.announce(group.group_id, StateChanged(before=group.state, after=State.DEAD.value))
