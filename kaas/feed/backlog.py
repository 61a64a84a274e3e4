"""What is still to be published, per group, in bounded memory.

Job: gather announcements between two publications; say what a publication must carry.
Rules: the request path does one lookup and one append. What changes all the time (commits) does not make a group urgent. When
nothing can be published events are dropped and each group keeps one mark that it is out of date.
Must not know: Redis, snapshots.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kaas.coordinator.announcements import Announcement, GroupGone, OffsetsChanged
from kaas.coordinator.offset_entry import OffsetKey
from kaas.feed.announced import members_touched

EVENTS_PER_GROUP = 5_000
"""Beyond this a group's events are dropped and it is published whole: its storm is over before anybody could read it."""


@dataclass(slots=True)
class Changes:
    """What happened to one group since it was published: announcements with their wall times, and what they touched.

    `members` are those that were touched, gone ones among them; `everyone`: all who are there were. `whole`: a patch does not
    do, the group must be published as a snapshot.
    """

    told: list[tuple[int, Announcement]] = field(default_factory=list)
    members: dict[str, None] = field(default_factory=dict)
    everyone: bool = False
    offsets: dict[OffsetKey, None] = field(default_factory=dict)
    commits: int = 0
    whole: bool = False

    def add(self, at: int, what: Announcement) -> None:
        if isinstance(what, OffsetsChanged):
            self.offsets.update(dict.fromkeys(what.partitions))
            if what.kind == "offsets_committed":
                self.commits += 1
                return
        elif isinstance(what, GroupGone):  # a group of the same name that comes after it is another one
            self.whole = True
        else:
            touched = members_touched(what)
            if touched is None:
                self.everyone = True
            else:
                self.members.update(dict.fromkeys(touched))
        if len(self.told) >= EVENTS_PER_GROUP:
            self.told.clear()
            self.whole = True
        self.told.append((at, what))


class Backlog:
    """Groups with something to publish: `urgent` ones at once, the others when their interval is over, and `resting` ones,
    whose last publication was dear, not before they have rested. `marks`: groups that are out of date, nothing more is known.
    """

    def __init__(self) -> None:
        self.changes: dict[str, Changes] = {}
        self.urgent: dict[str, None] = {}
        self.resting: dict[str, None] = {}
        self.marks: dict[str, None] = {}

    def add(self, group_id: str, at: int, what: Announcement) -> bool:
        """Whether the group became urgent by this."""
        changes = self.changes.get(group_id)
        if changes is None:
            changes = self.changes[group_id] = Changes()
        changes.add(at, what)
        if type(what) is OffsetsChanged and what.kind == "offsets_committed":
            return False
        if group_id in self.urgent or group_id in self.resting:
            return False
        self.urgent[group_id] = None
        return True

    def take(self, most: int, *, lazy: bool) -> list[tuple[str, Changes]]:
        """Up to so many groups, urgent ones first; with `lazy` those that are not urgent as well."""
        group_ids = list(self.urgent)[:most]
        if lazy and len(group_ids) < most:
            others = [g for g in self.changes if g not in self.urgent and g not in self.resting]
            group_ids += others[: most - len(group_ids)]
        for group_id in group_ids:
            self.urgent.pop(group_id, None)
        return [(group_id, self.changes.pop(group_id)) for group_id in group_ids]

    def rested(self, group_id: str) -> bool:
        """The group has rested; whether it has something to publish."""
        self.resting.pop(group_id, None)
        if group_id not in self.changes:
            return False
        self.urgent[group_id] = None
        return True

    def forget(self, taken: Iterable[tuple[str, Changes]] = ()) -> None:
        """Publishing failed: keep marks only."""
        self.marks.update(dict.fromkeys(group_id for group_id, _ in taken))
        self.marks.update(dict.fromkeys(self.changes))
        self.changes.clear()
        self.urgent.clear()
