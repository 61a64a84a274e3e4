"""Who may commit and ask for the offsets of a consumer group.

Rules: a member speaks with its epoch. What it says with an older one counts for partitions that it has had since then, as a
group changes its epochs while its members commit (KIP-1251); nobody may commit while there are members, save in a transaction.
Must not know: what is committed, how it is kept.
Source: PROTOCOL 2.6-2.8, 7.2.7, 7.3.8 and 7.3.9 in docs/PROTOCOL.md; KAFKA-18060 (transactions of nobody), KAFKA-20066.
"""

from __future__ import annotations

from kaas.coordinator.events import Commit, StageOffsets
from kaas.coordinator.modern.group import Member, ModernGroup
from kaas.coordinator.offset_entry import OffsetRows
from kaas.coordinator.topics import Topics
from kaas.errors import ErrorCode


def check_commit(group: ModernGroup, topics: Topics, event: Commit) -> ErrorCode:
    """Whether an OffsetCommit is taken: the member first, then the version, then the epoch."""
    if event.generation < 0 and not group.members:
        return ErrorCode.NONE
    member = group.members.get(event.member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if member.classic is None and not event.modern:
        return ErrorCode.UNSUPPORTED_VERSION
    code = check_epoch(member, event.generation)
    if code is ErrorCode.STALE_MEMBER_EPOCH and has_had_since(group, topics, member, event.generation, event.rows):
        return ErrorCode.NONE
    return code


def check_epoch(member: Member, epoch: int) -> ErrorCode:
    """Members of either protocol hear of a wrong epoch in their own words."""
    if epoch == member.epoch:
        return ErrorCode.NONE
    return ErrorCode.STALE_MEMBER_EPOCH if member.classic is None else ErrorCode.ILLEGAL_GENERATION


def has_had_since(group: ModernGroup, topics: Topics, member: Member, epoch: int, rows: OffsetRows) -> bool:
    """Whether a member has held all of these partitions since an epoch that it had."""
    if not 0 <= epoch <= member.epoch:
        return False
    for name, partition, _ in rows:
        topic = topics.by_name.get(name)
        key = (b"" if topic is None else topic.topic_id, partition)
        if group.owners.get(key) != member.member_id or group.gained.get(key, member.epoch) > epoch:
            return False
    return bool(rows)


def check_stage(group: ModernGroup, event: StageOffsets) -> ErrorCode:
    """Whether a TxnOffsetCommit is taken, of a member or of nobody; it has no code of KIP-848 for a wrong epoch."""
    nobody = not event.member_id and event.instance_id is None
    if event.generation < 0 and (nobody or not group.members):
        return ErrorCode.NONE
    member = group.members.get(event.member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return ErrorCode.NONE if event.generation == member.epoch else ErrorCode.ILLEGAL_GENERATION


def check_fetch(group: ModernGroup, member_id: str | None, epoch: int) -> ErrorCode:
    """Whether an OffsetFetch is answered that names a member. (Apache fails on an epoch without a member.)"""
    if member_id is None:
        return ErrorCode.NONE if epoch < 0 else ErrorCode.UNKNOWN_SERVER_ERROR
    member = group.members.get(member_id)
    return ErrorCode.UNKNOWN_MEMBER_ID if member is None else check_epoch(member, epoch)
