"""The pages of jobs: what one would do, how far it is, what came of each group or partition.

Rules: the groups that a job will work on are named before it is started; the page follows it, can cancel it, and says plainly
what was done and what was not.
"""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST

from groups.access import Principal, cluster_of
from groups.api.jobs import JobItemParameters
from groups.api.parameters import GroupListParameters, PageParameters, group_query
from groups.choices import ItemState, JobState
from groups.jobs import selectors, services
from groups.keys import key_of
from groups.problems import Problem
from groups.query import GroupQuery
from groups.views.base import checked_or_problem, given, id_from, page, show
from groups.views.listing import LISTS, pages

DELETE = "groups_delete"

PICKED = "group"
"""The name of the list's check boxes."""


def chosen_groups(request: HttpRequest) -> GroupQuery:
    """The groups that the list's filters and check boxes chose; boxes stand in the address as keys of groups.

    Raises Problem (400, 404) for what makes no sense.
    """
    values = given(request.GET, (*LISTS, PICKED))
    keys = values.pop(PICKED, None)
    asked = checked_or_problem(GroupListParameters, values)
    return group_query(asked if keys is None else {**asked, "group_ids": [id_from(key, "group") for key in keys]})


@page
def groups_delete(request: HttpRequest, principal: Principal, cluster: str) -> HttpResponse:
    """Names the groups of a list that can be deleted, then starts the job that deletes them."""
    cluster_of(principal, cluster)
    asked = {"kind": DELETE, "query": chosen_groups(request), "params": {}}
    if request.method == "POST":
        try:
            job = services.job_plan(principal, cluster, **asked)
            services.job_start(principal, uuid.UUID(job["id"]))
        except Problem as problem:
            context = {"plan": None, "problem": problem.as_dict(), "section": "groups"}
            status = problem.kind.status
            return show(request, principal, "jobs/groups_delete.html", context, cluster=cluster, status=status)
        return redirect("job", job=job["id"])
    plan = services.job_plan(principal, cluster, **asked, dry_run=True)
    return show(request, principal, "jobs/groups_delete.html", {"plan": plan, "section": "groups"}, cluster=cluster)


@require_GET
@page
def jobs(request: HttpRequest, principal: Principal) -> HttpResponse:
    """One's jobs, the newest first."""
    asked = checked_or_problem(PageParameters, given(request.GET))
    rows = selectors.job_list(principal, **asked)
    found = pages(page=asked["page"], page_size=asked["page_size"], total=rows["total"])
    return show(request, principal, "jobs/jobs.html", {"rows": rows, "pages": found, "section": "jobs"})


@require_GET
@page
def job(request: HttpRequest, principal: Principal, job: uuid.UUID) -> HttpResponse:
    """A job: how far it is, and what came of each group or partition."""
    asked = checked_or_problem(JobItemParameters, given(request.GET, ["state"]))
    row = selectors.job_get(principal, job)
    wanted = {"states": asked.get("state", ()), "page": asked["page"], "page_size": asked["page_size"]}
    rows = selectors.job_item_list(principal, job, **wanted)
    context = {
        "job": row,
        "over": row["total"] - row["waiting"],
        "account": _account(row),
        "group": _group(row),
        "rows": rows,
        "asked": asked,
        "states": ItemState.choices,
        "pages": pages(page=asked["page"], page_size=asked["page_size"], total=rows["total"]),
        "section": "jobs",
    }
    return show(request, principal, "jobs/job.html", context, cluster=row["cluster"])


def _account(job: dict[str, Any]) -> str | None:
    """What an ended job did and what it did not; null for one that still goes on."""
    if job["state"] in (JobState.PLANNED, JobState.RUNNING):
        return None
    done = f"{job['done']:,} of {job['total']:,} {job['unit']}s are done and read back"
    failed = f", {job['failed']:,} failed" if job["failed"] else ""
    left = f", {job['waiting']:,} were not touched" if job["waiting"] else ""
    return f"{done}{failed}{left}."


def _group(job: dict[str, Any]) -> dict[str, str] | None:
    """The group of a job on partitions."""
    if job["unit"] != "partition":
        return None
    group_id = job["params"]["group_id"]
    return {"group_id": group_id, "key": key_of(group_id)}


@require_POST
@page
def job_cancel(request: HttpRequest, principal: Principal, job: uuid.UUID) -> HttpResponse:
    """Cancels a job."""
    try:
        services.job_cancel(principal, job)
        messages.success(request, "The job is cancelled: what is done stays done.")
    except Problem as problem:
        messages.error(request, problem.message)
    return redirect("job", job=job)
