"""Whether everything that people see of a group changes only with an announcement.

The feed makes a new publication of a group when something is announced of it. Whatever changed without that would stay wrong on
every screen until the next announcement.
"""

from __future__ import annotations

from typing import Any

import msgspec

from kaas.coordinator.announcements import Announcement, Cause, MemberChange, RebalanceStarted
from kaas.coordinator.coordinator import Coordinator
from kaas.coordinator.group import Group
from kaas.feed.types import CAUSES, KINDS
from kaas.feed.views import header, member_views

EVERY = 8
"""Events between two looks."""


class Watch:
    """`seen`: what was shown of a group at the last look, if nothing was announced since."""

    def __init__(self, core: Coordinator) -> None:
        self.core = core
        self.seen: dict[str, Any] = {}
        self.dirty: dict[str, None] = {}
        self.events = 0

    def announced(self, group_id: str, what: Announcement) -> None:
        if isinstance(what, MemberChange):
            assert what.kind in KINDS
        elif isinstance(what, RebalanceStarted):
            check_cause(what.cause)
        self.seen.pop(group_id, None)
        self.dirty[group_id] = None

    def touched(self) -> list[str]:
        """Groups of which something was announced; now and then all are looked at."""
        touched = list(self.dirty)
        self.dirty.clear()
        self.events += 1
        if self.events % EVERY == 0:
            for group_id, group in self.core.groups.items():
                self._look(group_id, group)
            touched = [*self.core.groups]
        return touched

    def _look(self, group_id: str, group: Group) -> None:
        shown = (
            header(group, 0, None),
            [
                msgspec.structs.replace(view, last_heartbeat_at=0)
                for view in member_views(group, self.core.topics, 45_000, 0).values()
            ],
        )
        before = self.seen.setdefault(group_id, shown)
        assert shown == before, f"{group_id!r} changed and nothing was announced: {differing(before, shown)}"


def differing(before: Any, after: Any) -> list[Any]:
    """The parts of two views that are not the same."""
    (header_before, members_before), (header_after, members_after) = before, after
    names = {**header_before, **header_after}
    fields = [(name, header_before.get(name), header_after.get(name)) for name in names]
    pairs = [*fields, *zip(("member" for _ in members_after), members_before, members_after, strict=False)]
    return [pair for pair in pairs if pair[1] != pair[2]]


def check_cause(cause: Cause) -> None:
    assert cause.kind in CAUSES, cause
