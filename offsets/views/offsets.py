"""The pages that delete offsets and that put them back.

Rules: each says first what it would do, from the service's own dry run, and then what came of it.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from groups.access import Principal, cluster_of, require
from groups.api.parameters import PageParameters
from groups.choices import Role
from groups.problems import WRONG_STATE, Problem, invalid
from groups.views.base import checked_or_problem, given, id_from, page, show
from groups.views.listing import pages
from offsets import selectors
from offsets.api import serializers as shapes
from offsets.requests import topic_scope
from offsets.services.deletion import offsets_delete as service_delete
from offsets.services.undo import offsets_undo
from offsets.views.forms import scope_topics
from offsets.views.resets import PLAN_ROWS, written


class UndoParameters(shapes.UndoRequest, PageParameters):
    """Which reset or deletion to undo, and which page of them to show."""


@page
def offsets_delete(request: HttpRequest, principal: Principal, cluster: str, group: str) -> HttpResponse:
    """Asks which topics or partitions, then deletes what is committed there."""
    group_id, problem, done = id_from(group, "group"), None, None
    require(principal, Role.OPERATE, cluster_of(principal, cluster), group_id)
    if request.method == "POST":
        try:
            body = checked_or_problem(shapes.OffsetDeletion, {"topics": _chosen(request)})
            done = service_delete(principal, cluster, group_id, topic_scope(body["topics"]))
        except Problem as refused:
            problem = refused
    if done is not None and not any(item["error"] for item in done["items"]):
        messages.success(request, f"{len(done['items'])} committed offsets are deleted. Undo puts them back.")
        return redirect("group", cluster=cluster, group=group)
    context = {
        "group": {"group_id": group_id, "key": group},
        "topics": _topics(principal, cluster, group_id, request),
        "done": done,
        "problem": problem.as_dict() if problem else None,
        "section": "groups",
    }
    status = problem.kind.status if problem else 200
    return show(request, principal, "offsets/delete.html", context, cluster=cluster, status=status)


def _chosen(request: HttpRequest) -> list[dict[str, Any]]:
    chosen = scope_topics(request.POST)
    if not chosen:
        raise invalid("Nothing is chosen, so nothing is deleted.", resource="form", topic="choose one")
    return chosen


def _topics(principal: Principal, cluster: str, group_id: str, request: HttpRequest) -> list[dict[str, Any]]:
    """What is committed, by topic."""
    asked = request.POST if request.method == "POST" else request.GET
    rows = selectors.offset_list(principal, cluster, group_id)["items"]
    counts = Counter(row["topic"] for row in rows if row["committed"] is not None)
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
def undo(request: HttpRequest, principal: Principal, cluster: str, group: str) -> HttpResponse:
    """Names the resets and deletions that can be undone, shows what one of them took away, then puts it back."""
    group_id = id_from(group, "group")
    frame = {"group": {"group_id": group_id, "key": group}, "section": "groups"}
    asked = checked_or_problem(UndoParameters, given(request.GET))
    chosen = asked.pop("id", None)
    backup = None if chosen is None else int(chosen)
    if request.method == "POST":
        context = {**frame, **written(offsets_undo(principal, cluster, group_id, backup)), "what": "undo"}
        return show(request, principal, "offsets/result.html", context, cluster=cluster)
    rows = selectors.undo_list(principal, cluster, group_id, **asked)
    context = {
        **frame,
        **_would(principal, cluster, group_id, backup),
        "rows": rows,
        "pages": pages(page=asked["page"], page_size=asked["page_size"], total=rows["total"]),
    }
    return show(request, principal, "offsets/undo.html", context, cluster=cluster)


def _would(principal: Principal, cluster: str, group_id: str, backup: int | None) -> dict[str, Any]:
    """What undo would do, or why it cannot be done now."""
    try:
        would = offsets_undo(principal, cluster, group_id, backup, dry_run=True)
    except Problem as problem:
        if problem.kind is not WRONG_STATE:
            raise
        return {"problem": problem.as_dict(), "would": None}
    return {"would": would, "shown": would["items"][:PLAN_ROWS]}
