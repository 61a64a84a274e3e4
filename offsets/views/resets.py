"""The pages of a reset: ask, plan, apply or arm, and what came of it.

Rules: asking and planning write nothing; a plan is a page of its own that can be sent to somebody; applying shows per
partition what reads back. Every step is a plain form.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from groups.access import Principal, cluster_of, require
from groups.choices import Role
from groups.problems import NOT_FOUND, Problem
from groups.views.base import Context, checked_or_problem, id_from, page, show
from offsets import selectors
from offsets.api import serializers as shapes
from offsets.choices import Strategy
from offsets.services.armed import plan_arm
from offsets.services.plan_job import plan_apply_as_job
from offsets.services.plans import plan_apply, plan_create, plan_drop
from offsets.views.forms import plan_body

HELP = {
    Strategy.EARLIEST: "Everything that is still there is read again.",
    Strategy.LATEST: "What is there now is skipped.",
    Strategy.TIMESTAMP: "The first record at or after that time. ISO 8601 with its zone.",
    Strategy.DURATION: "The first record since then. ISO 8601: PT30M half an hour, PT1H an hour, P2D two days.",
    Strategy.OFFSET: "The same offset in each partition; one that lies outside a log becomes its nearest end.",
    Strategy.SHIFT: "Forward, or back with a minus.",
    Strategy.CURRENT: "Writes what is committed once more, so that it does not expire.",
    Strategy.GROUP: "Takes over the offsets of that group.",
    Strategy.CSV: "As Kafka's own tool writes and reads them, one partition per line.",
}

PLAN_ROWS = 1_000
"""A page about partitions shows so many of them."""

ORDER = tuple(HELP)
"""Strategies as the page lists them: the common ones first."""

QUICK_DURATIONS = ("PT15M", "PT1H", "PT6H", "P1D", "P7D")


@page
def reset(request: HttpRequest, principal: Principal, cluster: str, group: str) -> HttpResponse:
    """Asks where the offsets shall go, and plans it."""
    group_id = id_from(group, "group")
    require(principal, Role.OPERATE, cluster_of(principal, cluster), group_id)
    problem, form = None, {"strategy": Strategy.EARLIEST.value, "scope": "all"}
    if request.method == "POST":
        try:
            body = checked_or_problem(shapes.PlanRequest, plan_body(request.POST, request.FILES))
            plan = plan_create(principal, cluster, group_id, body)
            return redirect("reset_plan", cluster=cluster, group=group, plan=plan["id"])
        except Problem as refused:
            problem, form = refused, request.POST.dict()
    context = {
        **_frame(group_id, group),
        "strategies": strategies(form),
        "quick_durations": QUICK_DURATIONS,
        "topics": _topics(principal, cluster, group_id, request),
        "form": form,
        "problem": problem.as_dict() if problem else None,
    }
    status = problem.kind.status if problem else 200
    return show(request, principal, "offsets/reset.html", context, cluster=cluster, status=status)


def strategies(form: Mapping[str, str], without: Collection[Strategy] = ()) -> list[dict[str, str]]:
    """The strategies as the form shows them, with what was written beside each."""
    return [
        {"name": one.value, "label": one.label, "help": HELP[one], "value": form.get(f"value_{one.value}", "")}
        for one in ORDER
        if one not in without
    ]


def _topics(principal: Principal, cluster: str, group_id: str, request: HttpRequest) -> list[dict[str, Any]]:
    """The topics in which the group has offsets, with what the form says of each; none for a group that is not there."""
    try:
        rows = selectors.offset_list(principal, cluster, group_id)["items"]
    except Problem as problem:
        if problem.kind is not NOT_FOUND:
            raise
        rows = []
    asked = request.POST if request.method == "POST" else request.GET
    counts = Counter(row["topic"] for row in rows)
    return [
        {
            "topic": topic,
            "count": count,
            "chosen": topic in asked.getlist("topic"),
            "partitions": asked.get(f"partitions:{topic}", ""),
        }
        for topic, count in sorted(counts.items())
    ]


@page
def reset_plan(request: HttpRequest, principal: Principal, cluster: str, group: str, plan: uuid.UUID) -> HttpResponse:
    """A plan: what it would do, and the buttons that apply, arm or drop it."""
    group_id, problem = id_from(group, "group"), None
    if request.method == "POST":
        try:
            return _acted(request, principal, cluster, group, plan)
        except Problem as refused:
            problem = refused
    row = selectors.plan_get(principal, cluster, group_id, plan)
    context = {
        **_frame(group_id, group),
        "plan": row,
        "strategy": Strategy(row["strategy"]).label,
        **summed(row["items"]),
        "rows": row["items"][:PLAN_ROWS],
        "as_job": _is_long(row),
        "problem": problem.as_dict() if problem else None,
    }
    status = problem.kind.status if problem else 200
    return show(request, principal, "offsets/plan.html", context, cluster=cluster, status=status)


def summed(items: list[dict[str, Any]]) -> dict[str, Any]:
    """What the rows of a plan come to: how many change, how many records are skipped and read again."""
    return {
        "changed": sum(item["after"] not in (None, item["before"]) for item in items),
        "sums": {name: sum(item[name] for item in items) for name in ("skipped", "replayed")},
    }


def _acted(request: HttpRequest, principal: Principal, cluster: str, group: str, plan: uuid.UUID) -> HttpResponse:
    """Does what the pressed button says."""
    group_id, act = id_from(group, "group"), request.POST.get("act")
    if act == "arm":
        plan_arm(principal, cluster, group_id, plan)
        messages.success(request, "The reset is armed: it is planned anew and applied the moment the group empties.")
        return redirect("group", cluster=cluster, group=group)
    if act == "drop":
        plan_drop(principal, cluster, group_id, plan)
        messages.success(request, "The plan is dropped; nothing was written.")
        return redirect("group", cluster=cluster, group=group)
    if _is_long(selectors.plan_get(principal, cluster, group_id, plan)):
        return redirect("job", job=plan_apply_as_job(principal, cluster, group_id, plan)["job"]["id"])
    done = plan_apply(principal, cluster, group_id, plan)
    context = {**_frame(group_id, group), **written(done), "what": "reset"}
    return show(request, principal, "offsets/result.html", context, cluster=cluster)


def written(done: dict[str, Any]) -> Context:
    """What came of a write, for its page: what failed stands first, should there be too many rows to show."""
    rows = sorted(done["items"], key=lambda item: item["error"] is None)
    return {"done": done, "shown": done["items"] if len(rows) <= PLAN_ROWS else rows[:PLAN_ROWS]}


def _is_long(plan: dict[str, Any]) -> bool:
    """Whether a plan writes so many partitions that it is applied as a job."""
    return sum(item["after"] is not None for item in plan["items"]) > settings.KAAS_JOB_PARTITIONS


def _frame(group_id: str, key: str) -> Context:
    return {"group": {"group_id": group_id, "key": key}, "section": "groups"}
