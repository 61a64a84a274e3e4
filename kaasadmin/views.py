"""Pages that are put together from more than one app, and what is shown where no page is.

Job: one group's page (groups and offsets side by side), and the answers to addresses and errors that nobody expected.
Rules: thin; every part comes from its own app.
"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from groups import selectors
from groups.access import Principal, cluster_of, refusal
from groups.backups import backup_latest
from groups.choices import Role
from groups.keys import key_of
from groups.problems import NOT_FOUND, Problem
from groups.views.base import id_from, page, show
from groups.views.lag import lag_panel
from groups.views.phase import phase_words
from groups.views.recorded import Scrub, recorded
from offsets.selectors import offset_list

REBALANCES_SHOWN = 6
"""Rebalances on a group's page; the others have a page of their own."""

MEMBERS_SHOWN = 50
"""Members on a group's page before somebody asks for all of them."""

OFFSETS_SHOWN = 100
"""Partitions on a group's page before somebody asks for all of them."""

LAG_OF_A_FULL_BAR = 100
"""Lag is drawn against the largest of the group, or against this: three records behind are no full bar."""

NUMBER_DIGITS = 9

PAST = (
    "started_at",
    "ended_at",
    "phases",
    "cause",
    "cause_text",
    "member_id",
    "detail",
    "also",
    "generation_after",
    "kind",
)
"""What the timeline needs of a rebalance that was over before the page was opened."""


@require_GET
@page
def group(request: HttpRequest, principal: Principal, cluster: str, group: str) -> HttpResponse:
    """One group: what it does now, why it rebalanced, its members and offsets."""
    group_id = id_from(group, "group")
    try:
        row = selectors.group_get(principal, cluster, group_id)
    except Problem as problem:
        if problem.kind is not NOT_FOUND:
            raise
        return _missing(request, principal, cluster, group_id)
    history = selectors.rebalance_list(principal, cluster, group_id, page=1, page_size=REBALANCES_SHOWN)
    offsets = offset_list(principal, cluster, group_id)
    span = selectors.rebalance_span(principal, cluster, group_id)
    at = _number(request.GET.get("at", ""))
    past = None if at is None else selectors.rebalance_get(principal, cluster, group_id, at)
    everybody, everything = (request.GET.get(name) == "all" for name in ("members", "offsets"))
    context = {
        "group": row,
        "phase": phase_words(row),
        "members": row["members"] if everybody else row["members"][:MEMBERS_SHOWN],
        "history": history,
        "lag": lag_panel(principal, cluster, group_id),
        "offsets": offsets,
        "offset_rows": offsets["items"] if everything else offsets["items"][:OFFSETS_SHOWN],
        "offset_topics": sorted({one["topic"] for one in offsets["items"]}),
        "largest_lag": max([LAG_OF_A_FULL_BAR, *(one["lag"] or 0 for one in offsets["items"])]),
        "scrub": Scrub(first=span[0], last=span[1], at=at) if span else None,
        "recorded": past,
        "drawn": recorded(past) if past else None,
        "backup": backup_latest(cluster, group_id),
        "lanes_past": [{name: one[name] for name in PAST} for one in history["items"]],
        "section": "groups",
    }
    return show(request, principal, "group.html", context, cluster=cluster)


def _number(text: str) -> int | None:
    """The number of a rebalance in an address, null for the present."""
    return int(text) if text.isdecimal() and len(text) <= NUMBER_DIGITS else None


def _missing(request: HttpRequest, principal: Principal, cluster: str, group_id: str) -> HttpResponse:
    """A group that is not there (any more): its page waits for it, and shows what it left behind."""
    cluster_of(principal, cluster)
    context: dict[str, Any] = {"group": {"group_id": group_id, "key": key_of(group_id)}, "section": "groups"}
    try:
        history = selectors.rebalance_list(principal, cluster, group_id, page=1, page_size=REBALANCES_SHOWN)
    except Problem:
        history = None
    context["history"] = history
    may_undo = refusal(principal, Role.OPERATE, cluster_of(principal, cluster), group_id) is None
    context["backup"] = backup_latest(cluster, group_id) if may_undo else None
    return show(request, principal, "groups/missing.html", context, cluster=cluster, status=404)
