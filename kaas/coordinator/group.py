"""A group as the coordinator keeps it: its membership, its committed offsets, what transactions have staged.

Job: the record of one group id. A group without members that never had any is a simple group: it is its offsets.
Rules: `deleting` is true from the decision to delete until that is durable; meanwhile the group takes no requests.
Must not know: requests, timers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from kaas.coordinator.classic.group import ClassicGroup
from kaas.coordinator.classic.states import State
from kaas.coordinator.modern.group import ModernGroup
from kaas.coordinator.modern.stored import StoredGroup
from kaas.coordinator.offset_entry import OffsetEntry, OffsetKey, OffsetRows, StagedOffset
from kaas.coordinator.records import GroupEmpty, GroupStable
from kaas.wire.consumer_protocol import PROTOCOL_TYPE

Stored = GroupStable | GroupEmpty | StoredGroup
"""A membership as records add up to it: a classic group with members, one without, a consumer group."""


@dataclass(slots=True)
class Group:
    """`offsets` is topic to partition to entry; `staged` is producer id to what its open transaction would commit, and
    `holders` the producer ids in the order of their partitions, so that nobody looks through all transactions for one.

    `modern` is the membership of a consumer group (KIP-848); while it is there, `classic` is one that nobody has joined.
    `stored` is the membership as it was last made durable, which is what a restart brings back. `reserved` is the highest
    generation that is durable as spent; that of `classic` is ahead of it while a consumer group turns classic. `epoch` and
    `version`: every record of the group up to these is in it.
    """

    group_id: str
    classic: ClassicGroup
    modern: ModernGroup | None = None
    offsets: dict[str, dict[int, OffsetEntry]] = field(default_factory=dict)
    staged: dict[int, dict[OffsetKey, StagedOffset]] = field(default_factory=dict)
    holders: dict[OffsetKey, dict[int, None]] = field(default_factory=dict)
    staged_count: int = 0
    reserved: int = 0
    stored: Stored | None = None
    epoch: int = 0
    version: int = 0
    deleting: bool = False

    # The membership, of whichever protocol

    @property
    def is_empty(self) -> bool:
        """Whether nobody is in it."""
        return self.classic.state is State.EMPTY if self.modern is None else not self.modern.members

    @property
    def state(self) -> str:
        """In the words of Kafka."""
        return self.classic.state.value if self.modern is None else self.modern.state.value

    @property
    def state_since_ms(self) -> int:
        """On the clock of `now_ms`."""
        return self.classic.state_since_ms if self.modern is None else self.modern.state_since_ms

    @property
    def protocol_type(self) -> str:
        """Empty for a group that never had members."""
        return self.classic.protocol_type if self.modern is None else PROTOCOL_TYPE

    def subscribed(self) -> frozenset[str] | None:
        """Topics that a member subscribes to; null means every topic, as the subscription of one cannot be read."""
        return self.classic.subscribed() if self.modern is None else self.modern.subscribed()

    # Offsets

    def reserve(self, generation: int) -> None:
        """No generation up to this one will be given again, and that is durable."""
        self.reserved = max(self.reserved, generation)
        self.classic.reserved = max(self.classic.reserved, generation)

    def offset(self, topic: str, partition: int) -> OffsetEntry | None:
        partitions = self.offsets.get(topic)
        return None if partitions is None else partitions.get(partition)

    def keys(self) -> list[OffsetKey]:
        """Every partition with a committed offset."""
        return [(topic, partition) for topic, partitions in self.offsets.items() for partition in partitions]

    def put(self, topic: str, partition: int, entry: OffsetEntry) -> None:
        self.offsets.setdefault(topic, {})[partition] = entry

    def put_all(self, rows: OffsetRows) -> None:
        """As `put`; rows of one topic stand together."""
        last, offsets = None, self.offsets
        for topic, partition, entry in rows:
            if topic is not last:
                if topic not in offsets:
                    offsets[topic] = {}
                last, partitions = topic, offsets[topic]
            partitions[partition] = entry

    def drop(self, topic: str, partition: int) -> bool:
        """Whether there was an offset to drop."""
        partitions = self.offsets.get(topic)
        if partitions is None or partitions.pop(partition, None) is None:
            return False
        if not partitions:
            del self.offsets[topic]
        return True

    def stage(self, producer_id: int, epoch: int, topic: str, partition: int, entry: OffsetEntry) -> None:
        """What a transaction says last of a partition counts."""
        self.staged_count += 1
        self.staged.setdefault(producer_id, {})[topic, partition] = StagedOffset(entry, epoch, self.staged_count)
        self.holders.setdefault((topic, partition), {})[producer_id] = None

    def overtake(self, topic: str, partition: int, *, before: int | None = None) -> None:
        """An offset of this partition was committed: what was staged earlier (of all, or below a number) will not count."""
        key = (topic, partition)
        for producer_id in self.holders.get(key, ()):
            one = self.staged[producer_id][key]
            if not one.overtaken and (before is None or one.number < before):
                self.staged[producer_id][key] = msgspec.structs.replace(one, overtaken=True)

    def unstage(self, producer_id: int, *, committed: bool) -> None:
        """A transaction has ended: what it staged comes in, unless it was overtaken, or is dropped."""
        for key, one in self.staged.pop(producer_id, {}).items():
            del self.holders[key][producer_id]
            if not self.holders[key]:
                del self.holders[key]
            if committed and not one.overtaken:
                self.put(*key, one.entry)
                self.overtake(*key, before=one.number)

    def drop_staged(self, topic: str, partition: int) -> None:
        """The partition's offsets are deleted, those that are staged as well."""
        for producer_id in self.holders.pop((topic, partition), ()):
            staged = self.staged[producer_id]
            del staged[topic, partition]
            if not staged:
                del self.staged[producer_id]

    def forget_staged(self) -> None:
        """No transaction holds anything here."""
        self.staged.clear()
        self.holders.clear()


def new_group(group_id: str) -> Group:
    """A group that nobody has joined: Empty, generation 0."""
    return Group(group_id, ClassicGroup(group_id=group_id))
