"""Applying a plan as a job: thousands of partitions, so many at a time, with progress and cancel.

Job: claim the plan, begin the job, write one batch after the other, end the plan with its job.
Rules: nothing begins on a plan that is out of date. Each partition is looked at again before its turn: one that is no longer
where the plan found it is left alone and told. Targets are fixed by the plan, so a batch that is done again after a worker died
finds what is written already. All batches share one backup: one undo puts back what was done.
Must not know: how jobs are kept and run.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from groups.access import Principal, cluster_of, require
from groups.choices import JobState, Role
from groups.clusters import Cluster
from groups.gateway import Committed, Gateway, Partition
from groups.gateways import gateway_of
from groups.jobs.kinds import Item, PartitionKind, Result
from groups.jobs.services import job_begin
from groups.problems import FAILED, Problem, wrong_state
from groups.redis_store import snapshot_of
from offsets.choices import PlanStatus
from offsets.models import ResetPlan
from offsets.plan_life import claiming, finish, plan_find, require_open, why_group_not
from offsets.services.plans import require_unchanged
from offsets.writing import Write, write_offsets

Row = dict[str, Any]

KIND = "plan_apply"

BATCH = 500
"""Partitions per commit: it is over within a second, which is how long a cancelled job goes on, and a few thousand
partitions are still few commits."""

_STATUS = {
    JobState.DONE: PlanStatus.APPLIED,
    JobState.PARTLY: PlanStatus.APPLIED,
    JobState.CANCELLED: PlanStatus.CANCELLED,
}


def plan_apply_as_job(
    principal: Principal, cluster_name: str, group_id: str, plan_id: uuid.UUID, *, dry_run: bool = False
) -> Row:
    """Begins the job that carries a plan out, if state and offsets are still those it was made from; answers
    `{id, partitions, job}`. A dry run checks the same, and there is no job.

    Raises Problem: 404, 403, 409 for a plan that is not (or no longer) to be applied or is out of date, 502 to 504.
    """
    cluster, plan = plan_find(principal, cluster_name, group_id, plan_id)
    require(principal, Role.OPERATE, cluster, group_id)
    gateway = gateway_of(cluster)
    if dry_run:
        require_open(plan)
        require_unchanged(cluster, plan, gateway)
        return {"id": str(plan.id), "partitions": len(_parts(plan)), "job": None}
    with claiming(plan):
        require_unchanged(cluster, plan, gateway)
        job = _begun(principal, cluster, plan)
    return {"id": str(plan.id), "partitions": job["total"], "job": job}


def _begun(principal: Principal, cluster: Cluster, plan: ResetPlan) -> Row:
    params = {"plan": str(plan.id), "group_id": plan.group_id}
    return job_begin(principal, cluster, plan.group_id, kind=KIND, params=params, parts=_parts(plan))


def _parts(plan: ResetPlan) -> list[tuple[str, int, Row]]:
    """What there is to write, with what the plan says of it."""
    return [
        (row["topic"], row["partition"], {"before": row["before"], "after": row["after"]})
        for row in plan.items
        if row["after"] is not None
    ]


def _write(items: Sequence[Item]) -> list[Result]:
    """Writes the partitions of one batch and reads them back.

    Raises Problem when nothing was done: a right that is gone, a group with members, what the cluster said.
    """
    first = items[0]
    cluster = cluster_of(first.principal, first.cluster)
    require(first.principal, Role.OPERATE, cluster, first.group_id)
    if (reason := why_group_not(snapshot_of(cluster.name, first.group_id))) is not None:
        raise wrong_state(f"group {first.group_id}", reason)
    gateway = gateway_of(cluster)
    held = gateway.offsets(first.group_id)
    due = {_place(item): item for item in items if _offset(held, item) == item.note["before"]}
    written = _written(gateway, cluster, held, due) if due else {}
    return [written[place] if (place := _place(item)) in written else _strayed(held, item) for item in items]


def _written(
    gateway: Gateway, cluster: Cluster, held: Mapping[Partition, Committed], due: Mapping[Partition, Item]
) -> dict[Partition, Result]:
    first = next(iter(due.values()))
    write = Write(
        actor=first.principal.actor,
        action="offsets_reset",
        cluster=cluster.name,
        group_id=first.group_id,
        targets={place: Committed(offset=item.note["after"]) for place, item in due.items()},
        held=held,
        work=uuid.UUID(first.params["plan"]),
    )
    _, rows = write_offsets(gateway, write)
    return {(row["topic"], row["partition"]): _said(row) for row in rows}


def _said(row: Row) -> Result:
    if (error := row["error"]) is not None:
        return Problem(kind=FAILED, resource=f"{row['topic']} {row['partition']}", message=error["message"])
    return f"{_shown(row['before'])} became {row['after']}, which reads back."


def _strayed(held: Mapping[Partition, Committed], item: Item) -> Result:
    """What to say of a partition that is not where the plan found it."""
    now, before, after = _offset(held, item), item.note["before"], item.note["after"]
    if now == after:
        return f"It is at {after} already: it was written before the worker stopped, or by somebody else."
    message = f"Since the plan was made it went from {_shown(before)} to {_shown(now)}: it was left alone."
    return wrong_state(f"{item.topic} {item.partition}", message)


def _shown(offset: int | None) -> str:
    return "none" if offset is None else str(offset)


def _place(item: Item) -> Partition:
    assert item.topic is not None and item.partition is not None
    return item.topic, item.partition


def _offset(held: Mapping[Partition, Committed], item: Item) -> int | None:
    found = held.get(_place(item))
    return None if found is None else found.offset


def _over(params: Row, state: JobState) -> None:
    plan = ResetPlan.objects.filter(pk=params["plan"]).first()
    if plan is not None:
        why = "its job was cancelled, and says what was written." if state == JobState.CANCELLED else ""
        finish(plan, _STATUS[state], why)


PLAN_APPLY = PartitionKind(label="Reset offsets of a group", batch=BATCH, do=_write, over=_over)
