"""A record's bytes as one shape, whatever they are.

Job: bytes to `{encoding, data, size, cut, schema, note}`: with their schema where there is one that reads them, else plain.
Rules: nothing raises. What could not be read is shown as hexadecimal digits with a note that says why; a registry that
failed is one problem of the answer, however many values wait for it.
Must not know: records, requests.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from groups.problems import Problem
from offsets.decoding.avro import avro_reader
from offsets.decoding.framing import Frame, Undecodable, frame_of
from offsets.decoding.plain import forced_text, plain
from offsets.decoding.protobuf import protobuf_reader
from offsets.decoding.registry import Registry, Schema

SHOWN_BYTES = 64 * 2**10
"""Longer texts are cut there."""

READ_BYTES = 2**20
"""Longer values are not read with a schema."""

AUTO, TEXT, HEX = "auto", "text", "hex"
SHOWN_AS = (AUTO, TEXT, HEX)
"""What one may ask for: as what they are, or as text or digits whatever they are."""

Row = dict[str, Any]
Reader = Callable[[bytes], tuple[str, str]]


def json_reader(schema: Schema) -> Reader:
    """The reader of a JSON schema: the value is JSON as it stands."""
    return lambda body: (_json_text(body), "")


READERS: dict[str, Callable[[Schema], Reader]] = {
    "AVRO": avro_reader,
    "PROTOBUF": protobuf_reader,
    "JSON": json_reader,
}
"""Kind of schema to what makes its reader. What it makes gives (JSON text, name of the type), or raises Undecodable."""


class Values:
    """Shows the values of one answer. `registry` is null where none is set; `problems` gathers what failed of it."""

    def __init__(
        self, registry: Registry | None = None, *, show_as: str = AUTO, shown_bytes: int = SHOWN_BYTES
    ) -> None:
        self.problems: dict[str, Problem] = {}
        self._registry = registry
        self._show_as = show_as
        self._shown_bytes = shown_bytes
        self._readers: dict[int, tuple[Schema, Reader]] = {}

    def shown(self, data: bytes | None) -> Row:
        """Bytes as people read them; null bytes have null for encoding and data."""
        if data is None:
            return {"encoding": None, "data": None, "size": 0, "cut": False, "schema": None, "note": None}
        frame = frame_of(data) if self._show_as == AUTO else None
        if frame is not None:
            return self._framed(data, frame)
        if self._show_as == HEX:
            return self._row(data, "hex", data.hex())
        encoding, text = forced_text(data) if self._show_as == TEXT else plain(data)
        return self._row(data, encoding, text)

    def _framed(self, data: bytes, frame: Frame) -> Row:
        """Bytes in a frame; without a schema that reads them, they are only bytes that look as if."""
        schema_row: Row = {"id": frame.schema_id, "kind": None, "name": None}
        try:
            schema, reader = self._reader(frame, len(data))
            schema_row["kind"] = schema.kind
            text, schema_row["name"] = reader(frame.body)
        except (Undecodable, Problem) as problem:
            encoding, text = plain(data)
            return {**self._row(data, encoding, text), "schema": schema_row, "note": str(problem)}
        return {**self._row(data, "json", text), "schema": schema_row}

    def _reader(self, frame: Frame, size: int) -> tuple[Schema, Reader]:
        if self._registry is None:
            raise Undecodable(f"It looks as written with schema {frame.schema_id}; no schema registry is set.")
        if size > READ_BYTES:
            raise Undecodable(f"It is longer than the {READ_BYTES} bytes that are read with a schema.")
        if frame.schema_id not in self._readers:
            self._readers[frame.schema_id] = self._made(self._registry, frame.schema_id)
        return self._readers[frame.schema_id]

    def _made(self, registry: Registry, schema_id: int) -> tuple[Schema, Reader]:
        try:
            schema = registry.schema(schema_id)
        except Problem as problem:
            self.problems[problem.message] = problem
            raise
        if schema.kind not in READERS:
            raise Undecodable(f"Schemas of kind {schema.kind[:50]} cannot be read here.")
        return schema, READERS[schema.kind](schema)

    def _row(self, data: bytes, encoding: str, text: str) -> Row:
        length = 2 * self._shown_bytes if encoding == "hex" else self._shown_bytes
        row = {"encoding": encoding, "data": text[:length], "size": len(data), "cut": len(text) > length}
        return {**row, "schema": None, "note": None}


def _json_text(body: bytes) -> str:
    try:
        text = body.decode()
        json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise Undecodable("It is not JSON.") from problem
    return text
