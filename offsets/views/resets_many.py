"""The pages that reset many groups: ask, plan each of them, start the job.

Rules: the groups are those that the list's filters and check boxes chose, named before anything is planned; what would happen
to each is shown before the job is started. Every step is a plain form.
"""

from __future__ import annotations

import uuid
from collections import Counter
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect

from groups.access import Principal, cluster_of
from groups.api.base import StrictSerializer
from groups.api.parameters import PageParameters
from groups.jobs.services import job_cancel, job_plan, job_start
from groups.problems import WRONG_STATE, Problem
from groups.query import GroupQuery
from groups.selectors import group_export
from groups.views.base import checked_or_problem, given, page, show
from groups.views.jobs import chosen_groups
from groups.views.listing import pages
from offsets.api import serializers as shapes
from offsets.choices import Strategy
from offsets.services.reset_many import KIND, reset_many_preview
from offsets.views.forms import plan_body
from offsets.views.resets import QUICK_DURATIONS, strategies, summed

GROUPS_PLANNED = 20
"""Groups whose plans one page shows: each asks the brokers some questions."""

TOPICS_OFFERED = 30
"""The topics of most of the groups are offered; any other one can be written."""


@page
def groups_reset(request: HttpRequest, principal: Principal, cluster: str) -> HttpResponse:
    """Names the groups, and asks where their offsets shall go."""
    cluster_of(principal, cluster)
    problem, form, query = None, {"strategy": Strategy.EARLIEST.value, "scope": "all"}, chosen_groups(request)
    if request.method == "POST":
        try:
            job = job_plan(principal, cluster, kind=KIND, query=query, params=_params(request.POST))
            return redirect("groups_reset_plan", cluster=cluster, job=job["id"])
        except Problem as refused:
            problem, form = refused, request.POST.dict()
    context = {
        "plan": job_plan(principal, cluster, kind=KIND, query=query, params=_ANY, dry_run=True),
        "strategies": strategies(form, without=[Strategy.CSV]),
        "quick_durations": QUICK_DURATIONS,
        "topics": _topics(principal, cluster, query, request),
        "form": form,
        "problem": problem.as_dict() if problem else None,
        "section": "groups",
    }
    status = problem.kind.status if problem else 200
    return show(request, principal, "offsets/reset_many.html", context, cluster=cluster, status=status)


_ANY = {"strategy": Strategy.EARLIEST.value, "value": None, "scope": {"all": True}}
"""Any reset that makes sense: which groups are meant does not depend on it."""


def _params(form: QueryDict) -> dict[str, Any]:
    return checked_or_problem(shapes.PlanRequest, plan_body(form))


def _topics(principal: Principal, cluster: str, query: GroupQuery, request: HttpRequest) -> list[dict[str, Any]]:
    """The topics of the groups, those of most of them first; `groups` is how many of them."""
    counts = Counter(topic for row in group_export(principal, cluster, query) for topic in row.topics)
    chosen = request.POST.getlist("topic")
    return [
        {
            "topic": topic,
            "groups": count,
            "chosen": topic in chosen,
            "partitions": request.POST.get(f"partitions:{topic}", ""),
        }
        for topic, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:TOPICS_OFFERED]
    ]


class PlanPage(StrictSerializer):
    """Which groups of the job to plan."""

    page = PageParameters().fields["page"]


@page
def groups_reset_plan(request: HttpRequest, principal: Principal, cluster: str, job: uuid.UUID) -> HttpResponse:
    """What the job would do to each group, and the buttons that start or drop it."""
    cluster_of(principal, cluster)
    problem = None
    if request.method == "POST":
        try:
            return _acted(request, principal, cluster, job)
        except Problem as refused:
            problem = refused
    number = checked_or_problem(PlanPage, given(request.GET))["page"]
    try:
        found = reset_many_preview(principal, cluster, job, page=number, page_size=GROUPS_PLANNED)
    except Problem as refused:
        if refused.kind is WRONG_STATE:
            return redirect("job", job=job)
        raise
    params = found["job"]["params"]
    context = {
        "job": found["job"],
        "rows": [{**item, **summed(item["plan"]["items"])} for item in found["items"]],
        "strategy": Strategy(params["strategy"]).label,
        "pages": pages(page=number, page_size=GROUPS_PLANNED, total=found["total"]),
        "problem": problem.as_dict() if problem else None,
        "section": "groups",
    }
    status = problem.kind.status if problem else 200
    return show(request, principal, "offsets/reset_many_plan.html", context, cluster=cluster, status=status)


def _acted(request: HttpRequest, principal: Principal, cluster: str, job: uuid.UUID) -> HttpResponse:
    """Does what the pressed button says."""
    if request.POST.get("act") == "drop":
        job_cancel(principal, job)
        messages.success(request, "The plan is dropped; nothing was written.")
        return redirect("groups", cluster=cluster)
    job_start(principal, job)
    return redirect("job", job=job)
