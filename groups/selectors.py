"""Reads: what pages, API and sockets show. Each takes the principal first and shows nothing that it may not see.

Job: lists, descriptions, history, topics, brokers, audit rows, tokens, as rows in the API's shapes.
Rules: lists answer from this process's index, one group from the feed's hash; no broker is asked, ever. A list is
`{items, errors, total, page, snapshot_age_ms}` and more beside it.
Must not know: requests, templates.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

import msgspec
from django.db.models import Max, Min

from groups.access import Principal, cluster_of, group_visible, refusal, require_visible
from groups.choices import Role
from groups.clusters import Cluster, clusters
from groups.extension import described_beside
from groups.feeds import ClusterFeed, feed_of
from groups.fields import id_digest
from groups.flapping import LOOKED_AT, flapping
from groups.index import GroupRow
from groups.lag.ends import TopicLog
from groups.models import AuditRow, Rebalance, Token
from groups.problems import FAILED, Problem, not_found
from groups.query import GroupQuery, group_page, group_rows
from groups.redis_store import snapshot_of, topic_views
from groups.rows import actions_refused, describe, list_item, rebalance_row, topics_of
from groups.times import now_ms, with_twins
from kaas.feed.types import BrokerView, RebalanceRecord, Snapshot

Row = dict[str, Any]

AUDIT_ROWS_SEARCHED = 10_000
"""How far back somebody who may not see everything is shown audit rows: each one has to be asked for."""


def listing(items: Sequence[Row], *, feed: ClusterFeed | None = None, total: int | None = None, page: int = 1) -> Row:
    """The envelope of a list; `feed` adds what the cluster's feed says of its age and its gaps."""
    return {
        "items": list(items),
        "errors": feed.problems() if feed else [],
        "total": len(items) if total is None else total,
        "page": page,
        "snapshot_age_ms": feed.age_ms() if feed else None,
    }


def cluster_list(principal: Principal) -> Row:
    """The clusters that a principal may see, and how each is read."""
    seen = [row for row in clusters().values() if principal.role_anywhere(row.name) is not None]
    return listing([_cluster_row(cluster) for cluster in seen])


def _cluster_row(cluster: Cluster) -> Row:
    feed = feed_of(cluster.name)
    return {
        "name": cluster.name,
        "bootstrap": cluster.bootstrap,
        "source": cluster.source,
        "read_only": cluster.read_only,
        "connected": feed.loaded and not feed.reader.is_cut_off(),
        "snapshot_age_ms": feed.age_ms(),
        "group_count": len(feed.index.rows),
        "topic_count": sum(log.known for log in feed.index.topics.values()),
        "broker_count": len(feed.index.brokers),
    }


def group_list(principal: Principal, cluster_name: str, query: GroupQuery) -> Row:
    """One page of a cluster's groups, and counters by state under the other filters.

    Raises Problem: 404 for an unknown cluster, 503 while its feed was never read.
    """
    feed = loaded_feed(principal, cluster_name)
    page = group_page(feed.index, _for_eyes(principal, feed, query))
    items = [list_item(cluster_name, row) for row in page.rows]
    answer = listing(items, feed=feed, total=page.total, page=query.page)
    answer["errors"] += _unreadable(page.rows)
    return {**answer, "counters": page.counters}


def group_export(principal: Principal, cluster_name: str, query: GroupQuery) -> list[GroupRow]:
    """Every row that a list would show, whatever its page.

    Raises Problem: 404 for an unknown cluster, 503 while its feed was never read.
    """
    feed = loaded_feed(principal, cluster_name)
    return group_rows(feed.index, _for_eyes(principal, feed, query))


def group_snapshot(principal: Principal, cluster_name: str, group_id: str) -> tuple[Cluster, Snapshot]:
    """A group as the feed has it.

    Raises Problem: 404 for an unknown or invisible cluster or group, 503 when the feed does not answer.
    """
    cluster = cluster_of(principal, cluster_name)
    require_visible(principal, cluster, group_id)
    snapshot = snapshot_of(cluster.name, group_id)
    if snapshot is None:
        raise not_found(f"group {group_id}")
    return cluster, snapshot


def group_get(principal: Principal, cluster_name: str, group_id: str) -> Row:
    """A group described.

    Raises Problem as group_snapshot does.
    """
    cluster, snapshot = group_snapshot(principal, cluster_name, group_id)
    return group_description(principal, cluster, snapshot)


def group_description(principal: Principal, cluster: Cluster, snapshot: Snapshot) -> Row:
    """A snapshot described for one principal: with its actions, its age and what other apps say of it."""
    feed = feed_of(cluster.name)
    heartbeats = feed.index.heartbeats.get(snapshot.group_id, {})
    listed = feed.index.rows.get(snapshot.group_id)
    verdict = listed.verdict if listed else None
    row = describe(snapshot, topic_views(cluster.name, topics_of(snapshot)), heartbeats, now_ms(), verdict)
    row["actions"] = actions_for(principal, cluster, snapshot.group_id, row["actions"])
    row["snapshot_age_ms"] = feed.age_ms(snapshot.coordinator)
    for name, ask in described_beside.items():
        row[name] = ask(cluster.name, snapshot.group_id)
    return row


