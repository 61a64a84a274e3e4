"""Before a message is read: whether its arrays can be as long as they say, and which of its tags nobody knows.

Job: walk the bytes of a message by its schema, far enough to check each array's length against the bytes that are left; cut out
tagged fields that the schema does not have.
Why: kio's native reader makes room for as many entries as an array claims before it reads the first; a request of thirty bytes
that claims two thousand million ends the process. Messages without arrays need no walk and get none. And it refuses messages
with tags that it does not know, which newer clients may send and every reader must ignore (KIP-482).
Rules: one straight-line walker per message, compiled from kio's schema as the writer is. Nothing is decoded or kept; entries of
fixed size are stepped over at once. Whatever does not fit is a ValueError.
Must not know: what a message means.
Source: Kafka protocol guide; KIP-482 (compact lengths, tagged fields), KIP-893 (nullable structs).
"""

from __future__ import annotations

import dataclasses
import functools
import struct
from collections.abc import Callable
from typing import Any

from kaas.wire.encode import FIXED, Field, describe
from kaas.wire.schema import message_class
from kaas.wire.varint import read_uvarint, write_uvarint

Cuts = list[tuple[int, int, bytes]]
"""Stretches of a message (from, to) and what shall stand in their place."""
Walker = Callable[[Any, int, int, "Cuts | None"], int]
"""(data, at, end, cuts) to where the message ends; stretches with unknown tags are added to `cuts` if there is a list. Raises
ValueError."""

I16 = struct.Struct(">h").unpack_from
I32 = struct.Struct(">i").unpack_from
UUID_BYTES = 16


def size_of(field: Field) -> int | None:
    """Bytes that one value takes, if that is always the same."""
    if field.kind == "uuid":
        return UUID_BYTES
    return struct.calcsize(">" + FIXED[field.kind]) if field.kind in FIXED else None


def fields_of(cls: type[Any]) -> list[Field]:
    return [describe(f) for f in dataclasses.fields(cls)]


@functools.cache
def has_arrays(key: int, version: int, kind: str) -> bool:
    """Whether a message has an array anywhere, tagged fields included."""
    return _has_arrays(message_class(key, version, kind))


def _has_arrays(cls: type[Any]) -> bool:
    return any(f.is_array or (f.entity is not None and _has_arrays(f.entity)) for f in fields_of(cls))


def least_bytes(cls: type[Any]) -> int:
    """The fewest bytes that an entity takes: what is empty or null still says so."""
    flexible = bool(cls.__flexible__)
    total = 1 if flexible else 0
    for field in fields_of(cls):
        if field.tag is None:
            total += least_bytes_of(field, flexible)
    return total


def least_bytes_of(field: Field, flexible: bool) -> int:
    if field.is_array:
        return 1 if flexible else 4
    if field.entity is not None:
        return 1 if field.nullable else least_bytes(field.entity)
    fixed = size_of(field)
    if fixed is not None:
        return fixed
    return 1 if flexible else (2 if field.kind == "string" else 4)


def skip_string(data: Any, at: int, end: int) -> int:
    size = I16(data, at)[0]
    return at + 2 + (size if size > 0 else 0)


def skip_bytes(data: Any, at: int, end: int) -> int:
    size = I32(data, at)[0]
    return at + 4 + (size if size > 0 else 0)


def skip_compact(data: Any, at: int, end: int) -> int:
    """A compact string or bytes: one more than the length, 0 for null."""
    size = data[at]
    if size < 0x80:
        return at + (size or 1)
    size, at = read_uvarint(data, at)
    return at + size - 1


def array_length(data: Any, at: int, end: int, least: int) -> tuple[int, int]:
    """Entries of an array and where they begin; null counts as none."""
    count = I32(data, at)[0]
    at += 4
    if count > 0 and count * least > end - at:
        raise ValueError(f"an array of {count} entries in {end - at} bytes")
    return max(count, 0), at


def compact_array_length(data: Any, at: int, end: int, least: int) -> tuple[int, int]:
    size, at = read_uvarint(data, at)
    if size > 1 and (size - 1) * least > end - at:
        raise ValueError(f"an array of {size - 1} entries in {end - at} bytes")
    return max(size - 1, 0), at


def tagged_walkers(cls: type[Any]) -> dict[int, Walker | None]:
    """The tags of an entity; those in which an array may stand have a walker."""
    found: dict[int, Walker | None] = {}
    for field in fields_of(cls):
        if field.tag is not None:
            looked_into = field.is_array or (field.entity is not None and _has_arrays(field.entity))
            bare = dataclasses.replace(field, tag=None, nullable=False)
            found[field.tag] = Compiler([bare], flexible=True, sealed=False).build() if looked_into else None
    return found


