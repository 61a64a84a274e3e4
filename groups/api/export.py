"""The whole groups list, streamed: as CSV a line per group and partition, as JSON lines a line per group.

Rules: the rows are those of the list, whatever its page, and nothing is held whole. In CSV what a spreadsheet would run as a
formula gets a single quote in front; in JSON every id is as it is.
"""

from __future__ import annotations

import asyncio
import csv
import io
from collections.abc import AsyncIterator, Iterable, Iterator
from itertools import islice
from typing import Any

import msgspec
from rest_framework.renderers import BaseRenderer, JSONRenderer

from groups.index import GroupRow
from groups.lag.states import lag_of
from groups.rows import list_item
from groups.times import iso, with_twins

OFFSET_COLUMNS = ("topic", "partition", "committed", "log_start", "log_end", "lag", "lag_state")
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
    *OFFSET_COLUMNS,
)

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_GROUPS_PER_CHUNK = 50
_json_lines = msgspec.json.Encoder().encode_lines


class ExportRenderer(BaseRenderer):
    """Lets `?format=` and `Accept` choose an export; the view streams the body itself."""

    charset = "utf-8"

    def render(self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None) -> str:
        # Only an error object comes here, and that is JSON whatever was asked for.
        return JSONRenderer().render(data).decode()


class CsvRenderer(ExportRenderer):
    media_type = "text/csv"
    format = "csv"


class JsonLinesRenderer(ExportRenderer):
    media_type = "application/x-ndjson"
    format = "jsonl"


def safe_cell(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula; numbers stay numbers."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


async def csv_chunks(cluster: str, rows: Iterable[GroupRow]) -> AsyncIterator[str]:
    """The lines of an export as CSV."""
    yield _csv_of([COLUMNS])
    async for some in _portions(rows):
        yield _csv_of([safe_cell(cell) for cell in line] for row in some for line in _lines(cluster, row))


async def json_chunks(cluster: str, rows: Iterable[GroupRow]) -> AsyncIterator[bytes]:
    """The lines of an export as JSON: a list item each, with its `offsets` per topic and partition."""
    async for some in _portions(rows):
        yield _json_lines({**list_item(cluster, row), "offsets": list(_offsets(row))} for row in some)


async def _portions(rows: Iterable[GroupRow]) -> AsyncIterator[list[GroupRow]]:
    """Some dozen groups at a time; the loop serves sockets as well, and they come between two portions."""
    rest = iter(rows)
    while some := list(islice(rest, _GROUPS_PER_CHUNK)):
        yield some
        await asyncio.sleep(0)


def _csv_of(lines: Iterable[Iterable[Any]]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer).writerows(lines)
    return buffer.getvalue()


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
    for offset in _offsets(row):
        yield [*group, *(offset[name] for name in OFFSET_COLUMNS)]


def _offsets(row: GroupRow) -> Iterator[dict[str, Any]]:
    for part in row.committed:
        for partition, committed in part.committed():
            start, end = part.log.known_ends(partition)
            lag = lag_of(committed=committed, log_start=start, log_end=end)
            told = (part.log.name, partition, committed, start, end, lag.records, lag.state.value)
            yield with_twins(dict(zip(OFFSET_COLUMNS, told, strict=True)))
