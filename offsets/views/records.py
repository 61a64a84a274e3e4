"""The page of records around a committed offset.

Rules: where it looks stands in its address; a question that makes no sense is answered on the page that asked.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from groups.access import Principal
from groups.problems import INVALID, NOT_FOUND, Problem
from groups.views.base import Context, checked_or_problem, given, id_from, page, show
from offsets.api.records import RecordParameters, record_query
from offsets.decoding.values import SHOWN_AS
from offsets.record_selectors import RECORDS_SEARCHED, record_list
from offsets.selectors import offset_list

SHOWN_BYTES = 4_096
"""Of each key, value and header the page shows so much; the API has more."""

AROUNDS = (5, 20, 50)


@require_GET
@page
def records(request: HttpRequest, principal: Principal, cluster: str, group: str) -> HttpResponse:
    """What a group did last in a partition and what comes next, or what lies at a time or an offset."""
    group_id = id_from(group, "group")
    places = [(row["topic"], row["partition"]) for row in offset_list(principal, cluster, group_id)["items"]]
    values = _placed(given(request.GET), places)
    context: Context = {
        "group": {"group_id": group_id, "key": group},
        "topics": sorted({topic for topic, _ in places}),
        "partitions": sorted(partition for topic, partition in places if topic == values.get("topic")),
        "arounds": AROUNDS,
        "shown_as": SHOWN_AS,
        "asked": {"around": "5", "show_as": "auto", **values},
        "searched": RECORDS_SEARCHED,
        "section": "groups",
    }
    status = 200
    if places:
        try:
            context |= _answered(principal, cluster, group_id, values)
        except Problem as problem:
            if problem.kind not in (INVALID, NOT_FOUND):
                raise
            context["problem"], status = problem.as_dict(), problem.kind.status
    return show(request, principal, "offsets/records.html", context, cluster=cluster, status=status)


def _placed(values: dict[str, str], places: list[tuple[str, int]]) -> dict[str, str]:
    """The question with its topic and partition; what is left out is the group's first."""
    if not places:
        return values
    topic = values.get("topic", places[0][0])
    first = next((str(partition) for name, partition in places if name == topic), "0")
    return {**values, "topic": topic, "partition": values.get("partition", first)}


def _answered(principal: Principal, cluster: str, group_id: str, values: dict[str, str]) -> Context:
    asked = record_query(checked_or_problem(RecordParameters, values), shown_bytes=SHOWN_BYTES)
    answer = record_list(principal, cluster, group_id, asked)
    return {
        "answer": answer,
        "rows": (rows := _rows(answer)),
        "all_done": bool(rows) and answer["committed"] is not None and rows[-1]["side"] == "before",
        "api_query": urlencode(values),
        **_neighbours(answer, values),
    }


def _rows(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """The records; the one that comes next is marked, so that the page draws its line above it. A place that lies far
    behind the commit has no such line: there nothing comes next."""
    committed, rows = answer["committed"], []
    seen = committed is None or answer["looked_from"] > max(committed, answer["log_start"] or 0)
    for row in answer["items"]:
        is_next = not seen and row["side"] == "after"
        seen = seen or is_next
        rows.append({**row, "is_next": is_next})
    return rows


def _neighbours(answer: dict[str, Any], values: dict[str, str]) -> Context:
    """The addresses of the stretches before and behind this one, null at the ends of the log."""
    place = {name: value for name, value in values.items() if name not in ("at", "offset")}
    width = max(1, (answer["looked_to"] - answer["looked_from"]) // 2)
    older, newer = answer["looked_from"] - width, answer["looked_to"] + width
    at_start = answer["looked_from"] <= (answer["log_start"] or 0)
    at_end = answer["looked_to"] >= (answer["log_end"] or 0)
    return {
        "older": None if at_start else "?" + urlencode({**place, "offset": max(0, older)}),
        "newer": None if at_end else "?" + urlencode({**place, "offset": newer}),
        "committed_place": "?" + urlencode(place),
        "earliest": "?" + urlencode({**place, "offset": answer["log_start"] or 0}),
    }
