"""Offsets as files in the format of Kafka's own tool: what is committed, and what a plan would write.

Rules: a file is named after its group; what it holds is what `kafka-consumer-groups --reset-offsets --from-file` takes.
"""

from __future__ import annotations

import uuid

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from groups.access import Principal
from groups.views.base import id_from, page
from offsets import selectors
from offsets.csv_format import csv_from_offsets


@require_GET
@page
def offsets_csv(request: HttpRequest, principal: Principal, cluster: str, group: str) -> HttpResponse:
    """What a group has committed."""
    rows = selectors.offset_list(principal, cluster, id_from(group, "group"))["items"]
    held = {(row["topic"], row["partition"]): row["committed"] for row in rows if row["committed"] is not None}
    return _file(csv_from_offsets(held), f"{group}.csv")


@require_GET
@page
def plan_csv(request: HttpRequest, principal: Principal, cluster: str, group: str, plan: uuid.UUID) -> HttpResponse:
    """What a plan would write."""
    row = selectors.plan_get(principal, cluster, id_from(group, "group"), plan)
    return _file(row["csv"], f"{group}-plan.csv")


def _file(text: str, name: str) -> HttpResponse:
    """The key of a group is safe in a file's name; a long one is cut."""
    return HttpResponse(
        text,
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name[-200:]}"'},
    )
