"""The two checkpoint files of a group: its offsets, and its membership.

Job: state to JSON and back to records, so that a load runs the same `replay.apply` as live changes do.
Shape: `<data>/__cluster/__consumer_offsets/<name>.json` and `<data>/__cluster/__groups/<name>.json`; both carry
`coordinator_epoch` and `version` of the newest record they cover. Keys of offsets are "topic/partition", split at
the last slash. Bytes are base64.
Rules: a file of the older form (only `offsets` and `metadata`) loads as epoch 0, version 0, its group id being its
name, its commits being as old as the file. A file that does not parse is never "no offsets": `Unreadable` says what
is wrong.
Must not know: when to write, what to do about an unreadable file.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import msgspec

from kaas.coordinator.group import Stored
from kaas.coordinator.modern.stored import StoredGroup
from kaas.coordinator.offset_entry import OffsetEntry, OffsetKey, OffsetRows, StagedOffset
from kaas.coordinator.records import (
    ConsumerGroupChanged,
    GroupEmpty,
    GroupStable,
    OffsetsCommitted,
    OffsetsStaged,
    StoredMember,
)
from kaas.storage.consumer_group_files import TYPE, ConsumerGroupFile, file_of, stored_of
from kaas.storage.names import id_of_stem

OFFSETS_FOLDER = "__consumer_offsets"
GROUPS_FOLDER = "__groups"
SUFFIX = ".json"


class Unreadable(Exception):
    """A checkpoint file that cannot be understood."""


class StagedFile(msgspec.Struct, kw_only=True, omit_defaults=True):
    """An offset that an open transaction would commit. `overtaken`: a newer one has been committed since."""

    producer_id: int
    producer_epoch: int
    partition: str
    offset: int
    leader_epoch: int = -1
    metadata: str = ""
    commit_time: int
    topic_id: str | None = None
    overtaken: bool = False


class OffsetsFile(msgspec.Struct, kw_only=True, omit_defaults=True):
    """`leader_epochs`, `commit_times` (ms), `expire_times` (ms) and `topic_ids` (hex) have the partitions that have
    one. `staged` is in the order in which it was staged.
    """

    coordinator_epoch: int = 0
    version: int = 0
    group_id: str | None = None
    offsets: dict[str, int]
    metadata: dict[str, str] = {}
    leader_epochs: dict[str, int] = {}
    commit_times: dict[str, int] = {}
    expire_times: dict[str, int] = {}
    topic_ids: dict[str, str] = {}
    staged: list[StagedFile] = []


class MemberFile(msgspec.Struct, kw_only=True):
    """A member in a group-state file."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: list[tuple[str, bytes]]
    assignment: bytes
    joined_at: int


class GroupFile(msgspec.Struct, kw_only=True):
    """A classic group's membership as of the last Stable or Empty; with `deleted_at`, the tombstone of a group that is gone."""

    coordinator_epoch: int
    version: int
    group_id: str
    state: str
    generation: int
    reserved_generation: int
    protocol_type: str
    protocol_name: str
    leader: str
    at: int
    members: list[MemberFile] = []
    is_shared_out: bool = True
    deleted_at: int | None = None
    deleted_why: str | None = None


class Kind(msgspec.Struct):
    """Which of the two forms a group-state file has; those of before there were two have no word for it."""

    type: str = "classic"


class Head(msgspec.Struct):
    """What decides which of two checkpoints is newer."""

    coordinator_epoch: int = 0
    version: int = 0

    @property
    def order(self) -> tuple[int, int]:
        return self.coordinator_epoch, self.version


_encode = msgspec.json.Encoder().encode
_decode_offsets = msgspec.json.Decoder(OffsetsFile).decode
_decode_group = msgspec.json.Decoder(GroupFile).decode
_decode_consumer_group = msgspec.json.Decoder(ConsumerGroupFile).decode
_decode_kind = msgspec.json.Decoder(Kind).decode
_decode_head = msgspec.json.Decoder(Head).decode


