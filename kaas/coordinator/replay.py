"""Records into state: the one place where durable facts are applied, live and at a restart alike.

How it works: offsets are what records say. Of a membership the records add up to a picture (`stored`): live, memory is ahead of
it by what is in flight, and takes from a record only what waited for it; at a restart, memory is made of the picture once all
records are in it (`restore`).
Rules: applying a record is absolute and tolerant: what is not there cannot be removed and that is no fault, because a journal
may begin in the middle of a group's life. The newest record counts: a group that changed its protocol may number its
generations anew.
Must not know: requests, timers, effects.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from kaas.coordinator.classic.group import ClassicGroup, Member
from kaas.coordinator.classic.states import State
from kaas.coordinator.group import Group, new_group
from kaas.coordinator.modern.stored import StoredGroup, picture_of, restored_group
from kaas.coordinator.records import (
    ConsumerGroupChanged,
    GenerationReserved,
    GroupDeleted,
    GroupEmpty,
    GroupStable,
    MemberReplaced,
    OffsetsCommitted,
    OffsetsDeleted,
    OffsetsStaged,
    Record,
    StagedEnded,
    StoredMember,
)


def apply(groups: dict[str, Group], group_id: str, record: Record | None, wall_offset_ms: int) -> Group | None:
    """Put one record into the state; the group, if it is there afterwards. `wall_offset_ms` turns wall time into the clock of
    `now_ms`. What is no group's record (null, one of a transactional id) changes nothing."""
    kind = type(record)
    applier = APPLIERS.get(kind)
    if applier is None:
        if kind is GroupDeleted:
            groups.pop(group_id, None)
        return None
    group = groups.get(group_id)
    if group is None:
        if kind in MAKE_NO_GROUP:
            return None
        group = groups[group_id] = new_group(group_id)
    applier(group, record, wall_offset_ms)
    return group


MAKE_NO_GROUP = (OffsetsDeleted, StagedEnded, MemberReplaced)
"""Records about what is there; a group that is gone stays so."""


def apply_committed(group: Group, record: OffsetsCommitted, wall_offset_ms: int) -> None:
    group.put_all(record.offsets)
    if group.staged:
        for topic, partition, _ in record.offsets:
            group.overtake(topic, partition)


def apply_deleted(group: Group, record: OffsetsDeleted, wall_offset_ms: int) -> None:
    for topic, partition in record.partitions:
        group.drop(topic, partition)
        if group.staged and record.why != "expired":
            group.drop_staged(topic, partition)


def apply_staged(group: Group, record: OffsetsStaged, wall_offset_ms: int) -> None:
    for topic, partition, entry in record.offsets:
        group.stage(record.producer_id, record.epoch, topic, partition, entry)


def apply_ended(group: Group, record: StagedEnded, wall_offset_ms: int) -> None:
    group.unstage(record.producer_id, committed=record.committed)


def apply_reserved(group: Group, record: GenerationReserved, wall_offset_ms: int) -> None:
    group.reserve(record.generation)


def apply_stable(group: Group, record: GroupStable, wall_offset_ms: int) -> None:
    """Members with their assignments, which the generation that waits for them may have now."""
    group.stored = record
    group.reserve(record.generation)
    classic = group.classic
    if classic.state is State.COMPLETING_REBALANCE and classic.generation == record.generation:
        for row in record.members:
            if row.member_id in classic.members:
                classic.members[row.member_id].assignment = row.assignment
        classic.assigned = assigned_of(record)


def assigned_of(record: GroupStable) -> dict[str, bytes]:
    return {row.member_id: row.assignment for row in record.members}


def apply_empty(group: Group, record: GroupEmpty, wall_offset_ms: int) -> None:
    """Nobody. Live, the group was Empty before this was written, and may have gone on."""
    group.stored = record
    group.reserve(record.generation)


def apply_replaced(whole: Group, record: MemberReplaced, wall_offset_ms: int) -> None:
    """A static member under its new id, if the group is still Stable and the old one still there."""
    if isinstance(whole.stored, GroupStable):
        whole.stored = with_replacement(whole.stored, record)
    group = whole.classic
    old = group.members.get(record.old_member_id)
    if group.state is not State.STABLE or old is None:
        return
    new = restored(record.member)
    new.assignment = old.assignment
    new.synced = old.synced
    group.replace(old, new)
    group.assigned = {new.member_id if m == old.member_id else m: share for m, share in group.assigned.items()}


def with_replacement(stored: GroupStable, record: MemberReplaced) -> GroupStable:
    """The stored membership with one member under its new id, which keeps the old one's assignment."""
    members = []
    for row in stored.members:
        taken_over = row.member_id == record.old_member_id
        members.append(msgspec.structs.replace(record.member, assignment=row.assignment) if taken_over else row)
    leader = record.member.member_id if stored.leader == record.old_member_id else stored.leader
    return msgspec.structs.replace(stored, members=members, leader=leader)


def apply_changed(group: Group, record: ConsumerGroupChanged, wall_offset_ms: int) -> None:
    """A consumer group; a classic one that was before is no more."""
    if isinstance(group.stored, StoredGroup):
        group.stored.fold(record)
    else:
        group.stored = picture_of(record)


APPLIERS: dict[type, Callable[[Group, Any, int], None]] = {
    OffsetsCommitted: apply_committed,
    OffsetsDeleted: apply_deleted,
    OffsetsStaged: apply_staged,
    StagedEnded: apply_ended,
    GenerationReserved: apply_reserved,
    GroupStable: apply_stable,
    GroupEmpty: apply_empty,
    MemberReplaced: apply_replaced,
    ConsumerGroupChanged: apply_changed,
}


def restore(group: Group, wall_offset_ms: int) -> None:
    """Make the membership in memory of what is durable of it: once at a restart, when every record has been applied."""
    stored = group.stored
    group.classic = ClassicGroup(group_id=group.group_id, reserved=group.reserved)
    group.modern = None
    if isinstance(stored, StoredGroup):
        group.modern = restored_group(group.group_id, stored, wall_offset_ms)
    elif stored is not None:
        restore_classic(group.classic, stored, wall_offset_ms)


def restore_classic(group: ClassicGroup, stored: GroupStable | GroupEmpty, wall_offset_ms: int) -> None:
    group.generation, group.protocol_type = stored.generation, stored.protocol_type
    group.state_since_ms = stored.at - wall_offset_ms
    if isinstance(stored, GroupEmpty):
        return
    group.protocol_name = stored.protocol_name
    for row in stored.members:
        group.add(restored(row))
    group.assigned = assigned_of(stored)
    group.leader = stored.leader if stored.leader in group.members else group.leader
    group.state = State.STABLE if group.members else State.EMPTY


def restored(row: StoredMember) -> Member:
    """A member as it was when it was written."""
    return Member(
        member_id=row.member_id,
        instance_id=row.instance_id,
        client_id=row.client_id,
        client_host=row.client_host,
        session_timeout_ms=row.session_timeout_ms,
        rebalance_timeout_ms=row.rebalance_timeout_ms,
        protocols=tuple((name, metadata) for name, metadata in row.protocols),
        assignment=row.assignment,
        synced=True,
        joined_at=row.joined_at,
    )
