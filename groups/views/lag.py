"""The page of a group's lag over time; the same panel stands on the group's own page.

Rules: what is shown stands in the address: how far back, which topic, which partition.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET
from rest_framework import serializers

from groups.access import Principal
from groups.api.base import StrictSerializer
from groups.api.lag import TOPIC_LENGTH
from groups.keys import key_of
from groups.lag.selectors import lag_list
from groups.problems import invalid
from groups.rows import topics_of
from groups.selectors import group_snapshot
from groups.times import iso, milliseconds, now_ms
from groups.views.base import Context, checked_or_problem, given, id_from, page, show
from groups.views.chart import Point, chart

RANGES = {
    "15m": (15 * 60_000, "15 minutes"),
    "1h": (3_600_000, "hour"),
    "1d": (86_400_000, "day"),
    "14d": (14 * 86_400_000, "14 days"),
}
NEAREST = "15m"
POINTS_SHOWN = 180


class LagPageParameters(StrictSerializer):
    """Which part of a group, and how far back."""

    topic = serializers.CharField(required=False, max_length=TOPIC_LENGTH)
    partition = serializers.IntegerField(required=False, min_value=0, max_value=2**31 - 1)
    back = serializers.ChoiceField(choices=list(RANGES), default=NEAREST)


@require_GET
@page
def lag(request: HttpRequest, principal: Principal, cluster: str, group: str) -> HttpResponse:
    """A group's lag over time, whole or of one topic or partition."""
    group_id = id_from(group, "group")
    asked = checked_or_problem(LagPageParameters, given(request.GET))
    if "partition" in asked and "topic" not in asked:
        raise invalid("A partition needs its topic.", topic="choose one")
    _, snapshot = group_snapshot(principal, cluster, group_id)
    context = {
        "group": {"group_id": group_id, "key": group, "cluster": cluster},
        "lag": lag_panel(principal, cluster, group_id, asked),
        "topics": topics_of(snapshot),
        "asked": asked,
        "section": "groups",
    }
    return show(request, principal, "groups/lag.html", context, cluster=cluster)


def lag_panel(principal: Principal, cluster: str, group_id: str, asked: dict[str, Any] | None = None) -> Context:
    """What the panel shows: the chart, what stands now, the addresses of the other ranges.

    Raises Problem: 404 for an unknown group, 503 when the feed does not answer.
    """
    asked = {"back": NEAREST, **(asked or {})}
    span_ms, label = RANGES[asked["back"]]
    end = now_ms()
    scope = {name: asked[name] for name in ("topic", "partition") if name in asked}
    answer = lag_list(principal, cluster, group_id, **scope, begin_ms=end - span_ms, end_ms=end, points=POINTS_SHOWN)
    points = [Point(at=_at(row), lag=row["lag"]) for row in answer["items"]]
    known = [point.lag for point in points if point.lag is not None]
    address = reverse("lag", kwargs={"cluster": cluster, "group": key_of(group_id)})
    return {
        **answer,
        "chart": chart(points, end - span_ms, end, max(answer["step_ms"], span_ms // POINTS_SHOWN)),
        "begin": iso(end - span_ms),
        "end": iso(end),
        "least": min(known, default=None),
        "most": max(known, default=None),
        "label": label,
        "ranges": [
            {"label": text, "href": f"{address}?{urlencode({**asked, 'back': name})}", "chosen": name == asked["back"]}
            for name, (_, text) in RANGES.items()
        ],
        "href": f"{address}?{urlencode(asked)}",
        "every_ms": min(step.step_ms for step in settings.KAAS_LAG_STEPS),
    }


def _at(row: dict[str, Any]) -> int:
    return milliseconds(datetime.fromisoformat(row["at"]))
