"""Writes on jobs: plan, start, begin at once, cancel.

Rules: a job is planned first: its groups are named and stay the same, whatever comes to match later; starting it is a step of
its own. A filter that asks nothing means nothing, never everything. `dry_run` plans and keeps nothing.
Must not know: requests, templates, what a kind does.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.utils import timezone

from groups.access import Principal, cluster_of, refusal
from groups.audit import audited
from groups.choices import JobState, Role
from groups.clusters import Cluster
from groups.index import GroupRow
from groups.jobs.kinds import JobKind, Params, kinds, partition_kinds
from groups.jobs.selectors import job_find, job_row
from groups.models import Job, JobItem
from groups.problems import invalid, wrong_state
from groups.query import GroupQuery
from groups.selectors import group_export

Row = dict[str, Any]

ITEMS_AT_MOST = 10_000
NAMED = 1_000
"""Groups that a plan's answer names; the job's items name all of them."""


def job_plan(
    principal: Principal,
    cluster_name: str,
    *,
    kind: str,
    query: GroupQuery,
    params: Row,
    dry_run: bool = False,
) -> Row:
    """Plans work on the groups that match, as far as they fit the work and the principal may do it.

    Raises Problem: 400 for a filter that asks nothing, parameters that make no sense or too many groups; 404, 503.
    """
    cluster = cluster_of(principal, cluster_name)
    found = kinds[kind]
    if query == GroupQuery(ordering=query.ordering, page=query.page, page_size=query.page_size, visible=query.visible):
        raise invalid("Say which groups: a filter that asks nothing means nothing, never everything.")
    checked = found.checked(params)
    matching = group_export(principal, cluster_name, query)
    rows = [row for row in matching if _fits(principal, cluster, found, row)]
    if len(rows) > ITEMS_AT_MOST:
        raise invalid(f"{len(rows):,} groups match; a job takes {ITEMS_AT_MOST:,} at most: narrow the filter.")
    job = _job(principal, cluster, kind, checked)
    if not dry_run:
        _save(job, [JobItem(group_id=row.group_id) for row in rows])
    counts = {"total": len(rows), "waiting": len(rows), "done": 0, "failed": 0}
    named = [row.group_id for row in rows[:NAMED]]
    return {**job_row(job, counts), "group_ids": named, "left_out": len(matching) - len(rows)}


def job_begin(
    principal: Principal,
    cluster: Cluster,
    group_id: str,
    *,
    kind: str,
    params: Params,
    parts: Iterable[tuple[str, int, Params]],
) -> Row:
    """Starts work on partitions of one group: `parts` are topic, partition and what the kind must know of it. Whoever calls
    has asked the guard."""
    job = _job(principal, cluster, kind, params)
    job.state, job.started_at = JobState.RUNNING, timezone.now()
    items = [JobItem(group_id=group_id, topic=topic, partition=number, note=note) for topic, number, note in parts]
    before = {"job": str(job.pk), "kind": kind, "items": len(items)}
    with audited(actor=principal.actor, action="job_start", cluster=cluster.name, group_id=group_id, before=before):
        _save(job, items)
    return job_row(job)


def _job(principal: Principal, cluster: Cluster, kind: str, params: Params) -> Job:
    who = {"actor": principal.actor, "user_id": principal.user_id, "token_id": principal.token_id}
    return Job(kind=kind, cluster=cluster.name, params=params, **who)


def _save(job: Job, items: list[JobItem]) -> None:
    """Job and items together, the items numbered in their order."""
    for number, item in enumerate(items, start=1):
        item.job, item.number = job, number
    with transaction.atomic():
        job.save()
        JobItem.objects.bulk_create(items, batch_size=1_000)


def job_start(principal: Principal, job_id: uuid.UUID, *, dry_run: bool = False) -> Row:
    """Starts a planned job.

    Raises Problem: 404 for a job that is not there or somebody else's, 409 for one that was started, cancelled or is empty.
    """
    job = job_find(principal, job_id)
    if job.state != JobState.PLANNED:
        raise wrong_state(f"job {job.pk}", f"The job is {JobState(job.state).label.lower()}: plan another one.")
    total = job.items.count()
    if not total:
        raise wrong_state(f"job {job.pk}", "No group matched: there is nothing to do.")
    if dry_run:
        return job_row(job)
    before = {"job": str(job.pk), "kind": job.kind, "items": total}
    with audited(actor=principal.actor, action="job_start", cluster=job.cluster, before=before):
        started = {"state": JobState.RUNNING, "started_at": timezone.now()}
        if not Job.objects.filter(pk=job.pk, state=JobState.PLANNED).update(**started):
            raise wrong_state(f"job {job.pk}", "The job was started already.")
    job.refresh_from_db()
    return job_row(job)


def job_cancel(principal: Principal, job_id: uuid.UUID, *, dry_run: bool = False) -> Row:
    """Cancels a job: what is done stays done, and the items in hand are finished.

    Raises Problem: 404, 409 for a job that is over.
    """
    job = job_find(principal, job_id)
    open_ = (JobState.PLANNED, JobState.RUNNING)
    if job.state not in open_:
        raise wrong_state(
            f"job {job.pk}", f"The job is {JobState(job.state).label.lower()}: there is nothing to cancel."
        )
    if dry_run:
        return job_row(job)
    before = {"job": str(job.pk), "kind": job.kind, "state": job.state}
    about = {"cluster": job.cluster, "group_id": job.params.get("group_id", "")}
    with audited(actor=principal.actor, action="job_cancel", **about, before=before):
        cancelled = {"state": JobState.CANCELLED, "ended_at": timezone.now()}
        if not Job.objects.filter(pk=job.pk, state__in=open_).update(**cancelled):
            raise wrong_state(f"job {job.pk}", "The job ended meanwhile.")
    if job.kind in partition_kinds:
        partition_kinds[job.kind].over(job.params, JobState.CANCELLED)
    job.refresh_from_db()
    return job_row(job)


def _fits(principal: Principal, cluster: Cluster, kind: JobKind, row: GroupRow) -> bool:
    return kind.fits(row) and refusal(principal, Role.OPERATE, cluster, row.group_id) is None