def key_text(topic: str, partition: int) -> str:
    return f"{topic}/{partition}"


def split_key(key: str) -> OffsetKey:
    """Raises Unreadable."""
    topic, slash, partition = key.rpartition("/")
    if not slash or not partition.isdigit():
        raise Unreadable(f"{key!r} is no topic/partition")
    return topic, int(partition)


Staged = dict[int, dict[OffsetKey, StagedOffset]]
"""Producer id to what its open transaction would commit."""


class StoredOffsets(NamedTuple):
    """What an offsets file says. `staged`: rows of (producer id, partition, offset), in their order."""

    group_id: str
    head: Head
    entries: OffsetRows
    staged: list[tuple[int, OffsetKey, StagedOffset]]

    def records(self) -> list[OffsetsCommitted | OffsetsStaged]:
        """Records that bring this back: what is overtaken comes before what overtook it."""
        rows: dict[bool, list[OffsetsCommitted | OffsetsStaged]] = {True: [], False: []}
        for producer_id, (topic, partition), one in self.staged:
            rows[one.overtaken].append(OffsetsStaged(producer_id, one.epoch, [(topic, partition, one.entry)]))
        return [*rows[True], OffsetsCommitted(self.entries), *rows[False]]


def offsets_bytes(
    group_id: str, epoch: int, version: int, offsets: dict[str, dict[int, OffsetEntry]], staged: Staged
) -> bytes:
    """The offsets file of a group."""
    file = OffsetsFile(coordinator_epoch=epoch, version=version, group_id=group_id, offsets={})
    for topic, partitions in offsets.items():
        for partition, entry in sorted(partitions.items()):
            key = key_text(topic, partition)
            file.offsets[key] = entry.offset
            file.commit_times[key] = entry.committed_at
            if entry.metadata:
                file.metadata[key] = entry.metadata
            if entry.leader_epoch >= 0:
                file.leader_epochs[key] = entry.leader_epoch
            if entry.expires_at is not None:
                file.expire_times[key] = entry.expires_at
            if entry.topic_id is not None:
                file.topic_ids[key] = entry.topic_id.hex()
    if staged:
        file.staged = staged_files(staged)
    return msgspec.json.format(_encode(file), indent=1)


def staged_files(staged: Staged) -> list[StagedFile]:
    rows = [(one.number, producer_id, key, one) for producer_id, some in staged.items() for key, one in some.items()]
    return [
        StagedFile(
            producer_id=producer_id,
            producer_epoch=one.epoch,
            partition=key_text(*key),
            offset=one.entry.offset,
            leader_epoch=one.entry.leader_epoch,
            metadata=one.entry.metadata,
            commit_time=one.entry.committed_at,
            topic_id=None if one.entry.topic_id is None else one.entry.topic_id.hex(),
            overtaken=one.overtaken,
        )
        for _, producer_id, key, one in sorted(rows, key=lambda row: row[0])
    ]


def staged_of(number: int, row: StagedFile) -> tuple[int, OffsetKey, StagedOffset]:
    topic_id = None if row.topic_id is None else bytes.fromhex(row.topic_id)
    entry = OffsetEntry(row.offset, row.leader_epoch, row.metadata, row.commit_time, None, topic_id)
    return row.producer_id, split_key(row.partition), StagedOffset(entry, row.producer_epoch, number, row.overtaken)


