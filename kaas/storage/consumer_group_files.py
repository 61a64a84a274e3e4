"""The group-state file of a consumer group (KIP-848): who is in it, what each member holds and is to hold.

Job: the picture of a consumer group to JSON and back.
Shape: beside the files of classic groups (`group_files`), told apart by `type`. Topics stand by id (hex), as in the journal:
names may change hands. Member states are in small letters. Bytes are base64.
Rules: a file says everything that the records of its group add up to.
Must not know: when to write, where a file stands.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from kaas.coordinator.modern.group import ClassicPart, Member, MemberState, ResolvedRegex
from kaas.coordinator.modern.stored import StoredGroup
from kaas.coordinator.topics import Partitions

TYPE = "consumer"

PartitionsFile = dict[Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$")], list[int]]
"""Topic id to partitions."""

State = Literal["stable", "unrevoked", "unreleased", "unknown"]
"""How far a member is (`MemberState`)."""

WORDS: dict[MemberState, State] = {
    MemberState.STABLE: "stable",
    MemberState.UNREVOKED: "unrevoked",
    MemberState.UNRELEASED: "unreleased",
    MemberState.UNKNOWN: "unknown",
}
STATES = {word: state for state, word in WORDS.items()}


class ClassicPartFile(msgspec.Struct, kw_only=True):
    """What only a member has that speaks the classic protocol."""

    session_timeout_ms: int
    protocols: list[tuple[str, bytes]]


class ConsumerMemberFile(msgspec.Struct, kw_only=True):
    """A member; the fields are those of `Member`."""

    member_id: str
    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    topics: list[str]
    regex: str
    assignor: str | None
    classic: ClassicPartFile | None
    epoch: int
    previous_epoch: int
    state: State
    assigned: PartitionsFile
    revoking: PartitionsFile
    joined_at: int


class RegexFile(msgspec.Struct, kw_only=True):
    """What a pattern matched, and when it was looked up (ms)."""

    topics: list[str]
    at: int


class ConsumerGroupFile(msgspec.Struct, kw_only=True):
    """A consumer group; `reserved_generation` is of the classic group that it was, or may be again. `record_number` and `lacks`
    are those of `StoredGroup`."""

    coordinator_epoch: int
    version: int
    group_id: str
    type: str = TYPE
    epoch: int
    metadata_hash: int
    target_epoch: int
    target_assignor: str
    reserved_generation: int
    at: int
    members: list[ConsumerMemberFile]
    targets: dict[str, PartitionsFile]
    regexes: dict[str, RegexFile] = {}
    record_number: int = 0
    lacks: bool = False

    @property
    def deleted_at(self) -> None:
        """It is there: the tombstone of a group has no type."""


def file_of(group_id: str, order: tuple[int, int], stored: StoredGroup, reserved: int) -> ConsumerGroupFile:
    """The file of a consumer group as of `order`, its (coordinator epoch, version)."""
    return ConsumerGroupFile(
        coordinator_epoch=order[0],
        version=order[1],
        group_id=group_id,
        epoch=stored.epoch,
        metadata_hash=stored.metadata_hash,
        target_epoch=stored.target_epoch,
        target_assignor=stored.target_assignor,
        reserved_generation=reserved,
        at=stored.at,
        members=[member_file(member) for member in stored.members.values()],
        targets={member_id: partitions_file(target) for member_id, target in stored.targets.items()},
        regexes={p: RegexFile(topics=list(found.topics), at=found.at) for p, found in stored.regexes.items()},
        record_number=stored.number,
        lacks=stored.lacks,
    )


def member_file(member: Member) -> ConsumerMemberFile:
    classic = member.classic
    return ConsumerMemberFile(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        topics=list(member.topics),
        regex=member.regex,
        assignor=member.assignor,
        classic=None
        if classic is None
        else ClassicPartFile(session_timeout_ms=classic.session_timeout_ms, protocols=list(classic.protocols)),
        epoch=member.epoch,
        previous_epoch=member.previous_epoch,
        state=WORDS[MemberState(member.state)],
        assigned=partitions_file(member.assigned),
        revoking=partitions_file(member.revoking),
        joined_at=member.joined_at,
    )


def partitions_file(partitions: Partitions) -> PartitionsFile:
    return {topic_id.hex(): list(row) for topic_id, row in partitions.items()}


def stored_of(file: ConsumerGroupFile) -> StoredGroup:
    """The picture in a file."""
    return StoredGroup(
        epoch=file.epoch,
        metadata_hash=file.metadata_hash,
        target_epoch=file.target_epoch,
        target_assignor=file.target_assignor,
        at=file.at,
        members={row.member_id: member_of(row) for row in file.members},
        targets={member_id: partitions_of(target) for member_id, target in file.targets.items()},
        regexes={p: ResolvedRegex(tuple(found.topics), found.at) for p, found in file.regexes.items()},
        number=file.record_number,
        lacks=file.lacks,
    )


def member_of(row: ConsumerMemberFile) -> Member:
    return Member(
        member_id=row.member_id,
        instance_id=row.instance_id,
        rack_id=row.rack_id,
        client_id=row.client_id,
        client_host=row.client_host,
        rebalance_timeout_ms=row.rebalance_timeout_ms,
        topics=tuple(row.topics),
        regex=row.regex,
        assignor=row.assignor,
        classic=None
        if row.classic is None
        else ClassicPart(row.classic.session_timeout_ms, tuple(row.classic.protocols)),
        epoch=row.epoch,
        previous_epoch=row.previous_epoch,
        state=STATES[row.state],
        assigned=partitions_of(row.assigned),
        revoking=partitions_of(row.revoking),
        joined_at=row.joined_at,
    )


def partitions_of(partitions: PartitionsFile) -> Partitions:
    return {bytes.fromhex(topic_id): tuple(row) for topic_id, row in partitions.items()}