def actions_for(principal: Principal, cluster: Cluster, group_id: str, actions: Row) -> Row:
    """Actions as the group's state allows them, less what this principal may not do at all."""
    why = refusal(principal, Role.OPERATE, cluster, group_id)
    return actions if why is None else actions_refused(actions, why.message)


def member_list(principal: Principal, cluster_name: str, group_id: str) -> Row:
    """A group's members.

    Raises Problem as group_snapshot does.
    """
    row = group_get(principal, cluster_name, group_id)
    return {**listing(row["members"]), "snapshot_age_ms": row["snapshot_age_ms"]}


def rebalance_list(
    principal: Principal,
    cluster_name: str,
    group_id: str,
    *,
    causes: Iterable[str] = (),
    begin: datetime | None = None,
    end: datetime | None = None,
    page: int,
    page_size: int,
) -> Row:
    """A group's rebalances, the newest first, of these causes (all when none is named) and this time; beside them what makes
    the group flap now. Those of a deleted group stay until the history forgets them.

    Raises Problem (404) for a group that is not there and never rebalanced.
    """
    cluster = cluster_of(principal, cluster_name)
    require_visible(principal, cluster, group_id)
    everything = Rebalance.objects.of_group(cluster.name, group_id)
    if not everything.exists():
        group_snapshot(principal, cluster_name, group_id)
    given = {"cause__in": list(causes), "ended_at__gte": begin, "ended_at__lt": end}
    rows = everything.filter(**{name: value for name, value in given.items() if value})
    first = (page - 1) * page_size
    items = [_history_row(row) for row in rows[first : first + page_size]]
    found = flapping(_records(everything[:LOOKED_AT]), now_ms())
    return {
        **listing(items, total=rows.count(), page=page),
        "flapping": None if found is None else asdict(found),
    }


def _records(rows: Iterable[Rebalance]) -> list[RebalanceRecord]:
    return [msgspec.convert(row.record, RebalanceRecord) for row in rows]


def rebalance_get(principal: Principal, cluster_name: str, group_id: str, number: int) -> Row:
    """One rebalance with its moves.

    Raises Problem (404) when there is none of that number.
    """
    cluster = cluster_of(principal, cluster_name)
    require_visible(principal, cluster, group_id)
    row = Rebalance.objects.of_group(cluster.name, group_id).filter(number=number).first()
    if row is None:
        raise not_found(f"rebalance {number} of group {group_id}")
    return _history_row(row)


def rebalance_span(principal: Principal, cluster_name: str, group_id: str) -> tuple[int, int] | None:
    """The oldest and the newest number that is remembered of a group; null for none.

    Raises Problem (404) for what may not be seen.
    """
    cluster = cluster_of(principal, cluster_name)
    require_visible(principal, cluster, group_id)
    found = Rebalance.objects.of_group(cluster.name, group_id).order_by().aggregate(Min("number"), Max("number"))
    return None if found["number__max"] is None else (found["number__min"], found["number__max"])


def _history_row(row: Rebalance) -> Row:
    return {"number": row.number, **rebalance_row(msgspec.convert(row.record, RebalanceRecord))}


def topic_list(principal: Principal, cluster_name: str) -> Row:
    """The topics of a cluster that a principal may see: all, or those that its groups read.

    Raises Problem as group_list does.
    """
    feed = loaded_feed(principal, cluster_name)
    visible = group_visible(principal, cluster_name)
    whole = principal.sees_all(cluster_name)
    rows = []
    for name, log in sorted(feed.index.topics.copy().items()):
        readers = sum(visible(row.group_id) for row in feed.index.readers_of(name))
        if readers or (whole and log.known):
            rows.append(_topic_row(log, readers))
    return listing(rows, feed=feed)


def _topic_row(log: TopicLog, readers: int) -> Row:
    return {
        "topic": log.name,
        "partition_count": len(log.ends),
        "internal": log.internal,
        "known": log.known,
        "group_count": readers,
    }


def topic_group_list(principal: Principal, cluster_name: str, topic: str) -> Row:
    """Who reads a topic, or committed there.

    Raises Problem (404) for a topic that nobody knows, or 503 as group_list does.
    """
    feed = loaded_feed(principal, cluster_name)
    answer = group_list(principal, cluster_name, GroupQuery(topic=topic, page_size=max(1, len(feed.index.rows))))
    known = feed.index.topics.get(topic)
    if not answer["items"] and not (known and known.known and principal.sees_all(cluster_name)):
        raise not_found(f"topic {topic}")
    del answer["counters"]
    items = [with_twins({**item, "topic_lag": _lag_in(feed, item["group_id"], topic)}) for item in answer["items"]]
    return {**answer, "items": items}


