"""Reads of lag: over time, and all that is known of it now.

Job: rows in the API's shapes, for pages, API and sockets alike.
Rules: the principal comes first. What stands is counted to the logs' ends, and the answer says so; what is not known is null
and said in a sentence.
Must not know: requests, templates.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings

from groups.access import Principal
from groups.feeds import ClusterFeed, feed_of
from groups.index import GroupRow
from groups.lag.behind import CAUGHT_UP, Behind, behind_text, longest
from groups.lag.judging import flow_of
from groups.lag.series import Point, Scope, behind_of, points_of, step_for
from groups.lag.states import status_text
from groups.lag.window import Flow, time_to_clear_ms, time_to_clear_text
from groups.selectors import group_snapshot, listing
from groups.times import iso, now_ms, with_twins

Row = dict[str, Any]

LOG_END = "log_end"
"""The end to which lag over time is counted."""


def lag_list(
    principal: Principal,
    cluster_name: str,
    group_id: str,
    *,
    topic: str | None = None,
    partition: int | None = None,
    begin_ms: int,
    end_ms: int,
    points: int,
) -> Row:
    """The lag of a group, a topic of it or a partition between two moments, and all that is known of the group's lag now.

    Raises Problem: 404 for an unknown group, 503 when the feed does not answer.
    """
    cluster, snapshot = group_snapshot(principal, cluster_name, group_id)
    feed = feed_of(cluster.name)
    step = step_for(now_ms(), begin_ms, end_ms, points)
    scope = Scope(topic=topic, partition=partition)
    found = points_of(cluster.name, group_id, scope, step, begin_ms, end_ms, points)
    return {
        **listing([_point_row(point) for point in found]),
        "errors": feed.problems(),
        "snapshot_age_ms": feed.age_ms(snapshot.coordinator),
        "end": LOG_END,
        "step_ms": step.step_ms,
        "kept": [{"step_ms": one.step_ms, "kept_ms": one.kept_ms} for one in settings.KAAS_LAG_STEPS],
        "now": lag_now(feed, group_id),
    }


def lag_now(feed: ClusterFeed, group_id: str) -> Row | None:
    """What is known of a group's lag at this moment; null for a group that this process does not know (yet)."""
    row = feed.index.rows.get(group_id)
    if row is None:
        return None
    oldest = _oldest(feed.cluster.name, row)
    flow = flow_of(feed.index, row, now_ms())
    return {
        **lag_of_row(row),
        **_flow_row(row.total_lag(), flow),
        "behind": behind_row(oldest),
        "behind_text": behind_text(oldest),
    }


def lag_of_row(row: GroupRow) -> Row:
    """Lag and status of a group with the reason: what costs no question."""
    ruling = row.ruling()
    return with_twins(
        {
            "total_lag": row.total_lag(),
            "lag_status": row.lag_status().value,
            "lag_status_text": ruling.text if ruling else status_text(row.lag_status()),
            "lag_status_topic": ruling.topic if ruling else None,
            "lag_status_partition": ruling.partition if ruling else None,
            "lag_status_others": ruling.others if ruling else 0,
        }
    )


def behind_row(one: Behind | None) -> Row | None:
    """How far behind in time, with the resolution; null where nothing tells."""
    return None if one is None else {"ms": one.ms, "resolution_ms": one.resolution_ms, "at_least": one.at_least}


def _oldest(cluster: str, row: GroupRow) -> Behind | None:
    waiting = {
        (part.log.name, partition): (committed, end)
        for part in row.committed
        for partition, committed in part.committed()
        if (end := part.log.known_ends(partition)[1]) is not None and committed < end
    }
    if waiting:
        return longest(behind_of(cluster, waiting, now_ms()).values())
    return CAUGHT_UP if row.total_lag() == 0 else None


def _flow_row(lag: int | None, flow: Flow | None) -> Row:
    known = lag is not None and flow is not None
    return {
        "produced_per_s": None if flow is None else round(flow.produced_per_s, 3),
        "consumed_per_s": None if flow is None else round(flow.consumed_per_s, 3),
        "rates_over_ms": None if flow is None else flow.over_ms,
        "clears_in_ms": time_to_clear_ms(lag, flow) if known else None,
        "clears_text": time_to_clear_text(lag, flow),
    }


def _point_row(point: Point) -> Row:
    return {
        "at": iso(point.at),
        **with_twins({"lag": point.lag, "committed": point.committed, "log_end": point.log_end}),
    }
