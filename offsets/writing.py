"""Writing offsets of a group and reading them back: the one way that resets, armed resets and undo share.

Job: back up, say so in an audit row, commit, read back, tell per partition what came of it; and for a plan, where that
leaves it.
Rules: what was there is kept before it is written over; a write of which nothing was done raises and keeps nothing; one
that was done in part says so per partition.
Must not know: how a plan was made, who may.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from groups.audit import audited
from groups.backups import backup_take, backup_take_back
from groups.choices import Outcome
from groups.gateway import Committed, Gateway, Partition
from groups.problems import NOT_CONNECTED, TIMEOUT, Problem, error_row, from_kafka
from groups.times import with_twins
from kaas.errors import ErrorCode
from offsets.choices import PlanStatus, WriteOutcome
from offsets.models import ResetPlan
from offsets.plan_life import finish

Row = dict[str, Any]

IN_DOUBT = (TIMEOUT, NOT_CONNECTED)
"""After these a write may have been done all the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """What is to be written, for whom and under which name in the audit; `held` is what is committed before it.

    A target of null deletes the partition's offset. `keep` is false for an undo, which is not undone again. `work` is shared
    by the writes of one piece of work, which are then undone together.
    """

    actor: str
    action: str
    cluster: str
    group_id: str
    targets: Mapping[Partition, Committed | None]
    held: Mapping[Partition, Committed]
    keep: bool = True
    work: uuid.UUID | None = None

    def before(self) -> dict[Partition, Committed | None]:
        return {place: self.held.get(place) for place in self.targets}


def write_offsets(gateway: Gateway, write: Write) -> tuple[WriteOutcome, list[Row]]:
    """Writes, reads back, and answers `{topic, partition, before, after, read_back, error}` per partition.

    Raises Problem when nothing was written: 409 when the group has members, else what the cluster said.
    """
    before = write.before()
    with audited(
        actor=write.actor,
        action=write.action,
        cluster=write.cluster,
        group_id=write.group_id,
        before=plain(before),
    ) as row:
        codes = _kept_and_written(gateway, write, before)
        read_back = gateway.offsets(write.group_id)
        items = [_item(place, before[place], write.targets[place], codes, read_back) for place in sorted(write.targets)]
        row.after = plain({place: read_back.get(place) for place in write.targets})
        if any(item["error"] for item in items):
            row.outcome = Outcome.PARTLY
            return WriteOutcome.PARTLY, items
        return WriteOutcome.APPLIED, items


def write_plan(
    gateway: Gateway, plan: ResetPlan, write: Write, *, otherwise: Callable[[Problem], PlanStatus]
) -> tuple[WriteOutcome, list[Row]]:
    """Writes for a claimed plan and says where the plan ends up: applied; failed when nobody knows whether it was written,
    and then it is not tried again; what `otherwise` says when nothing was written.

    Raises Problem as write_offsets does.
    """
    try:
        outcome, items = write_offsets(gateway, write)
    except Problem as problem:
        finish(plan, PlanStatus.FAILED if problem.kind in IN_DOUBT else otherwise(problem), problem.message)
        raise
    finish(plan, PlanStatus.APPLIED)
    return outcome, items


def plain(offsets: Mapping[Partition, Committed | None]) -> Row:
    """Offsets as an audit row keeps them: "topic/partition" to the offset, null for none."""
    return {f"{topic}/{p}": None if held is None else held.offset for (topic, p), held in sorted(offsets.items())}


def _kept_and_written(
    gateway: Gateway, write: Write, before: Mapping[Partition, Committed | None]
) -> dict[Partition, ErrorCode]:
    if not write.keep:
        return _written(gateway, write)
    backup = backup_take(
        actor=write.actor,
        action=write.action,
        cluster=write.cluster,
        group_id=write.group_id,
        offsets=before,
        work=write.work,
    )
    try:
        return _written(gateway, write)
    except Problem as problem:
        if problem.kind not in IN_DOUBT:
            backup_take_back(backup, before)
        raise


def _written(gateway: Gateway, write: Write) -> dict[Partition, ErrorCode]:
    commits = {place: target for place, target in write.targets.items() if target is not None}
    deletions = [place for place, target in write.targets.items() if target is None]
    codes: dict[Partition, ErrorCode] = {}
    if commits:
        codes.update(gateway.commit_offsets(write.group_id, commits))
    if deletions:
        codes.update(gateway.delete_offsets(write.group_id, deletions))
    refused = [code for code in codes.values() if code]
    if refused and len(refused) == len(codes):
        raise from_kafka(refused[0], f"group {write.group_id}")
    return codes


def _item(
    place: Partition,
    before: Committed | None,
    target: Committed | None,
    codes: Mapping[Partition, ErrorCode],
    read_back: Mapping[Partition, Committed],
) -> Row:
    topic, partition = place
    code = codes.get(place, ErrorCode.UNKNOWN_SERVER_ERROR)
    found = read_back[place].offset if place in read_back else None
    after = None if target is None else target.offset
    error = error_row(code, f"{topic} {partition}") if code else None
    if error is None and found != after:
        message = f"The offset reads back as {found}, not {after}: somebody else wrote at the same time."
        error = {**error_row(ErrorCode.UNKNOWN_SERVER_ERROR, f"{topic} {partition}"), "message": message}
    row = {
        "topic": topic,
        "partition": partition,
        "before": None if before is None else before.offset,
        "after": after,
        "read_back": found,
    }
    return {**with_twins(row), "error": error}