def tag_skipper(walkers: dict[int, Walker | None]) -> Walker:
    """Steps over a tag section, looking into the tags that have a walker, and notes a section with tags that nobody knows."""

    def skip_tags(data: Any, at: int, end: int, cuts: Cuts | None) -> int:
        begin = at
        count, at = read_uvarint(data, at)
        known: list[bytes] = []
        for _ in range(count):
            start = at
            tag, at = read_uvarint(data, at)
            size, at = read_uvarint(data, at)
            if size > end - at:
                raise ValueError("a tag that is longer than its message")
            walk = walkers.get(tag)
            if walk is not None:
                walk(data, at, at + size, None)
            at += size
            if tag in walkers:
                known.append(bytes(data[start:at]))
        if cuts is not None and len(known) < count:
            cuts.append((begin, at, write_uvarint(len(known)) + b"".join(known)))
        return at

    return skip_tags


class Compiler:
    """Writes the source of one walker and builds it. `sealed`: a tag section ends the entity."""

    def __init__(
        self, fields: list[Field], *, flexible: bool, sealed: bool, tags: dict[int, Walker | None] | None = None
    ) -> None:
        self.flexible = flexible
        self.sealed = sealed
        self.lines = ["def walk(data, at, end, cuts):"]
        self.scope: dict[str, Any] = {
            "skip_string": skip_compact if flexible else skip_string,
            "skip_bytes": skip_compact if flexible else skip_bytes,
            "length": compact_array_length if flexible else array_length,
            "skip_tags": tag_skipper(tags or {}),
        }
        self.steady = 0
        for field in fields:
            self.field(field)

    def add(self, line: str) -> None:
        self.lines.append(" " + line)

    def flush(self) -> None:
        if self.steady:
            self.add(f"at += {self.steady}")
            self.steady = 0

    def name(self, what: Any) -> str:
        name = f"x{len(self.scope)}"
        self.scope[name] = what
        return name

    def field(self, field: Field) -> None:
        fixed = size_of(field)
        if fixed is not None and not field.is_array:
            self.steady += fixed
            return
        self.flush()
        if field.is_array:
            self.array(field, fixed)
        elif field.entity is not None:
            walk = self.name(entity_walker(field.entity))
            if field.nullable:
                self.add("at += 1")
                self.add(f"if data[at - 1] < 128: at = {walk}(data, at, end, cuts)")
            else:
                self.add(f"at = {walk}(data, at, end, cuts)")
        else:
            self.add("at = skip_string(data, at, end)" if field.kind == "string" else "at = skip_bytes(data, at, end)")

    def array(self, field: Field, fixed: int | None) -> None:
        if field.entity is not None:
            self.add(f"count, at = length(data, at, end, {max(least_bytes(field.entity), 1)})")
            self.add(f"for _ in range(count): at = {self.name(entity_walker(field.entity))}(data, at, end, cuts)")
        elif fixed is not None:
            self.add(f"count, at = length(data, at, end, {fixed})")
            self.add(f"at += count * {fixed}")
        else:
            self.add(f"count, at = length(data, at, end, {1 if self.flexible else 2})")
            skip = "skip_string" if field.kind == "string" else "skip_bytes"
            self.add(f"for _ in range(count): at = {skip}(data, at, end)")

    def build(self) -> Walker:
        self.flush()
        if self.sealed:
            self.add("at = at + 1 if data[at] == 0 else skip_tags(data, at, end, cuts)")
        self.add("if at > end: raise ValueError('the message is cut off')")
        self.add("return at")
        exec("\n".join(self.lines), self.scope)  # noqa: S102 - the source is made here, from a schema
        walk: Walker = self.scope["walk"]
        return walk


_walkers: dict[type[Any], Walker] = {}


def entity_walker(cls: type[Any]) -> Walker:
    """The compiled walker of one kio class."""
    if cls not in _walkers:
        flexible = bool(cls.__flexible__)
        fields = [f for f in fields_of(cls) if f.tag is None]
        _walkers[cls] = Compiler(fields, flexible=flexible, sealed=flexible, tags=tagged_walkers(cls)).build()
    return _walkers[cls]


@functools.cache
def message_walker(key: int, version: int, kind: str) -> Walker | None:
    """The walker of a message; null if it has no array."""
    return entity_walker(message_class(key, version, kind)) if has_arrays(key, version, kind) else None


def without_unknown_tags(key: int, version: int, kind: str, data: bytes, at: int) -> bytes:
    """The message that begins here, without tagged fields that its schema does not have. Raises ValueError."""
    cuts: Cuts = []
    end = entity_walker(message_class(key, version, kind))(data, at, len(data), cuts)
    parts = []
    for begin, stop, instead in sorted(cuts):
        parts += [data[at:begin], instead]
        at = stop
    return b"".join((*parts, data[at:end]))
