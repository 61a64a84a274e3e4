"""Committed offsets: who may commit, what is kept, what is deleted.

Job: OffsetCommit, OffsetDelete and DeleteGroups against a group in any state; the offsets of a topic that is gone.
Rules: a commit is answered 0 only after it is durable, and memory keeps the old value until then; deletions likewise. Who
commits is checked in Kafka's order: the instance, the member, the generation, then whether the state takes commits. A
partition whose metadata is too long fails alone.
Must not know: whether topics exist (the edge has left those out).
Source: PROTOCOL 2.6 and 2.9 in docs/PROTOCOL.md.
"""

from __future__ import annotations

from typing import Any

import msgspec

from kaas.coordinator.announcements import GroupGone, OffsetsChanged
from kaas.coordinator.answers import CommitAnswer, DeleteGroupAnswer, DeleteOffsetsAnswer
from kaas.coordinator.classic.checks import check_generation, check_member
from kaas.coordinator.classic.group import ClassicGroup
from kaas.coordinator.classic.members import heard
from kaas.coordinator.classic.states import TABLE, State
from kaas.coordinator.core import Core
from kaas.coordinator.ends import end
from kaas.coordinator.events import Commit, DeleteGroup, DeleteOffsets, TopicDeleted
from kaas.coordinator.group import Group
from kaas.coordinator.modern import commits
from kaas.coordinator.offset_entry import OffsetKey, OffsetRows
from kaas.coordinator.records import GroupDeleted, OffsetsCommitted, OffsetsDeleted, OffsetsStaged
from kaas.errors import ErrorCode
from kaas.wire.consumer_protocol import PROTOCOL_TYPE

NOBODY = -1
"""The generation of a commit that is no member's."""

COMMITTED = CommitAnswer(ErrorCode.NONE)
REFUSED = CommitAnswer(ErrorCode.COORDINATOR_NOT_AVAILABLE)


def commit(core: Core, event: Commit, now_ms: int) -> None:
    """Handle an OffsetCommit."""
    code, group = core.find(event.group_id)
    code = code or check_commit(core, group, event)
    if code:
        core.out.reply(event.reply_to, CommitAnswer(code))
        return
    if group is not None:  # a good commit shows that the member lives
        member = group.classic.members.get(event.member_id)
        if member is not None:
            heard(core, group.classic, member, now_ms)
    rows, answer = event.rows, COMMITTED
    if event.has_metadata:
        rows, bad = sorted_out(core, rows)
        answer = COMMITTED if bad is None else CommitAnswer(ErrorCode.NONE, bad)
    if not rows:
        core.out.reply(event.reply_to, answer)
        return
    core.out.persist(event.group_id, OffsetsCommitted(rows), Committed(event, rows, answer))


def check_commit(core: Core, group: Group | None, event: Commit) -> ErrorCode:
    """Whether this group takes this commit. The empty group id is legal here (KAFKA-6773)."""
    if group is not None:
        if group.modern is not None:
            return commits.check_commit(group.modern, core.topics, event)
        return check_committer(group.classic, event)
    if event.generation < 0:  # a simple group: offsets without membership
        return ErrorCode.NONE
    return ErrorCode.GROUP_ID_NOT_FOUND if event.modern else ErrorCode.ILLEGAL_GENERATION


def check_committer(group: ClassicGroup, event: Commit) -> ErrorCode:
    """Nobody may commit to a group that has members: a detached client must not scribble over what they do."""
    if event.generation == group.generation and event.instance_id is None and event.member_id in group.members:
        return TABLE[group.state].commit  # nearly every commit; what follows would say the same
    if event.generation < 0 and group.state is State.EMPTY:
        return ErrorCode.NONE
    if event.generation >= 0 or event.member_id or event.instance_id is not None:
        if code := check_member(group, event.member_id, event.instance_id):
            return code
        if code := check_generation(group, event.generation):
            return code
        return TABLE[group.state].commit
    return ErrorCode.UNKNOWN_MEMBER_ID


def sorted_out(core: Core, rows: OffsetRows) -> tuple[OffsetRows, dict[int, ErrorCode] | None]:
    """What to keep, and the rows (by index) whose metadata is too long; null: there are none."""
    limit = core.config.offset_metadata_max_bytes
    for _, _, entry in rows:
        if entry.metadata and is_longer(entry.metadata, limit):
            break
    else:
        return rows, None
    long = [bool(entry.metadata) and is_longer(entry.metadata, limit) for _, _, entry in rows]
    good = [row for row, too_long in zip(rows, long, strict=True) if not too_long]
    return good, {index: ErrorCode.OFFSET_METADATA_TOO_LARGE for index, too_long in enumerate(long) if too_long}


def is_longer(text: str, limit: int) -> bool:
    """In UTF-16 units, as Java counts, of which no character has more than two."""
    return len(text) * 2 > limit and len(text.encode("utf-16-le", "surrogatepass")) // 2 > limit


class Committed(msgspec.Struct, frozen=True, gc=False):
    """Answers a commit."""

    event: Commit
    rows: OffsetRows
    answer: CommitAnswer

    def written(self, core: Core, now_ms: int) -> None:
        core.out.reply(self.event.reply_to, self.answer)
        kind = "offsets_reset" if self.event.generation == NOBODY and self.has_members(core) else "offsets_committed"
        core.out.announce(self.event.group_id, OffsetsChanged(kind=kind, rows=self.rows))

    def has_members(self, core: Core) -> bool:
        """Whether it is a group of members: what nobody of it committed was put there by an operator."""
        group = core.groups.get(self.event.group_id)
        return group is not None and bool(group.protocol_type)

    def failed(self, core: Core, now_ms: int) -> None:
        core.out.reply(self.event.reply_to, REFUSED)


