"""Reads of offsets: per partition with its lag, plans, the armed reset, what can be undone.

Job: rows in the API's shapes, for pages, API and sockets alike.
Rules: the principal comes first; offsets and log ends come from the feed.
Must not know: requests, templates.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from groups.access import Principal, cluster_of, require_visible
from groups.backups import backups_usable
from groups.feeds import feed_of
from groups.lag.states import lag_of
from groups.models import OffsetBackup
from groups.redis_store import snapshot_of, topic_views
from groups.rows import Partition, log_of, owners, place_of, topics_of
from groups.selectors import group_snapshot, listing
from groups.times import iso, with_twins
from kaas.feed.types import MemberView, OffsetView, Snapshot, TopicView
from offsets.choices import PlanStatus
from offsets.models import ResetPlan
from offsets.plan_life import plan_find, plan_row
from offsets.requests import reset_request

Row = dict[str, Any]


def offset_list(principal: Principal, cluster_name: str, group_id: str) -> Row:
    """Every partition in which a group committed, and those that a member owns without a commit.

    Raises Problem: 404 for an unknown group, 503 when the feed does not answer.
    """
    cluster, snapshot = group_snapshot(principal, cluster_name, group_id)
    rows = offset_rows(snapshot, topic_views(cluster.name, topics_of(snapshot)))
    feed = feed_of(cluster.name)
    return {**listing(rows), "errors": feed.problems(), "snapshot_age_ms": feed.age_ms(snapshot.coordinator)}


def offset_rows(snapshot: Snapshot, views: Mapping[str, TopicView]) -> list[Row]:
    """A group's partitions with their lag, sorted."""
    held = {place_of(key): offset for key, offset in snapshot.offsets.items()}
    owned = owners(snapshot)
    return [
        _offset_row(snapshot.at, place, held.get(place), views.get(place[0]), owned.get(place))
        for place in sorted({*held, *owned})
    ]


def _offset_row(
    at: int, place: Partition, offset: OffsetView | None, view: TopicView | None, owner: MemberView | None
) -> Row:
    start, end, last_stable = log_of(at, place[1], offset, view)
    committed = offset.committed if offset else None
    lag = lag_of(committed=committed, log_start=start, log_end=end, last_stable=last_stable)
    return with_twins(
        {
            "topic": place[0],
            "partition": place[1],
            "log_start": start,
            "committed": committed,
            "log_end": end,
            "last_stable": last_stable,
            "lag": lag.records,
            "lag_stable": lag.stable,
            "lag_state": lag.state.value,
            "lost": lag.lost,
            "metadata": offset.metadata if offset else None,
            "leader_epoch": offset.leader_epoch if offset else None,
            "committed_at": iso(offset.committed_at) if offset else None,
            "owner": owner.member_id if owner else None,
            "owner_client_id": owner.client_id if owner else None,
        }
    )


def plan_get(principal: Principal, cluster_name: str, group_id: str, plan_id: uuid.UUID) -> Row:
    """A plan as it stands.

    Raises Problem (404).
    """
    cluster, plan = plan_find(principal, cluster_name, group_id, plan_id)
    row = plan_row(plan, cluster, reset_request(plan.request), snapshot_of(cluster.name, group_id))
    return {**row, "errors": []}


def undo_list(principal: Principal, cluster_name: str, group_id: str, *, page: int, page_size: int) -> Row:
    """The resets and deletions of a group that can be undone, the newest first. A group that is gone may have some.

    Raises Problem (404).
    """
    cluster = cluster_of(principal, cluster_name)
    require_visible(principal, cluster, group_id)
    rows, first = backups_usable(cluster.name, group_id), (page - 1) * page_size
    found = [_undo_row(backup) for backup in rows[first : first + page_size]]
    return listing(found, total=rows.count(), page=page)


def _undo_row(backup: OffsetBackup) -> Row:
    return {
        "id": str(backup.pk),
        "at": backup.taken_at.isoformat(timespec="milliseconds"),
        "actor": backup.actor,
        "action": backup.action,
        "topics": sorted({place.rpartition("/")[0] for place in backup.offsets}),
        "partitions": len(backup.offsets),
    }


def armed_reset(cluster: str, group_id: str) -> Row | None:
    """The reset that waits for a group to empty: which plan, who armed it, when, until when."""
    plan = ResetPlan.objects.of_group(cluster, group_id).filter(status=PlanStatus.ARMED).first()
    if plan is None:
        return None
    return {
        "id": str(plan.id),
        "by": plan.actor,
        "at": plan.armed_at.isoformat(timespec="milliseconds"),
        "expires_at": plan.expires_at.isoformat(timespec="milliseconds"),
    }
