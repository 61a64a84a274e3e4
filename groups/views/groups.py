"""The groups list, a group's rebalances; deleting a group and removing a member.

Rules: a write asks first on a page of its own, which a dialog shows in place where scripts run; what a broker refuses is
said on that page. Every bit of what a list shows stands in its address.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET

from groups import selectors, services
from groups.access import Principal, cluster_of
from groups.api import serializers as shapes
from groups.api.parameters import GroupListParameters, RebalanceListParameters, group_query, rebalance_query
from groups.choices import GroupState, GroupType
from groups.problems import INVALID, Problem, not_found
from groups.views.base import Context, checked_or_problem, given, id_from, page, show
from groups.views.listing import FILTERS, LISTS, columns, counters, is_filtered, pages
from groups.views.recorded import Scrub, recorded
from kaas.feed.types import CAUSES


@require_GET
@page
def groups(request: HttpRequest, principal: Principal, cluster: str) -> HttpResponse:
    """The groups of a cluster."""
    cluster_of(principal, cluster)
    if shorter := _shorter(request):
        return redirect(shorter)
    context: Context = {"section": "groups", "states": GroupState.choices, "types": GroupType.choices}
    try:
        asked = checked_or_problem(GroupListParameters, given(request.GET, LISTS))
        context |= _listed(request, principal, cluster, asked)
    except Problem as problem:
        if problem.kind is not INVALID:
            raise
        asked = {**dict.fromkeys(FILTERS), **given(request.GET, LISTS)}
        context |= {"problem": problem.as_dict(), "asked": asked, "filtered": True}
    return show(
        request, principal, "groups/list.html", context, cluster=cluster, status=400 if "problem" in context else 200
    )


def _listed(request: HttpRequest, principal: Principal, cluster: str, asked: dict[str, Any]) -> Context:
    answer = selectors.group_list(principal, cluster, group_query(asked))
    return {
        "answer": answer,
        "asked": {**dict.fromkeys(FILTERS), **asked},
        "columns": columns(asked["ordering"]),
        "counters": counters(answer["counters"], asked),
        "filtered": is_filtered(asked),
        "kept": [(name, value) for name, values in request.GET.lists() if name in FILTERS for value in values],
        "pages": pages(page=asked["page"], page_size=asked["page_size"], total=answer["total"]),
        "brokers": selectors.broker_list(principal, cluster)["items"],
    }


def _shorter(request: HttpRequest) -> str | None:
    """The address that asks the same in fewer words, null when this one is as short as can be.

    A form without scripts sends its blank fields too, and says by `mode` that the search is a regular expression.
    """
    values = [(name, one) for name in request.GET for one in request.GET.getlist(name)]
    if request.GET.get("mode") == "regex":
        values = [("regex" if name == "search" else name, one) for name, one in values]
    kept = [(name, one) for name, one in values if one and name != "mode"]
    if len(kept) == len(values):
        return None
    return f"{request.path}?{urlencode(kept)}" if kept else request.path


@require_GET
@page
def rebalances(request: HttpRequest, principal: Principal, cluster: str, group: str) -> HttpResponse:
    """Every rebalance of a group that is remembered."""
    group_id = id_from(group, "group")
    asked = checked_or_problem(RebalanceListParameters, given(request.GET, ["cause"]))
    answer = selectors.rebalance_list(principal, cluster, group_id, **rebalance_query(asked))
    context = {
        "group": {"group_id": group_id, "key": group},
        "history": answer,
        "asked": asked,
        "causes": CAUSES,
        "pages": pages(page=asked["page"], page_size=asked["page_size"], total=answer["total"]),
        "section": "groups",
    }
    return show(request, principal, "groups/rebalances.html", context, cluster=cluster)


@require_GET
@page
def rebalance(request: HttpRequest, principal: Principal, cluster: str, group: str, number: int) -> HttpResponse:
    """One rebalance: its causes, what each member did, what moved."""
    group_id = id_from(group, "group")
    row = selectors.rebalance_get(principal, cluster, group_id, number)
    first, last = selectors.rebalance_span(principal, cluster, group_id) or (number, number)
    context = {
        "group": {"group_id": group_id, "key": group},
        "rebalance": row,
        "drawn": recorded(row),
        "scrub": Scrub(first=first, last=last, at=number),
        "section": "groups",
    }
    return show(request, principal, "groups/rebalance.html", context, cluster=cluster)


@page
def group_delete(request: HttpRequest, principal: Principal, cluster: str, group: str) -> HttpResponse:
    """Asks what goes with the group, then deletes it."""
    group_id = id_from(group, "group")
    if request.method == "POST":
        try:
            services.group_delete(principal, cluster, group_id)
        except Problem as problem:
            return _refused(request, principal, "groups/delete.html", cluster, group, {"problem": problem})
        messages.success(request, f"The group {group_id} is deleted. Undo puts its offsets back.")
        return redirect("group", cluster=cluster, group=group)
    would = services.group_delete(principal, cluster, group_id, dry_run=True)
    context = {"group": {"group_id": group_id, "key": group}, "would": would, "section": "groups"}
    return show(request, principal, "groups/delete.html", context, cluster=cluster)


@page
def member_remove(request: HttpRequest, principal: Principal, cluster: str, group: str, member: str) -> HttpResponse:
    """Asks why, then removes a member; the group rebalances without it."""
    group_id, member_id = id_from(group, "group"), id_from(member, "member")
    row = _member(principal, cluster, group_id, member_id)
    if request.method == "POST":
        try:
            body = checked_or_problem(shapes.MemberRemoval, given(request.POST))
            services.member_remove(principal, cluster, group_id, member_id, reason=body["reason"])
        except Problem as problem:
            context = {"problem": problem, "member": row, "form": request.POST}
            return _refused(request, principal, "groups/member_remove.html", cluster, group, context)
        messages.success(request, f"{row['client_id'] or member_id} is removed; the group rebalances without it.")
        return redirect("group", cluster=cluster, group=group)
    services.member_remove(principal, cluster, group_id, member_id, reason="", dry_run=True)
    context = {"group": {"group_id": group_id, "key": group}, "member": row, "section": "groups"}
    return show(request, principal, "groups/member_remove.html", context, cluster=cluster)


def _member(principal: Principal, cluster: str, group_id: str, member_id: str) -> dict[str, Any]:
    for row in selectors.member_list(principal, cluster, group_id)["items"]:
        if row["member_id"] == member_id:
            return row
    raise not_found(f"member {member_id} of group {group_id}")


def _refused(
    request: HttpRequest, principal: Principal, template: str, cluster: str, key: str, context: Context
) -> HttpResponse:
    """The page that asked, once more, with what was refused and why."""
    problem: Problem = context["problem"]
    frame = {"group": {"group_id": id_from(key, "group"), "key": key}, "section": "groups"}
    shown = {**frame, **context, "problem": problem.as_dict()}
    return show(request, principal, template, shown, cluster=cluster, status=problem.kind.status)
