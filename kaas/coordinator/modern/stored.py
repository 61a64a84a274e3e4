"""A consumer group as the journal has it: what records add up to, and what a restart brings back.

Job: fold a record into the picture of a group; make the membership in memory of a picture.
Rules: live, memory is ahead of the picture by the records in flight, so a record changes the picture only. A picture is
changed in place, as a record names a few members of many. It is tolerant: who is not there cannot go, and changes to a group of
which nothing is known begin a new picture, because the record before them may have been lost.
Must not know: requests, timers, files.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from kaas.coordinator.modern.group import Member, ModernGroup, ResolvedRegex, keys_of
from kaas.coordinator.records import ConsumerGroupChanged
from kaas.coordinator.topics import Partitions


@dataclass(slots=True, kw_only=True)
class StoredGroup:
    """The fields are those of `ModernGroup` and ConsumerGroupChanged. `at`: wall time of the newest record, ms.
    `number`: of the newest record; `lacks`: one before it was lost, and none has said the whole since."""

    epoch: int
    metadata_hash: int
    target_epoch: int
    target_assignor: str
    at: int
    members: dict[str, Member] = field(default_factory=dict)
    targets: dict[str, Partitions] = field(default_factory=dict)
    regexes: dict[str, ResolvedRegex] = field(default_factory=dict)
    number: int = 0
    lacks: bool = False

    def fold(self, record: ConsumerGroupChanged) -> None:
        """What a record says is so from now on."""
        self.epoch, self.metadata_hash, self.at = record.epoch, record.metadata_hash, record.at
        self.target_epoch, self.target_assignor = record.target_epoch, record.target_assignor
        self.lacks = record.lacks if record.whole else self.lacks or record.number not in (self.number, self.number + 1)
        self.number = record.number
        if record.whole:
            self.members, self.targets, self.regexes = {}, {}, {}
        for member in record.members:
            self.members[member.member_id] = member
        self.targets.update(record.targets)
        for member_id in record.gone:
            self.members.pop(member_id, None)
            self.targets.pop(member_id, None)
        self.regexes.update(record.regexes)
        for pattern in record.regexes_gone:
            self.regexes.pop(pattern, None)

    def record(self) -> ConsumerGroupChanged:
        """The whole of it, as one record."""
        return ConsumerGroupChanged(
            epoch=self.epoch,
            metadata_hash=self.metadata_hash,
            target_epoch=self.target_epoch,
            target_assignor=self.target_assignor,
            at=self.at,
            whole=True,
            members=list(self.members.values()),
            targets=self.targets,
            regexes=self.regexes,
            number=self.number,
            lacks=self.lacks,
        )


def picture_of(record: ConsumerGroupChanged) -> StoredGroup:
    """A picture that begins with this record."""
    picture = StoredGroup(
        epoch=record.epoch,
        metadata_hash=record.metadata_hash,
        target_epoch=record.target_epoch,
        target_assignor=record.target_assignor,
        at=record.at,
        number=record.number,
        lacks=not record.whole,
    )
    picture.fold(record)
    return picture


def restored_group(group_id: str, stored: StoredGroup, wall_offset_ms: int) -> ModernGroup:
    """The membership in memory of a picture. `wall_offset_ms` turns wall time into the clock of `now_ms`."""
    group = ModernGroup(
        group_id=group_id,
        epoch=stored.epoch,
        metadata_hash=stored.metadata_hash,
        target_epoch=stored.target_epoch,
        target_assignor=stored.target_assignor,
        regexes=dict(stored.regexes),
        state_since_ms=stored.at - wall_offset_ms,
        record_number=stored.number,
    )
    for member in undisputed(stored.members):
        holder = group.holder(member.instance_id)
        if holder is not None:  # the record was lost by which the other was replaced
            group.remove(holder.member_id)
        group.put(member)
    group.gained.clear()  # since when is not stored
    group.target = undisputed_targets(group, stored)
    if stored.lacks or not is_as_stored(group, stored):
        group.unsaved = True  # a record was lost: the next one says everything
        group.epoch += 1  # and the next target is made of what there is
    return group


def is_as_stored(group: ModernGroup, stored: StoredGroup) -> bool:
    """Whether nothing had to be left out to make a group of the picture."""
    told = {member_id: stored.targets.get(member_id, {}) for member_id in stored.members}
    return group.members == stored.members and group.target == told and stored.targets.keys() <= told.keys()


def undisputed(members: dict[str, Member]) -> list[Member]:
    """Every partition with one member: of two who hold it, the one with the newer epoch.

    There are two only where the record was lost by which the other let go of it: it did so before the partition was given on.
    """
    holders: dict[tuple[bytes, int], str] = {}
    for member in sorted(members.values(), key=lambda member: member.epoch):
        for held in (member.assigned, member.revoking):
            for topic_id, partitions in held.items():
                holders.update({(topic_id, partition): member.member_id for partition in partitions})
    return [
        msgspec.structs.replace(
            member,
            assigned=held_by(member.member_id, member.assigned, holders),
            revoking=held_by(member.member_id, member.revoking, holders),
        )
        for member in members.values()
    ]


def undisputed_targets(group: ModernGroup, stored: StoredGroup) -> dict[str, Partitions]:
    """What each member is to hold, every partition with one of them. Who is not named is to hold nothing."""
    holders = {key: member_id for member_id, share in stored.targets.items() for key in keys_of(share)}
    return {member_id: held_by(member_id, stored.targets.get(member_id, {}), holders) for member_id in group.members}


def held_by(member_id: str, partitions: Partitions, holders: dict[tuple[bytes, int], str]) -> Partitions:
    """Those of the partitions of which the member is the holder."""
    kept = {
        topic_id: tuple(partition for partition in row if holders[topic_id, partition] == member_id)
        for topic_id, row in partitions.items()
    }
    return {topic_id: row for topic_id, row in kept.items() if row}
