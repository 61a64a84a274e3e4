"""A group as the coordinator keeps it: its membership, its committed offsets, what transactions have staged.

Job: the record of one group id. A group without members that never had any is a simple group: it is its offsets.
Rules: `deleting` is true from the decision to delete until that is durable; meanwhile the group takes no requests.
Must not know: requests, timers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kaas.coordinator.classic.group import ClassicGroup
from kaas.coordinator.offset_entry import OffsetEntry, OffsetKey
from kaas.coordinator.records import GroupEmpty, GroupStable


@dataclass(slots=True)
class Group:
    """`offsets` is topic to partition to entry; `staged` is producer id to what its open transaction would commit.

    `stored` is the membership as it was last made durable, which is what a restart brings back. `epoch` and `version`: every
    record of the group up to these is in it.
    """

    group_id: str
    classic: ClassicGroup
    offsets: dict[str, dict[int, OffsetEntry]] = field(default_factory=dict)
    staged: dict[int, dict[OffsetKey, OffsetEntry]] = field(default_factory=dict)
    stored: GroupStable | GroupEmpty | None = None
    epoch: int = 0
    version: int = 0
    deleting: bool = False

    def offset(self, topic: str, partition: int) -> OffsetEntry | None:
        partitions = self.offsets.get(topic)
        return None if partitions is None else partitions.get(partition)

    def keys(self) -> list[OffsetKey]:
        """Every partition with a committed offset."""
        return [(topic, partition) for topic, partitions in self.offsets.items() for partition in partitions]

    def put(self, topic: str, partition: int, entry: OffsetEntry) -> None:
        self.offsets.setdefault(topic, {})[partition] = entry

    def drop(self, topic: str, partition: int) -> bool:
        """Whether there was an offset to drop."""
        partitions = self.offsets.get(topic)
        if partitions is None or partitions.pop(partition, None) is None:
            return False
        if not partitions:
            del self.offsets[topic]
        return True


def new_group(group_id: str) -> Group:
    """A group that nobody has joined: Empty, generation 0."""
    return Group(group_id, ClassicGroup(group_id=group_id))