def offsets_of(data: bytes, path: Path, written_at: int) -> StoredOffsets:
    """What an offsets file says. `written_at` (ms) is the commit time of those that have none.

    Raises Unreadable.
    """
    try:
        file = _decode_offsets(data)
        entries = []
        for key, offset in file.offsets.items():
            topic, partition = split_key(key)
            topic_id = bytes.fromhex(file.topic_ids[key]) if key in file.topic_ids else None
            entry = OffsetEntry(
                offset,
                file.leader_epochs.get(key, -1),
                file.metadata.get(key, ""),
                file.commit_times.get(key, written_at),
                file.expire_times.get(key),
                topic_id,
            )
            entries.append((topic, partition, entry))
        staged = [staged_of(number, row) for number, row in enumerate(file.staged, start=1)]
    except (msgspec.DecodeError, ValueError) as problem:
        raise Unreadable(f"{path.name}: {problem}") from None
    group_id = file.group_id if file.group_id is not None else id_of_stem(path.name.removesuffix(SUFFIX))
    return StoredOffsets(group_id, Head(file.coordinator_epoch, file.version), entries, staged)


def group_bytes(group_id: str, epoch: int, version: int, stored: Stored | None, reserved: int) -> bytes:
    """The group-state file of a group that is there; `stored` is its membership as it was last made durable."""
    if isinstance(stored, StoredGroup):
        return msgspec.json.format(_encode(file_of(group_id, (epoch, version), stored, reserved)), indent=1)
    stable = stored if isinstance(stored, GroupStable) else None
    file = GroupFile(
        coordinator_epoch=epoch,
        version=version,
        group_id=group_id,
        state="Stable" if stable is not None else "Empty",
        generation=stored.generation if stored is not None else 0,
        reserved_generation=reserved,
        protocol_type=stored.protocol_type if stored is not None else "",
        protocol_name=stable.protocol_name if stable is not None else "",
        leader=stable.leader if stable is not None else "",
        at=stored.at if stored is not None else 0,
        members=[member_file(m) for m in stable.members] if stable is not None else [],
        is_shared_out=stable is None or stable.is_shared_out,
    )
    return msgspec.json.format(_encode(file), indent=1)


def member_file(member: StoredMember) -> MemberFile:
    return MemberFile(
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        session_timeout_ms=member.session_timeout_ms,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        protocols=list(member.protocols),
        assignment=member.assignment,
        joined_at=member.joined_at,
    )


def tombstone_bytes(group_id: str, epoch: int, version: int, at: int, why: str) -> bytes:
    """The group-state file of a group that is gone."""
    file = GroupFile(
        coordinator_epoch=epoch,
        version=version,
        group_id=group_id,
        state="Dead",
        generation=0,
        reserved_generation=0,
        protocol_type="",
        protocol_name="",
        leader="",
        at=at,
        deleted_at=at,
        deleted_why=why,
    )
    return msgspec.json.format(_encode(file), indent=1)


def group_of(data: bytes, path: Path) -> GroupFile | ConsumerGroupFile:
    """A group-state file. Raises Unreadable."""
    try:
        return _decode_consumer_group(data) if _decode_kind(data).type == TYPE else _decode_group(data)
    except (msgspec.DecodeError, ValueError) as problem:
        raise Unreadable(f"{path.name}: {problem}") from None


def membership_of(file: GroupFile | ConsumerGroupFile) -> GroupStable | GroupEmpty | ConsumerGroupChanged | None:
    """The record that brings the membership of a group-state file back; null if the group never had one."""
    if isinstance(file, ConsumerGroupFile):
        return stored_of(file).record()
    if file.state == "Stable":
        members = [
            StoredMember(
                m.member_id,
                m.instance_id,
                m.client_id,
                m.client_host,
                m.session_timeout_ms,
                m.rebalance_timeout_ms,
                tuple(m.protocols),
                m.assignment,
                m.joined_at,
            )
            for m in file.members
        ]
        about = (file.generation, file.protocol_type, file.protocol_name, file.leader)
        return GroupStable(*about, members, file.at, file.is_shared_out)
    if file.state == "Empty" and (file.generation or file.at):
        return GroupEmpty(file.generation, file.protocol_type, file.at)
    return None


def head_of(data: bytes) -> Head:
    """Epoch and version of a checkpoint file, however old; raises Unreadable."""
    try:
        return _decode_head(data)
    except msgspec.DecodeError as problem:
        raise Unreadable(str(problem)) from None
