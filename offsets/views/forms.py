"""What the pages' forms send, as the bodies that the API takes.

Job: a reset's strategy, value and scope, and the scope of a deletion, from form fields.
Rules: what comes out is checked by the same serializers and services as a script's body; here only text becomes numbers and
lists, and a text that becomes neither is refused with the name of its field.
Must not know: clusters, offsets.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.http import QueryDict

from groups.problems import Problem, invalid
from offsets.choices import Strategy

Body = dict[str, Any]

FILE_BYTES = 2 * 2**20
"""A larger file of offsets is refused."""

_RANGE = re.compile(r"(\d{1,10})(?:\s*[-–]\s*(\d{1,10}))?")
_PARTITIONS_LIMIT = 100_000
_NUMBERS = (Strategy.OFFSET, Strategy.SHIFT)


def plan_body(form: QueryDict, files: Mapping[str, UploadedFile] | None = None) -> Body:
    """`{strategy, value, scope}` of a reset form; each strategy has a field of its own for its value, CSV a file as well.

    Raises Problem (400).
    """
    strategy = form.get("strategy", "")
    text = form.get(f"value_{strategy}", "")
    if not text.strip() and (file := (files or {}).get(f"file_{strategy}")) is not None:
        text = _text_of(file)
    return {"strategy": strategy, "value": _value(strategy, text), "scope": _scope(form)}


def _text_of(file: UploadedFile) -> str:
    if file.size > FILE_BYTES:
        raise _refused(f"The file is larger than {FILE_BYTES} bytes.", "file_csv")
    try:
        return file.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _refused("The file is no text in UTF-8.", "file_csv") from None


def scope_topics(form: QueryDict) -> list[Body]:
    """The chosen topics with their partitions: `[{topic, partitions?}]`.

    Raises Problem (400).
    """
    rows = [_row(topic, form.get(f"partitions:{topic}", "")) for topic in form.getlist("topic")]
    if other := form.get("other_topic", ""):
        rows.append(_row(other, form.get("other_partitions", "")))
    return rows


def _scope(form: QueryDict) -> Body:
    return {"all": True} if form.get("scope") == "all" else {"topics": scope_topics(form)}


def _value(strategy: str, text: str) -> Any:
    if strategy in (Strategy.EARLIEST, Strategy.LATEST, Strategy.CURRENT):
        return None
    if strategy not in _NUMBERS:
        return text if strategy in (Strategy.CSV, Strategy.GROUP) else text.strip()
    try:
        return int(text.replace(",", "").replace("_", ""))
    except ValueError:
        raise _refused(f"{text!r} is not a whole number.", f"value_{strategy}") from None


def _row(topic: str, text: str) -> Body:
    partitions = partitions_of(text)
    return {"topic": topic} if partitions is None else {"topic": topic, "partitions": partitions}


def partitions_of(text: str) -> list[int] | None:
    """Partition numbers from a text such as `0-2, 5`; null for a blank one, which means all of them.

    Raises Problem (400).
    """
    if not text.strip():
        return None
    numbers: set[int] = set()
    for part in text.split(","):
        found = _RANGE.fullmatch(part.strip())
        if not found:
            raise _refused(f"{part.strip()!r} is no partition: write numbers and ranges, such as 0-2, 5.", "partitions")
        first, last = int(found[1]), int(found[2] or found[1])
        if not 0 <= last - first <= _PARTITIONS_LIMIT:
            raise _refused(f"{part.strip()!r} runs backwards or names too many partitions.", "partitions")
        numbers.update(range(first, last + 1))
    return sorted(numbers)


def _refused(message: str, field: str) -> Problem:
    return invalid(message, resource="form", **{field: message})
