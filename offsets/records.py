"""Records as people read them, and which of them a question is about.

Job: one record to a row; the window of a log that a question looks at; whether a record holds a text.
Rules: bytes become text in offsets.decoding alone; a search looks at what is shown, so that whoever sees a word finds it.
Must not know: where records come from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from groups.gateway import Record
from groups.times import iso, with_twins
from offsets.decoding.values import Values

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Offsets from `first` up to `end` (not included), around `centre`."""

    first: int
    centre: int
    end: int


def window_of(*, log_start: int, log_end: int, centre: int, around: int) -> Window:
    """`around` offsets before `centre` and as many from it on, inside the log; a centre outside of it moves to its edge."""
    centre = min(max(centre, log_start), log_end)
    return Window(first=max(log_start, centre - around), centre=centre, end=min(log_end, centre + around))


def nearest(records: Iterable[Record], centre: int, around: int) -> list[Record]:
    """The last `around` records before an offset, and the first `around` from it on."""
    rows = list(records)
    before = [one for one in rows if one.offset < centre][-around:]
    return before + [one for one in rows if one.offset >= centre][:around]


def record_row(topic: str, partition: int, record: Record, side: str, values: Values) -> Row:
    """A record; `side` is before or after the committed offset."""
    return {
        **with_twins({"topic": topic, "partition": partition, "offset": record.offset}),
        "timestamp": iso(record.timestamp),
        "key": values.shown(record.key),
        "value": values.shown(record.value),
        "headers": [{"key": name, "value": values.shown(value)} for name, value in record.headers],
        "side": side,
    }


def holds(record: Record, text: str, values: Values) -> bool:
    """Whether a record's key, value or headers show a text; case does not matter."""
    wanted = text.casefold()
    return any(wanted in shown.casefold() for shown in _texts(record, values))


def _texts(record: Record, values: Values) -> Iterator[str]:
    yield from (values.shown(data)["data"] or "" for data in (record.key, record.value))
    for name, value in record.headers:
        yield name
        yield values.shown(value)["data"] or ""
