"""The way in, and what a cluster is made of: topics and brokers."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET

from groups import selectors
from groups.access import Principal
from groups.views.base import page, show
from groups.views.listing import Column, columns

PARTITIONS_SHOWN = 200

TOPIC_LAG = Column(name="topic_lag", label="Lag here", ordering="", aria_sort="", numeric=True)
"""The column that a topic's page has beside those of the list."""


@require_GET
@page
def home(request: HttpRequest, principal: Principal) -> HttpResponse:
    """The clusters that one may see; the only one opens by itself."""
    clusters = selectors.cluster_list(principal)["items"]
    if len(clusters) == 1:
        return redirect("groups", cluster=clusters[0]["name"])
    return show(request, principal, "groups/clusters.html", {"section": "clusters"})


@require_GET
@page
def topics(request: HttpRequest, principal: Principal, cluster: str) -> HttpResponse:
    """The topics of a cluster, and how many groups read each."""
    context = {"rows": selectors.topic_list(principal, cluster), "section": "topics"}
    return show(request, principal, "groups/topics.html", context, cluster=cluster)


@require_GET
@page
def topic(request: HttpRequest, principal: Principal, cluster: str, topic: str) -> HttpResponse:
    """A topic: who reads it and how far each is behind in it, and the ends of its logs."""
    rows = selectors.topic_group_list(principal, cluster, topic)
    partitions = selectors.topic_partitions(principal, cluster, topic)
    context = {
        "topic": topic,
        "rows": rows,
        "columns": [*columns(""), TOPIC_LAG],
        "partitions": partitions[:PARTITIONS_SHOWN],
        "partition_count": len(partitions),
        "partitions_hidden": max(0, len(partitions) - PARTITIONS_SHOWN),
        "records": sum(row["records"] or 0 for row in partitions),
        "section": "topics",
    }
    return show(request, principal, "groups/topic.html", context, cluster=cluster)


@require_GET
@page
def brokers(request: HttpRequest, principal: Principal, cluster: str) -> HttpResponse:
    """The brokers of a cluster, and how long ago each was heard."""
    context = {"rows": selectors.broker_list(principal, cluster), "section": "brokers"}
    return show(request, principal, "groups/brokers.html", context, cluster=cluster)
