"""What the two kinds of sockets watch: the groups of a list, and one group.

Job: which events each is told, and in what words.
Rules: watches are equal for sockets that are told the same, whoever listens there and whatever page he looks at.
Must not know: sockets, Redis.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from groups.access import Principal, refusal
from groups.choices import Role
from groups.clusters import Cluster
from groups.frames import encoded
from groups.hub import Told
from groups.index import GroupRow
from groups.query import GroupQuery
from groups.rows import actions_refused


@dataclass(frozen=True)
class ListWatch:
    """The groups that a list's filters let pass."""

    question: GroupQuery
    group_id: None = None

    @classmethod
    def of(cls, query: GroupQuery, visible: Callable[[str], bool]) -> ListWatch:
        """What a list watches for somebody who sees these groups."""
        return cls(query.seen_by(visible).without_page())

    def shows(self, told: Told) -> bool:
        """Groups that match or matched; of one without a row before and after, whoever may see it is told."""
        rows = [row for row in (told.before, told.after) if row is not None]
        return any(map(self._matches, rows)) if rows else self.question.visible(told.group_id)

    def text(self, told: Told) -> str:
        return told.list_text

    @cached_property
    def _matches(self) -> Callable[[GroupRow], bool]:
        return self.question.matcher()


@dataclass(frozen=True)
class GroupWatch:
    """One group. `refused` says why these sockets' owners may do nothing with it, null when they may."""

    group_id: str
    refused: str | None

    @classmethod
    def of(cls, principal: Principal, cluster: Cluster, group_id: str) -> GroupWatch:
        """What a group's socket watches for somebody."""
        why = refusal(principal, Role.OPERATE, cluster, group_id)
        return cls(group_id, None if why is None else why.message)

    def shows(self, told: Told) -> bool:
        return told.group_id == self.group_id

    def text(self, told: Told, *, known: bool = False) -> str:
        """`known`: the socket was given a newer description already, so that nothing changes for it."""
        changes = {} if known else told.changes
        if changes and "actions" in changes and self.refused is not None:
            changes = {**changes, "actions": actions_refused(changes["actions"], self.refused)}
        return encoded({"type": "event", "id": told.id, "event": told.event, "changes": changes})
