"""Reads of jobs and their items.

Rules: a job is its maker's, and an administrator's; it does not exist for anybody else.
Must not know: requests, templates.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from django.db.models import Count

from groups.access import Principal
from groups.choices import ItemState
from groups.jobs.kinds import kinds, partition_kinds
from groups.keys import key_of
from groups.models import Job, JobItem
from groups.problems import not_found
from groups.selectors import listing

Row = dict[str, Any]


def job_find(principal: Principal, job_id: uuid.UUID) -> Job:
    """A job that this principal may see and command.

    Raises Problem (404).
    """
    job = _seen(principal).filter(pk=job_id).first()
    if job is None:
        raise not_found(f"job {job_id}")
    return job


def job_get(principal: Principal, job_id: uuid.UUID) -> Row:
    """A job with its progress.

    Raises Problem (404).
    """
    return job_row(job_find(principal, job_id))


def job_list(principal: Principal, *, page: int, page_size: int) -> Row:
    """Jobs, the newest first."""
    rows, first = _seen(principal), (page - 1) * page_size
    return listing([job_row(job) for job in rows[first : first + page_size]], total=rows.count(), page=page)


def job_item_list(
    principal: Principal, job_id: uuid.UUID, *, states: Iterable[str] = (), page: int, page_size: int
) -> Row:
    """The groups of a job, or the partitions of its group, and what came of each, in the order in which they are done.

    Raises Problem (404).
    """
    rows, first = job_find(principal, job_id).items.all(), (page - 1) * page_size
    if wanted := list(states):
        rows = rows.filter(state__in=wanted)
    return listing([_item_row(item) for item in rows[first : first + page_size]], total=rows.count(), page=page)


def job_row(job: Job, counts: Mapping[str, int] | None = None) -> Row:
    """A job and how far it is; `counts` where they are known already."""
    kind = partition_kinds.get(job.kind) or kinds.get(job.kind)
    return {
        "id": str(job.pk),
        "kind": job.kind,
        "label": kind.label if kind else job.kind,
        "unit": kind.unit if kind else "group",
        "cluster": job.cluster,
        "params": job.params,
        "state": job.state,
        "created_by": job.actor,
        "created_at": _iso(job.created_at),
        "started_at": _iso(job.started_at),
        "ended_at": _iso(job.ended_at),
        **(counts or _counts(job)),
    }


def _counts(job: Job) -> dict[str, int]:
    found = dict(job.items.order_by().values_list("state").annotate(Count("pk")))
    counts = {state.value: found.get(state, 0) for state in ItemState}
    return {"total": sum(counts.values()), **counts}


def _item_row(item: JobItem) -> Row:
    return {
        "number": item.number,
        "group_id": item.group_id,
        "key": key_of(item.group_id),
        "topic": item.topic or None,
        "partition": item.partition,
        "state": item.state,
        "message": item.message,
    }


def _seen(principal: Principal):
    return Job.objects.all() if principal.is_admin() else Job.objects.filter(user=principal.user_id)


def _iso(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat(timespec="milliseconds")