def _lag_in(feed: ClusterFeed, group_id: str, topic: str) -> int | None:
    """A group's lag in one of its topics, null where none is known."""
    row = feed.index.rows.get(group_id)
    return next((part.lag()[0] for part in row.committed if part.log.name == topic), None) if row else None


def topic_partitions(principal: Principal, cluster_name: str, topic: str) -> list[Row]:
    """The partitions of a topic with the ends of their logs, null where they are not known; whoever asks has seen who
    reads it (topic_group_list)."""
    log = loaded_feed(principal, cluster_name).index.topics.get(topic)
    rows = []
    for partition in range(len(log.ends) if log else 0):
        start, end = log.known_ends(partition)
        held = None if start is None or end is None else end - start
        rows.append(with_twins({"partition": partition, "log_start": start, "log_end": end, "records": held}))
    return rows


def broker_list(principal: Principal, cluster_name: str) -> Row:
    """The brokers of a cluster and how long ago each was heard.

    Raises Problem as group_list does.
    """
    feed = loaded_feed(principal, cluster_name)
    brokers = sorted(feed.index.brokers.copy().values(), key=lambda broker: broker.id)
    return listing([_broker_row(broker) for broker in brokers], feed=feed)


def _broker_row(broker: BrokerView) -> Row:
    return {
        "id": broker.id,
        "host": broker.host,
        "port": broker.port,
        "state": broker.state,
        "lease_age_ms": max(0, now_ms() - broker.at),
        "assignment_version": broker.assignment_version,
        "group_count": broker.group_count,
        "error": broker.error,
    }


def audit_list(
    principal: Principal,
    *,
    cluster: str = "",
    group_id: str | None = None,
    actor: str = "",
    action: str = "",
    page: int,
    page_size: int,
) -> Row:
    """Audit rows, the newest first: all of them for an administrator, else those of visible groups."""
    rows = AuditRow.objects.all()
    if group_id is not None:
        rows = rows.filter(group_digest=id_digest(group_id))
    given = {"cluster": cluster, "actor": actor, "action": action}
    rows = rows.filter(**{name: value for name, value in given.items() if value})
    first = (page - 1) * page_size
    if principal.is_admin():
        return listing([_audit_row(row) for row in rows[first : first + page_size]], total=rows.count(), page=page)
    seen = [row for row in rows[:AUDIT_ROWS_SEARCHED] if row.cluster and _may_see(principal, row)]
    return listing([_audit_row(row) for row in seen[first : first + page_size]], total=len(seen), page=page)


def _may_see(principal: Principal, row: AuditRow) -> bool:
    return principal.role_on(row.cluster, row.group_id) is not None


def _audit_row(row: AuditRow) -> Row:
    return {
        "id": row.pk,
        "at": _iso(row.at),
        "actor": row.actor,
        "action": row.action,
        "cluster": row.cluster,
        "group_id": row.group_id,
        "before": row.before,
        "after": row.after,
        "outcome": row.outcome,
        "message": row.message,
    }


def token_list(principal: Principal) -> Row:
    """The tokens of a principal's user; of everybody for an administrator. Their texts are not kept anywhere."""
    rows = Token.objects.select_related("owner")
    if not principal.is_admin():
        rows = rows.filter(owner=principal.user_id)
    return listing([token_row(row) for row in rows])


def token_row(row: Token) -> Row:
    """A token without its text; one that is not saved yet has neither id nor time."""
    return {
        "id": row.pk,
        "name": row.name,
        "owner": row.owner.get_username(),
        "role": row.role,
        "cluster": row.cluster_pattern,
        "group_pattern": row.group_pattern,
        "created_at": _iso(row.created_at),
        "expires_at": _iso(row.expires_at),
        "last_used_at": _iso(row.last_used_at),
    }


def _iso(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat(timespec="milliseconds")


def loaded_feed(principal: Principal, cluster_name: str) -> ClusterFeed:
    """The feed of a cluster that this principal may see.

    Raises Problem: 404 for an unknown cluster, 503 while its feed was never read.
    """
    feed = feed_of(cluster_of(principal, cluster_name).name)
    feed.require_loaded()
    return feed


def _for_eyes(principal: Principal, feed: ClusterFeed, query: GroupQuery) -> GroupQuery:
    return query.seen_by(group_visible(principal, feed.cluster.name))


def _unreadable(rows: Iterable[GroupRow]) -> list[Row]:
    """A group whose stored state cannot be read is listed, and said so."""
    return [
        Problem(kind=FAILED, resource=f"group {row.group_id}", message=row.error, code="STATE_UNREADABLE").as_dict()
        for row in rows
        if row.error is not None
    ]
