"""The groups list as CSV: a line per group and partition, streamed.

Rules: what a spreadsheet would run as a formula gets a single quote in front; the rows are those of the list, whatever
its page.
"""

from __future__ import annotations

import asyncio
import csv
import io
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any

from rest_framework.renderers import BaseRenderer, JSONRenderer

from groups.index import GroupRow
from groups.lag.states import lag_of
from groups.rows import list_item
from groups.times import iso

COLUMNS = (
    "cluster",
    "group_id",
    "state",
    "type",
    "protocol",
    "members",
    "coordinator",
    "lag_status",
    "total_lag",
    "last_rebalance_at",
    "last_rebalance_cause",
    "topic",
    "partition",
    "committed",
    "log_start",
    "log_end",
    "lag",
    "lag_state",
)

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_GROUPS_PER_CHUNK = 50


class CsvRenderer(BaseRenderer):
    """Lets `?format=csv` and `Accept: text/csv` choose this export; the view streams the body itself."""

    media_type = "text/csv"
    format = "csv"
    charset = "utf-8"

    def render(self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None) -> str:
        # Only an error object comes here, and that is JSON whatever was asked for.
        return JSONRenderer().render(data).decode()


def safe_cell(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula; numbers stay numbers."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


async def csv_chunks(cluster: str, rows: Iterable[GroupRow]) -> AsyncIterator[str]:
    """The lines of an export, some dozen groups at a time, so that nothing is held whole and nobody is held up."""
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(COLUMNS)
    for count, row in enumerate(rows, start=1):
        writer.writerows([safe_cell(cell) for cell in line] for line in _lines(cluster, row))
        if count % _GROUPS_PER_CHUNK == 0:
            yield _taken(buffer)
            await asyncio.sleep(0)  # the loop serves sockets as well: they come between two chunks
    yield _taken(buffer)


def _taken(buffer: io.StringIO) -> str:
    text = buffer.getvalue()
    buffer.seek(0)
    buffer.truncate()
    return text


def _lines(cluster: str, row: GroupRow) -> Iterator[list[Any]]:
    item = list_item(cluster, row)
    last = row.last_rebalance
    group = [
        cluster,
        row.group_id,
        row.state,
        row.type,
        row.protocol,
        row.member_count,
        row.coordinator,
        item["lag_status"],
        item["total_lag"],
        iso(last.at) if last else None,
        item["last_rebalance"]["cause_text"] if last else None,
    ]
    if not row.committed:
        yield group + [None] * (len(COLUMNS) - len(group))
    for part in row.committed:
        for partition, committed in part.committed():
            start, end = part.log.known_ends(partition)
            lag = lag_of(committed=committed, log_start=start, log_end=end)
            yield [*group, part.log.name, partition, committed, start, end, lag.records, lag.state.value]
