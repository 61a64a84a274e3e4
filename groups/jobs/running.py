"""Running jobs: one small step at a time.

Job: take a job that waits for a worker, do items until the step is over, note each, end the job after the last one.
Rules: a worker has a job to itself while its lease lasts, which each batch of items renews (a batch of groups is one group); a
worker that dies loses nothing but that time. Items are done in order, in the name of whoever made the job and only as long as
they may. A cancelled job stops before its next batch.
Must not know: Celery, what kinds of work there are.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import timedelta

import structlog
from django.db.models import Q
from django.utils import timezone

from groups.access import Principal
from groups.audit import audited
from groups.authentication import principal_again
from groups.choices import ItemState, JobState, Outcome
from groups.jobs.kinds import Item, Result, kind_of, kinds, partition_kinds
from groups.models import Job, JobItem
from groups.problems import FAILED, Problem

LEASE = timedelta(seconds=60)
"""Longer than any batch takes: the cluster answers or times out well before."""

STEP_S = 5.0

_log = structlog.get_logger(__name__)


def jobs_run() -> int:
    """Gives every running job one step; how many items were done. A kind that this release does not know waits for one that
    does."""
    now, known = timezone.now(), [*kinds, *partition_kinds]
    free = Q(lease_until__isnull=True) | Q(lease_until__lt=now)
    jobs = Job.objects.filter(free, state=JobState.RUNNING, kind__in=known)
    return sum(_step(job) for job in jobs.order_by("started_at"))


def _step(job: Job) -> int:
    if not _claim(job):
        return 0
    done, until = 0, time.monotonic() + STEP_S
    batch = kind_of(job.kind).batch
    while items := list(job.items.filter(state=ItemState.WAITING)[:batch]):
        if time.monotonic() > until or not _renew(job):
            break
        _do(job, items)
        done += len(items)
    if not items:
        _end(job)
    Job.objects.filter(pk=job.pk).update(lease_until=None)
    return done


def _claim(job: Job) -> bool:
    mine = Job.objects.filter(pk=job.pk, state=JobState.RUNNING, lease_until=job.lease_until)
    return bool(mine.update(lease_until=timezone.now() + LEASE))


def _renew(job: Job) -> bool:
    """Whether the job still runs: it may have been cancelled."""
    return bool(Job.objects.filter(pk=job.pk, state=JobState.RUNNING).update(lease_until=timezone.now() + LEASE))


def _do(job: Job, items: Sequence[JobItem]) -> None:
    for item, result in zip(items, _results(job, items), strict=True):
        item.state = ItemState.FAILED if isinstance(result, Problem) else ItemState.DONE
        item.message = str(result)
    JobItem.objects.bulk_update(items, ["state", "message"])


def _results(job: Job, items: Sequence[JobItem]) -> Sequence[Result]:
    who = _who(job)
    try:
        return kind_of(job.kind).do([_asked(job, item, who) for item in items])
    except Problem as problem:
        return [problem] * len(items)
    except Exception:
        # A fault in one batch must neither end the others nor come back for ever.
        _log.exception("job_items_failed", job=str(job.pk), group=items[0].group_id, first=items[0].number)
        message = "The console met something it did not expect; the worker's log says more."
        return [Problem(kind=FAILED, resource=f"job {job.pk}", message=message)] * len(items)


def _asked(job: Job, item: JobItem, who: Principal) -> Item:
    def remember(note: dict) -> None:
        JobItem.objects.filter(pk=item.pk).update(note=note)

    return Item(
        principal=who,
        cluster=job.cluster,
        group_id=item.group_id,
        topic=item.topic or None,
        partition=item.partition,
        params=job.params,
        note=item.note,
        remember=remember,
    )


def _who(job: Job) -> Principal:
    """Who made the job, with the rights of this moment: none when the user or the token is gone."""
    then = Principal(actor=job.actor, user_id=job.user_id, grants=(), token_id=job.token_id)
    return principal_again(then, timezone.now()) or then


def _end(job: Job) -> None:
    failed = job.items.filter(state=ItemState.FAILED).count()
    state = JobState.PARTLY if failed else JobState.DONE
    if not Job.objects.filter(pk=job.pk, state=JobState.RUNNING).update(state=state, ended_at=timezone.now()):
        return
    before = {"job": str(job.pk), "kind": job.kind}
    about = {"cluster": job.cluster, "group_id": job.params.get("group_id", "")}
    with audited(actor=job.actor, action="job_end", **about, before=before) as row:
        row.after = {"items": job.items.count(), "failed": failed}
        row.outcome = Outcome.PARTLY if failed else Outcome.DONE
    if job.kind in partition_kinds:
        partition_kinds[job.kind].over(job.params, state)
