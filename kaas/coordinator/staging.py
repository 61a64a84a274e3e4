"""Offsets of transactions: staged until the transaction ends (KIP-447).

Job: TxnOffsetCommit against a group in any state, and the end of a transaction for a group.
Rules: who may commit is checked as for a plain commit, but a producer that works without a consumer's identity may commit to a
group with members, and a rebalance stops nothing. Staged offsets are durable and invisible; what was
staged is folded in when the transaction commits, unless a newer offset came meanwhile.
Must not know: whether the producer may do this (the transaction's own coordinator has said so).
Source: PROTOCOL 2.7 and 7.2 in docs/PROTOCOL.md; KAFKA-18060.
"""

from __future__ import annotations

from typing import Any

import msgspec

from kaas.coordinator.announcements import OffsetsChanged
from kaas.coordinator.answers import CommitAnswer
from kaas.coordinator.classic.checks import check_generation, check_member
from kaas.coordinator.classic.states import State
from kaas.coordinator.core import Answering, Core
from kaas.coordinator.events import EndStaged, StageOffsets
from kaas.coordinator.modern import commits
from kaas.coordinator.offset_entry import OffsetKey
from kaas.coordinator.offsets import COMMITTED, REFUSED, sorted_out
from kaas.coordinator.records import OffsetsStaged, StagedEnded
from kaas.errors import ErrorCode


def stage(core: Core, event: StageOffsets, now_ms: int) -> None:
    """Handle a TxnOffsetCommit."""
    code = check_stage(core, event)
    if code:
        core.out.reply(event.reply_to, CommitAnswer(code))
        return
    rows, bad = sorted_out(core, event.rows)
    answer = COMMITTED if bad is None else CommitAnswer(ErrorCode.NONE, bad)
    if not rows:
        core.out.reply(event.reply_to, answer)
        return
    record = OffsetsStaged(event.producer_id, event.epoch, rows)
    core.out.persist(event.group_id, record, Answering(to=event.reply_to, answer=answer, refusal=REFUSED))


def check_stage(core: Core, event: StageOffsets) -> ErrorCode:
    """Whether this group takes offsets from this member of it, or from nobody of it."""
    if not event.group_id:
        return ErrorCode.INVALID_GROUP_ID
    code, whole = core.find(event.group_id)
    if code:
        return code
    if whole is None:
        return ErrorCode.NONE if event.generation < 0 else ErrorCode.ILLEGAL_GENERATION
    if whole.modern is not None:
        return commits.check_stage(whole.modern, event)
    group = whole.classic
    nobody = not event.member_id and event.instance_id is None
    if event.generation < 0 and (nobody or group.state is State.EMPTY):
        return ErrorCode.NONE
    return check_member(group, event.member_id, event.instance_id) or check_generation(group, event.generation)


def end(core: Core, event: EndStaged, now_ms: int) -> None:
    """A transaction that touched this group has ended. Told twice, it finds nothing left to do."""
    if core.is_loading(event.group_id):
        core.out.reply(event.reply_to, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return
    keys = staged_keys(core, event.group_id, event.producer_id)
    if not keys:
        core.out.reply(event.reply_to, ErrorCode.NONE)
        return
    record = StagedEnded(event.producer_id, event.committed)
    core.out.persist(event.group_id, record, Ended(event.reply_to, event.group_id, keys if event.committed else ()))


def staged_keys(core: Core, group_id: str, producer_id: int) -> tuple[OffsetKey, ...]:
    """Partitions of which a producer has staged an offset in a group, or is about to."""
    group = core.groups.get(group_id)
    keys = dict.fromkeys(() if group is None else group.staged.get(producer_id, ()))
    for row in core.out.in_flight:
        if row.group_id == group_id and isinstance(row.record, OffsetsStaged) and row.record.producer_id == producer_id:
            keys |= {(topic, partition): None for topic, partition, _ in row.record.offsets}
    return tuple(keys)


class Ended(msgspec.Struct, frozen=True):
    """Tells the transaction's coordinator that the group knows. `changed`: partitions that may have a new offset."""

    reply_to: Any
    group_id: str
    changed: tuple[OffsetKey, ...]

    def written(self, core: Core, now_ms: int) -> None:
        core.out.reply(self.reply_to, ErrorCode.NONE)
        if self.changed:
            core.out.announce(self.group_id, OffsetsChanged(kind="offsets_committed", rows=self.changed))

    def failed(self, core: Core, now_ms: int) -> None:
        core.out.reply(self.reply_to, ErrorCode.COORDINATOR_NOT_AVAILABLE)