def delete_offsets(core: Core, event: DeleteOffsets) -> None:
    """Handle an OffsetDelete. What a live member reads is not deleted under it."""
    if not event.group_id:
        core.out.reply(event.reply_to, DeleteOffsetsAnswer(code=ErrorCode.INVALID_GROUP_ID))
        return
    code, group = check_delete(core, event.group_id)
    if group is None:
        core.out.reply(event.reply_to, DeleteOffsetsAnswer(code=code))
        return
    if not group.is_empty and group.protocol_type != PROTOCOL_TYPE:
        core.out.reply(event.reply_to, DeleteOffsetsAnswer(code=ErrorCode.NON_EMPTY_GROUP))
        return
    subscribed = group.subscribed()
    codes: dict[OffsetKey, ErrorCode] = {}
    for topic, partition in event.partitions:
        taken = subscribed is None or topic in subscribed
        codes[topic, partition] = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if taken else ErrorCode.NONE
    gone = [key for key, code in codes.items() if not code and (group.offset(*key) is not None or key in group.holders)]
    answer = DeleteOffsetsAnswer(partitions=codes)
    if not gone:
        core.out.reply(event.reply_to, answer)
        return
    follower = OffsetsGone(event.group_id, gone, event.reply_to, answer)
    core.out.persist(event.group_id, OffsetsDeleted(gone, "deleted"), follower)


def delete_topic(core: Core, event: TopicDeleted) -> None:
    """Drop the offsets of a topic that is gone, those of commits on their way among them: a topic made anew under its name
    must not inherit them."""
    gone: dict[str, dict[OffsetKey, None]] = {}
    for group in core.groups.values():
        keys = {(event.topic, partition): None for partition in group.offsets.get(event.topic, ())}
        keys |= {key: None for key in sorted(group.holders) if key[0] == event.topic}
        if keys:
            gone[group.group_id] = keys
    for row in core.out.in_flight:
        if isinstance(row.record, OffsetsCommitted | OffsetsStaged):
            keys = {(topic, partition): None for topic, partition, _ in row.record.offsets if topic == event.topic}
            if keys:
                gone.setdefault(row.group_id, {}).update(keys)
    for group_id, keys in gone.items():
        drop(core, group_id, list(keys), "topic_deleted")


def drop(core: Core, group_id: str, partitions: list[OffsetKey], why: str) -> None:
    """Delete offsets that nobody asked to delete."""
    core.out.persist(group_id, OffsetsDeleted(partitions, why), OffsetsGone(group_id, partitions, why=why))


class OffsetsGone(msgspec.Struct, frozen=True):
    """Answers an OffsetDelete; `answer` is null when nobody waits for one."""

    group_id: str
    partitions: list[OffsetKey]
    reply_to: Any = None
    answer: DeleteOffsetsAnswer | None = None
    why: str = "deleted"

    def written(self, core: Core, now_ms: int) -> None:
        if self.answer is not None:
            core.out.reply(self.reply_to, self.answer)
        core.out.announce(self.group_id, OffsetsChanged(kind="offsets_deleted", rows=self.partitions, why=self.why))

    def failed(self, core: Core, now_ms: int) -> None:
        if self.answer is not None:
            core.out.reply(self.reply_to, DeleteOffsetsAnswer(code=ErrorCode.COORDINATOR_NOT_AVAILABLE))


def check_delete(core: Core, group_id: str) -> tuple[ErrorCode, Group | None]:
    """The group, or why there is none to delete from."""
    code, group = core.find(group_id)
    if group is None:
        return code or ErrorCode.GROUP_ID_NOT_FOUND, None
    return ErrorCode.NONE, group


def delete_group(core: Core, event: DeleteGroup, now_ms: int) -> None:
    """Handle one group of a DeleteGroups: only a group without members goes."""
    code, group = check_delete(core, event.group_id)
    if group is None:
        core.out.reply(event.reply_to, DeleteGroupAnswer(code))
    elif not group.is_empty:
        core.out.reply(event.reply_to, DeleteGroupAnswer(ErrorCode.NON_EMPTY_GROUP))
    else:
        bury(core, group, now_ms, "deleted", event.reply_to)


def bury(core: Core, group: Group, now_ms: int, why: str, reply_to: Any = None) -> None:
    """Make the end of a group durable. Until then it can be looked at and takes no request."""
    group.deleting = True
    core.out.persist(group.group_id, GroupDeleted(core.wall_ms(now_ms), why), Buried(reply_to, group, why))


class Buried(msgspec.Struct, frozen=True):
    """Answers a deletion; nobody waits for an expiry."""

    reply_to: Any
    group: Group
    why: str

    def written(self, core: Core, now_ms: int) -> None:
        end(core, self.group, now_ms)
        core.out.announce(self.group.group_id, GroupGone(kind=f"group_{self.why}"))
        if self.reply_to is not None:
            core.out.reply(self.reply_to, DeleteGroupAnswer(ErrorCode.NONE))

    def failed(self, core: Core, now_ms: int) -> None:
        self.group.deleting = False
        if self.reply_to is not None:
            core.out.reply(self.reply_to, DeleteGroupAnswer(ErrorCode.COORDINATOR_NOT_AVAILABLE))
