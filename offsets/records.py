"""Records as people read them: text, JSON or bytes.

Job: one record to a row.
Rules: nothing is guessed beyond UTF-8 and JSON; what is neither is shown as hexadecimal digits; long values are cut, and say
so. JSON stays the text that it is, so that no number loses digits.
Must not know: where records come from.
"""

from __future__ import annotations

import json
from typing import Any

from groups.gateway import Record
from groups.times import iso, with_twins

SHOWN_BYTES = 64 * 2**10
"""Longer keys and values are cut there."""

_CONTROLS = {chr(code) for code in range(32)} - {"\t", "\n", "\r"}

Row = dict[str, Any]


def record_row(topic: str, partition: int, record: Record, side: str) -> Row:
    """A record; `side` is before or after the committed offset."""
    return {
        **with_twins({"topic": topic, "partition": partition, "offset": record.offset}),
        "timestamp": iso(record.timestamp),
        "key": shown(record.key),
        "value": shown(record.value),
        "headers": [{"key": name, "value": shown(value)} for name, value in record.headers],
        "side": side,
    }


def shown(data: bytes | None) -> Row:
    """Bytes as `{encoding: text|json|hex|null, data, size, cut}`; null bytes have null for both."""
    if data is None:
        return {"encoding": None, "data": None, "size": 0, "cut": False}
    text = _text(data)
    if text is None:
        encoding, whole = "hex", data[:SHOWN_BYTES].hex()
    else:
        encoding, whole = "json" if _is_json(text) else "text", text[:SHOWN_BYTES]
    return {"encoding": encoding, "data": whole, "size": len(data), "cut": len(data) > SHOWN_BYTES}


def _text(data: bytes) -> str | None:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return None if _CONTROLS.intersection(text) else text


def _is_json(text: str) -> bool:
    """Whether a text is a JSON object or list: a bare number or word is rather a text."""
    if not text.lstrip().startswith(("{", "[")):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
