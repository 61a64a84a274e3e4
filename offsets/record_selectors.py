"""Reads of records: those around a committed offset, a time or an offset; those that show a text.

Job: a question about one partition to rows, for pages and API alike.
Rules: the principal comes first; offsets come from the feed, records from the cluster, and no group takes notice. How much is
looked at is bounded, and the answer says from where to where that was; a place outside the log moves to its edge, and is said.
Must not know: requests, templates, how bytes become text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.conf import settings

from groups.access import Principal
from groups.clusters import Cluster
from groups.feeds import feed_of
from groups.gateway import EARLIEST, LATEST, Record
from groups.gateways import gateway_of
from groups.problems import Problem, from_kafka, not_found
from groups.redis_store import topic_views
from groups.selectors import group_snapshot, listing
from groups.times import with_twins
from kaas.errors import ErrorCode
from offsets.decoding.registry import Registry, registry_at
from offsets.decoding.values import AUTO, SHOWN_BYTES, Values
from offsets.records import Window, holds, nearest, record_row, window_of
from offsets.selectors import offset_rows

Row = dict[str, Any]

RECORDS_AROUND = 50
"""At most so many records are shown on each side of a place."""

RECORDS_SEARCHED = 500
"""A search looks at so many records on each side of a place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordQuery:
    """Which records to show: `around` on each side of `offset`, else of the first record at or after `at` (milliseconds),
    else of the committed offset; with `search` only those that show this text, among RECORDS_SEARCHED on each side.
    `show_as` is one of offsets.decoding.values.SHOWN_AS."""

    topic: str
    partition: int
    around: int
    offset: int | None = None
    at: int | None = None
    search: str = ""
    show_as: str = AUTO
    shown_bytes: int = SHOWN_BYTES


def record_list(principal: Principal, cluster_name: str, group_id: str, asked: RecordQuery) -> Row:
    """Up to `around` records before a place of the log, and as many from it on; no group takes notice.

    Without a commit, offset or time those from the log's start are shown; without a commit all are still to come. Compaction
    and transaction markers leave holes in a log: then fewer than asked may stand before the place. `out_of_range` says
    what was asked for and is not in the log (any more), null otherwise. A schema registry that fails is one of `errors`, and
    its records are shown as bytes. Raises Problem: 404 for a partition that is not the group's, 502 to 504.
    """
    cluster, snapshot = group_snapshot(principal, cluster_name, group_id)
    place = (asked.topic, asked.partition)
    rows = offset_rows(snapshot, topic_views(cluster.name, [asked.topic]))
    row = next((row for row in rows if (row["topic"], row["partition"]) == place), None)
    if row is None:
        raise not_found(f"partition {asked.partition} of topic {asked.topic} in group {group_id}")
    row, window, found = _looked(cluster, asked, row)
    values = Values(_registry(cluster), show_as=asked.show_as, shown_bytes=asked.shown_bytes)
    matching = [one for one in found if holds(one, asked.search, values)] if asked.search else found
    border = row["committed"] or 0
    items = [
        record_row(*place, one, "before" if one.offset < border else "after", values)
        for one in nearest(matching, window.centre, asked.around)
    ]
    looked_to = found[-1].offset + 1 if found else window.first
    log_end = row["log_end"] if row["log_end"] is None else max(row["log_end"], looked_to)
    where = {"committed": row["committed"], "log_start": row["log_start"], "log_end": log_end}
    looked = {"centre": window.centre, "looked_from": window.first, "looked_to": looked_to}
    return {
        **listing(items),
        **with_twins(where | looked),
        "out_of_range": _out_of_range(asked, row),
        "errors": [problem.as_dict() for problem in values.problems.values()],
        "snapshot_age_ms": feed_of(cluster.name).age_ms(snapshot.coordinator),
    }


def _looked(cluster: Cluster, asked: RecordQuery, row: Row) -> tuple[Row, Window, list[Record]]:
    """The window and its records. Where retention went on since the feed told the log's ends, the cluster's own count."""
    window = _window(cluster, asked, row)
    try:
        return row, window, _records(cluster, asked, window)
    except Problem as problem:
        if problem.code != ErrorCode.OFFSET_OUT_OF_RANGE.name:
            raise
    row = {**row, "log_start": _log_offset(cluster, asked, EARLIEST), "log_end": _log_offset(cluster, asked, LATEST)}
    window = _window(cluster, asked, row)
    return row, window, _records(cluster, asked, window)


def _out_of_range(asked: RecordQuery, row: Row) -> Row | None:
    """An offset that was asked for, or is committed, and lies outside the log."""
    start, end = row["log_start"], row["log_end"]
    wanted = asked.offset if asked.offset is not None or asked.at is not None else row["committed"]
    if wanted is None or start is None or end is None or start <= wanted <= end:
        return None
    what = f"Offset {wanted:,}" if asked.offset is not None else f"The committed offset {wanted:,}"
    now = (
        f"the log begins at {start:,} and ends at {end:,} now" if start < end else f"the log is empty now, at {start:,}"
    )
    why = "is gone: retention or a deletion took it" if wanted < start else "lies past the log's end"
    return with_twins({"offset": wanted}) | {"message": f"{what} {why}; {now}."}


def _window(cluster: Cluster, asked: RecordQuery, row: Row) -> Window:
    """The part of the log that is looked at."""
    start, end = row["log_start"] or 0, row["log_end"] or 0
    centre = asked.offset
    if centre is None and asked.at is not None:
        centre = _offset_at(cluster, asked, asked.at, end)
    if centre is None:
        centre = start if row["committed"] is None else row["committed"]
    around = RECORDS_SEARCHED if asked.search else asked.around
    return window_of(log_start=start, log_end=end, centre=centre, around=around)


def _offset_at(cluster: Cluster, asked: RecordQuery, at: int, log_end: int) -> int:
    """The first record at or after a time; the log's end where there is none."""
    found = _log_offset(cluster, asked, at)
    return log_end if found < 0 else found


def _log_offset(cluster: Cluster, asked: RecordQuery, at: int) -> int:
    """The offset at EARLIEST, LATEST or a time in milliseconds."""
    place = (asked.topic, asked.partition)
    found = gateway_of(cluster).log_offsets({place: at})[place]
    if isinstance(found, ErrorCode):
        raise from_kafka(found, f"partition {asked.partition} of topic {asked.topic}")
    return found


def _records(cluster: Cluster, asked: RecordQuery, window: Window) -> list[Record]:
    """The records of a window; behind holes in the log some that come after it."""
    if window.first >= window.end:
        return []
    count = 2 * (RECORDS_SEARCHED if asked.search else asked.around)
    return gateway_of(cluster).records(asked.topic, asked.partition, window.first, count)


def _registry(cluster: Cluster) -> Registry | None:
    if not cluster.schema_registry:
        return None
    return registry_at(cluster.schema_registry, settings.KAAS_SCHEMA_REGISTRY_TIMEOUT_MS)
