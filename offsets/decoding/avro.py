"""Avro values, read by fastavro.

Job: a schema once to a reader, a value to JSON text.
Rules: fastavro's compiled reader follows a value as deep and as wide as the value says, which ends the process with a recursive
schema and the memory with a list of nothings. So a recursive schema reads short values only, and a list whose items take no
bytes is not read at all.
Must not know: registries, frames.
Source: Apache Avro 1.12, binary encoding of data.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from io import BytesIO
from typing import Any
from uuid import UUID

import fastavro

from offsets.decoding.framing import Undecodable
from offsets.decoding.registry import Schema

RECURSIVE_BYTES = 4_096
"""Longer values are not read with a recursive schema: each of its bytes may be one step deeper."""

Reader = Callable[[bytes], tuple[str, str]]
"""Bytes to (JSON text, name of the type)."""


def avro_reader(schema: Schema) -> Reader:
    """The reader of a schema.

    Raises Undecodable for a schema that Avro does not allow, or with which hostile bytes could not be stopped.
    """
    named: dict[str, Any] = {}
    try:
        for _, reference in schema.references:
            fastavro.parse_schema(json.loads(reference.text), named)
        parsed = fastavro.parse_schema(json.loads(schema.text), named)
        shape = _Shape(named)
        shape.walk(parsed)
    except Exception as problem:  # fastavro raises whatever a strange schema makes it stumble over
        raise Undecodable(f"Its schema is not Avro: {_first_line(problem)}") from problem
    if shape.has_lists_of_nothing:
        raise Undecodable("Its schema has lists whose items take no bytes; such values are not read.")
    name = str(parsed.get("name", parsed.get("type", ""))) if isinstance(parsed, dict) else str(parsed)
    limit = RECURSIVE_BYTES if shape.is_recursive else None
    return lambda body: (_read(parsed, body, limit), name)


def _read(parsed: Any, body: bytes, limit: int | None) -> str:
    if limit is not None and len(body) > limit:
        raise Undecodable(f"Its schema is recursive; such values are read up to {limit} bytes.")
    stream = BytesIO(body)
    try:
        value = fastavro.schemaless_reader(stream, parsed, None)
        text = json.dumps(value, ensure_ascii=False, default=_simple)
    except Exception as problem:  # the same: bytes that are not of this schema end in any kind of error
        raise Undecodable(f"It does not fit its Avro schema: {_first_line(problem)}") from problem
    if rest := len(body) - stream.tell():
        raise Undecodable(f"It does not fit its Avro schema: {rest} bytes are left over.")
    return text


def _simple(value: Any) -> Any:
    """What JSON has no word for: bytes as hexadecimal digits, numbers of any size and times as text."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Decimal | UUID):
        return str(value)
    raise TypeError(f"no JSON for {type(value).__name__}")


def _first_line(problem: Exception) -> str:
    """The error's own words, short: they may quote the value."""
    words = str(problem).strip().split("\n")[0][:200]
    return words.rstrip(".") + "." if words else f"{type(problem).__name__}."


class _Shape:
    """What a parsed schema can make a reader do."""

    def __init__(self, named: dict[str, Any]) -> None:
        self.is_recursive = False
        self.has_lists_of_nothing = False
        self._named = named
        self._open: set[str] = set()
        self._known: dict[str, bool] = {}

    def walk(self, schema: Any) -> bool:
        """Looks through a schema; whether its values take no bytes at all."""
        if isinstance(schema, list):
            for branch in schema:
                self.walk(branch)
            return False
        if isinstance(schema, str):
            return self._walk_name(schema)
        kind = schema["type"]
        if kind in ("record", "error"):
            return self._walk_record(schema)
        if kind == "array":
            self.has_lists_of_nothing |= self.walk(schema["items"])
            return False
        if kind == "map":
            self.walk(schema["values"])
            return False
        if kind == "fixed":
            return schema["size"] == 0
        return kind == "null" if isinstance(kind, str) else self.walk(kind)

    def _walk_name(self, name: str) -> bool:
        if name not in self._named:
            return name == "null"
        if name in self._open:
            self.is_recursive = True
            return False
        return self._known[name] if name in self._known else self.walk(self._named[name])

    def _walk_record(self, schema: dict[str, Any]) -> bool:
        name = schema["name"]
        self._open.add(name)
        fields = [self.walk(field["type"]) for field in schema["fields"]]
        self._open.discard(name)
        self._known[name] = all(fields)
        return all(fields)
