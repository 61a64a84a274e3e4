"""A target assignment while it is made: who got which partition so far, and how much each member has.

Rules: members are numbers here, in the order of their ids, so that nothing depends on who came first. Topics are in the order
of their ids.
Must not know: who should get what.
"""

from __future__ import annotations

from collections.abc import Iterator

from kaas.coordinator.modern.assignors.request import Request
from kaas.coordinator.topics import Partitions

NOBODY = -1


class Draft:
    """`owners`: topic id to the owner of each of its partitions, or NOBODY. `loads`: how many partitions each member has."""

    def __init__(self, request: Request) -> None:
        self.member_ids = sorted(request.members)
        self.members = [request.members[member_id] for member_id in self.member_ids]
        self.owners = {topic: [NOBODY] * request.partitions[topic] for topic in sorted(request.partitions)}
        self.loads = [0] * len(self.members)

    def had(self, member: int) -> Iterator[tuple[bytes, int]]:
        """What the target before gave a member that it may still have: topic id and partition, in their order."""
        subscribed = set(self.members[member].topics)
        for topic, partitions in sorted(self.members[member].target.items()):
            if topic not in subscribed:
                continue
            owners = self.owners[topic]
            for partition in partitions:
                if partition < len(owners) and owners[partition] == NOBODY:
                    yield topic, partition

    def give(self, topic: bytes, partition: int, member: int) -> None:
        """A partition that is free goes to a member."""
        self.owners[topic][partition] = member
        self.loads[member] += 1

    def move(self, topic: bytes, partition: int, member: int) -> None:
        """A partition goes from the member that has it to another one."""
        self.loads[self.owners[topic][partition]] -= 1
        self.give(topic, partition, member)

    def free(self, topic: bytes) -> list[int]:
        """The partitions of a topic that nobody has."""
        return [partition for partition, owner in enumerate(self.owners[topic]) if owner == NOBODY]

    def by_owner(self, topic: bytes) -> dict[int, list[int]]:
        """The partitions of a topic that each member has, rising."""
        held: dict[int, list[int]] = {}
        for partition, owner in enumerate(self.owners[topic]):
            held.setdefault(owner, []).append(partition)
        held.pop(NOBODY, None)
        return held

    def shares(self) -> dict[str, Partitions]:
        """The target assignment."""
        shares: list[Partitions] = [{} for _ in self.members]
        for topic in self.owners:
            for member, partitions in self.by_owner(topic).items():
                shares[member][topic] = tuple(partitions)
        return dict(zip(self.member_ids, shares, strict=True))
