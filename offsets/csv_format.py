"""Offsets as lines of text, in the format that Kafka's own tool writes and reads for one group.

Job: `topic,partition,offset` to offsets and back.
Rules: a line that is none names itself; a partition stands once.
Must not know: groups, plans.
Source: kafka-consumer-groups --reset-offsets --from-file and --export.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping

from groups.gateway import Partition
from groups.problems import Problem, invalid

LARGEST_OFFSET = 2**63 - 1
_COLUMNS = 3


def offsets_from_csv(text: str) -> dict[Partition, int]:
    """The offsets in these lines; empty lines say nothing.

    Raises Problem (400) naming the first line that is not `topic,partition,offset`.
    """
    offsets: dict[Partition, int] = {}
    try:
        for number, row in enumerate(csv.reader(io.StringIO(text), strict=True), start=1):
            if row:
                place, offset = _line(number, row)
                if place in offsets:
                    raise _bad(number, f"{place[0]} {place[1]} stands twice")
                offsets[place] = offset
    except csv.Error as problem:
        raise _bad(None, str(problem)) from problem
    return offsets


def csv_from_offsets(offsets: Mapping[Partition, int]) -> str:
    """The lines of these offsets, sorted."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerows([topic, partition, offset] for (topic, partition), offset in sorted(offsets.items()))
    return buffer.getvalue()


def _line(number: int, row: list[str]) -> tuple[Partition, int]:
    cells = [cell.strip() for cell in row]
    if len(cells) != _COLUMNS or not cells[0]:
        raise _bad(number, "expected topic,partition,offset")
    topic, partition, offset = cells
    if not _is_number(partition) or int(partition) >= 2**31:
        raise _bad(number, f"{partition!r} is no partition")
    if not _is_number(offset) or int(offset) > LARGEST_OFFSET:
        raise _bad(number, f"{offset!r} is no offset")
    return (topic, int(partition)), int(offset)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= len(str(LARGEST_OFFSET))


def _bad(number: int | None, why: str) -> Problem:
    where = f"Line {number} of the CSV" if number is not None else "The CSV"
    return invalid(f"{where} cannot be used: {why}.", resource="plan", value=[why])
