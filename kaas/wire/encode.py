"""Messages to bytes: one straight-line writer per message, compiled from kio's schema.

Job: `encode_response(key, version, values)` and `encode_request(...)`, from nested dicts named as kio names fields.
Rules:
- One set of values fits every version: a field that this version lacks is left out, a field that nobody named gets the
  protocol's default, else "", 0, False, null or empty. `strict(True)` (tests) refuses a name that no version has.
- Values are plain: error codes and durations (ms) and times (ms since 1970) are ints, uuids are `uuid.UUID` or null.
- Runs of fixed-size fields go out with one `struct` call; bytes are joined once at the end, so a `memoryview` of records is
  copied a single time.
Must not know: sockets, what a message means.
Why not kio's writer: measured 7.6 us for an OffsetCommit answer of one row, this one 1.5 us (benchmarks/encode.py).
Source: Kafka protocol guide, KIP-482 (compact types, tagged fields), KIP-893 (nullable structs).
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import functools
import struct
import types
import typing
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kaas.wire.schema import message_class
from kaas.wire.varint import write_uvarint

Values = Mapping[str, Any]
Out = Callable[[Any], None]

FIXED = {
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint8": "B",
    "uint16": "H",
    "uint32": "I",
    "uint64": "Q",
    "float64": "d",
    "bool": "?",
    "error_code": "h",
    "timedelta_i32": "i",
    "timedelta_i64": "q",
    "datetime_i64": "q",
}
EPOCH = datetime.datetime.fromtimestamp(0, tz=datetime.UTC)
NIL = bytes(16)
MILLISECOND = datetime.timedelta(milliseconds=1)


def put_string(value: str) -> bytes:
    data = value.encode()
    return struct.pack(">h", len(data)) + data


def put_nullable_string(value: str | None) -> bytes:
    return b"\xff\xff" if value is None else put_string(value)


def put_compact_string(value: str) -> bytes:
    data = value.encode()
    return write_uvarint(len(data) + 1) + data


def put_nullable_compact_string(value: str | None) -> bytes:
    return b"\0" if value is None else put_compact_string(value)


def put_uuid(value: uuid.UUID | None) -> bytes:
    return NIL if value is None else value.bytes


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """What the compiler needs of one field."""

    name: str
    kind: str  # kafka type, or "entity"
    entity: type[Any] | None
    is_array: bool
    nullable: bool
    tag: int | None
    default: Any


def strip_null(hint: Any) -> tuple[Any, bool]:
    """The hint without None, and whether it had one."""
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        kept = [a for a in typing.get_args(hint) if a is not types.NoneType]
        return kept[0], len(kept) < len(typing.get_args(hint))
    return hint, False


def plain(value: Any) -> Any:
    """A default of kio's as the plain value of this module."""
    if isinstance(value, datetime.timedelta):
        return value // MILLISECOND
    if isinstance(value, datetime.datetime):
        return (value - EPOCH) // MILLISECOND
    if dataclasses.is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return value.value if hasattr(value, "value") and not isinstance(value, int) else value


def at_rest(kind: str, is_array: bool, nullable: bool) -> Any:
    """What a field is when nobody says anything."""
    if is_array and not nullable:
        return ()
    if nullable:
        return None
    if kind == "string":
        return ""
    if kind in ("bytes", "records"):
        return b""
    return None if kind in ("uuid", "entity") else 0


def describe(field: dataclasses.Field[Any]) -> Field:
    hint, nullable = strip_null(field.type)
    is_array = typing.get_origin(hint) is tuple
    inner, inner_nullable = strip_null(typing.get_args(hint)[0] if is_array else hint)
    entity = inner if dataclasses.is_dataclass(inner) else None
    kind = "entity" if entity is not None else field.metadata["kafka_type"]
    nullable = nullable or (inner_nullable and not is_array)
    default = at_rest(kind, is_array, nullable)
    if field.default is not dataclasses.MISSING:
        default = plain(field.default)
    return Field(
        name=field.name,
        kind=kind,
        entity=typing.cast("type[Any] | None", entity),
        is_array=is_array,
        nullable=nullable,
        tag=field.metadata.get("tag"),
        default=default,
    )


class Compiler:
    """Writes the source of one entity's writer `write(out, v)` and builds it."""

    def __init__(self, cls: type[Any]) -> None:
        self.flexible = bool(cls.__flexible__)
        self.lines: list[str] = ["def write(out, v):", " get = v.get"]
        self.scope: dict[str, Any] = {
            "write_uvarint": write_uvarint,
            "put_uuid": put_uuid,
            "pack_i": struct.Struct(">i").pack,
            "join": b"".join,
        }
        self.run: list[Field] = []
        self.count = 0

    def fresh(self, what: Any) -> str:
        """A name in the writer's scope for a value."""
        self.count += 1
        name = f"x{self.count}"
        self.scope[name] = what
        return name

    def get(self, field: Field) -> str:
        return f"get({field.name!r}, {self.fresh(field.default)})"

    def add(self, line: str) -> None:
        self.lines.append(" " + line)

    def flush(self) -> None:
        """The fixed-size fields that came one after another, as one pack."""
        if self.run:
            pack = self.fresh(struct.Struct(">" + "".join(FIXED[f.kind] for f in self.run)).pack)
            self.add(f"out({pack}({', '.join(self.get(f) for f in self.run)}))")
            self.run = []

    def one(self, field: Field, value: str) -> str:
        """An expression for the bytes of one value that is no array and no nested entity."""
        if field.kind == "string":
            table = {
                (False, False): put_string,
                (False, True): put_nullable_string,
                (True, False): put_compact_string,
                (True, True): put_nullable_compact_string,
            }
            return f"{self.fresh(table[self.flexible, field.nullable and not field.is_array])}({value})"
        if field.kind == "uuid":
            return f"put_uuid({value})"
        return f"{self.fresh(struct.Struct('>' + FIXED[field.kind]).pack)}({value})"

    def blob(self, field: Field) -> None:
        """Bytes or records: the length, then the bytes themselves, which may be any buffer."""
        self.add(f"b = {self.get(field)}")
        if field.nullable:
            self.add("if b is None: out(" + ("b'\\0'" if self.flexible else "b'\\xff\\xff\\xff\\xff'") + ")")
            self.add("else:")
            pad = " "
        else:
            pad = ""
        self.add(pad + ("out(write_uvarint(len(b) + 1))" if self.flexible else "out(pack_i(len(b)))"))
        self.add(pad + "out(b)")

    def array(self, field: Field) -> None:
        self.add(f"rows = {self.get(field)}")
        null = "b'\\0'" if self.flexible else "b'\\xff\\xff\\xff\\xff'"
        self.add(f"if rows is None: out({null})")
        self.add("else:")
        self.add("  " + ("out(write_uvarint(len(rows) + 1))" if self.flexible else "out(pack_i(len(rows)))"))
        if field.entity is not None:
            self.add(f"  for row in rows: {self.fresh(entity_writer(field.entity))}(out, row)")
        elif field.kind in FIXED:
            pack = self.fresh(functools.cache(lambda n, code=FIXED[field.kind]: struct.Struct(f">{n}{code}").pack))
            self.add(f"  if rows: out({pack}(len(rows))(*rows))")
        else:
            self.add(f"  for row in rows: out({self.one(field, 'row')})")

    def nested(self, field: Field) -> None:
        write = self.fresh(entity_writer(typing.cast("type[Any]", field.entity)))
        self.add(f"row = {self.get(field)}")
        if field.nullable:
            self.add("if row is None: out(b'\\xff')")
            self.add(f"else: out(b'\\1'); {write}(out, row)")
        else:
            self.add(f"{write}(out, row or {{}})")

    def field(self, field: Field) -> None:
        if field.kind in FIXED and not field.is_array:
            self.run.append(field)
            return
        self.flush()
        if field.is_array:
            self.array(field)
        elif field.entity is not None:
            self.nested(field)
        elif field.kind in ("bytes", "records"):
            self.blob(field)
        else:
            self.add(f"out({self.one(field, self.get(field))})")

    def tags(self, tagged: list[Field]) -> None:
        """The tag section: each field that is not at its default, in the order of tags."""
        if not self.flexible:
            return
        if not tagged:
            self.add("out(b'\\0')")
            return
        self.add("tags = []")
        for field in sorted(tagged, key=lambda f: typing.cast("int", f.tag)):
            self.add(f"value = {self.get(field)}")
            self.add(f"if {self.fresh(says_something(field))}(value):")
            self.add(f"  body = {self.fresh(tag_writer(field))}(value)")
            self.add(f"  tags.append({write_uvarint(field.tag or 0)!r} + write_uvarint(len(body)) + body)")
        self.add("out(write_uvarint(len(tags)))")
        self.add("for tag in tags: out(tag)")

    def build(self) -> Callable[[Out, Values], None]:
        self.flush()
        exec("\n".join(self.lines), self.scope)  # noqa: S102 - the source is made here, from a schema
        made: Callable[[Out, Values], None] = self.scope["write"]
        return made


def says_something(field: Field) -> Callable[[Any], bool]:
    """Whether the value of a tagged field differs from its default; one that does not is left out."""
    default = field.default
    if field.is_array:
        return lambda rows: rows is not None and (field.nullable or len(rows) > 0)
    if field.entity is not None and default is not None:
        return lambda row: row is not None and any(row.get(name, rest) != rest for name, rest in default.items())
    return lambda value: bool(value != default)


def tag_writer(field: Field) -> Callable[[Any], bytes]:
    """Bytes of a tagged field's value; inside a tag a nested entity has no null marker."""
    bare = dataclasses.replace(field, tag=None, nullable=False)
    compiler = Compiler(FlexibleShell)
    compiler.field(bare)
    write = compiler.build()

    def body(value: Any) -> bytes:
        parts: list[Any] = []
        write(parts.append, {field.name: value})
        return b"".join(parts)

    return body


class FlexibleShell:
    """Stands in for the entity of a lone tagged field."""

    __flexible__ = True


def entity_writer(cls: type[Any]) -> Callable[[Out, Values], None]:
    """The compiled writer of one kio class: `write(out, values)` where `out` takes pieces of bytes."""
    if cls not in _writers:
        _writers[cls] = _compile(cls)
    return _writers[cls]


_writers: dict[type[Any], Callable[[Out, Values], None]] = {}


def _compile(cls: type[Any]) -> Callable[[Out, Values], None]:
    fields = [describe(f) for f in dataclasses.fields(cls)]
    compiler = Compiler(cls)
    for field in fields:
        if field.tag is None:
            compiler.field(field)
    compiler.flush()
    compiler.tags([f for f in fields if f.tag is not None])
    return compiler.build()


@functools.cache
def message_writer(key: int, version: int, kind: str) -> Callable[[Out, Values], None]:
    """The compiled writer of a message."""
    return entity_writer(message_class(key, version, kind))


def encode_response(key: int, version: int, values: Values) -> bytes:
    """The body of an answer."""
    if strictness.on:
        check_names(key, "response", values)
    parts: list[Any] = []
    message_writer(key, version, "response")(parts.append, values)
    return b"".join(parts)


def encode_request(key: int, version: int, values: Values) -> bytes:
    """The body of a request."""
    if strictness.on:
        check_names(key, "request", values)
    parts: list[Any] = []
    message_writer(key, version, "request")(parts.append, values)
    return b"".join(parts)


class Strictness:
    """Whether unknown names are refused."""

    on = False


strictness = Strictness()


@contextlib.contextmanager
def strict(on: bool = True) -> Iterator[None]:
    """Within this block a value whose name no version of its message has is a `LookupError`."""
    before, strictness.on = strictness.on, on
    try:
        yield
    finally:
        strictness.on = before


@functools.cache
def names_of(key: int, kind: str) -> frozenset[str]:
    """Every field name of a message and its nested entities, in any version."""
    names: set[str] = set()
    for version in range(32):
        with contextlib.suppress(LookupError):
            pending = [message_class(key, version, kind)]
            while pending:
                fields = [describe(f) for f in dataclasses.fields(pending.pop())]
                names.update(f.name for f in fields)
                pending += [f.entity for f in fields if f.entity is not None]
    return frozenset(names)


def check_names(key: int, kind: str, values: Values) -> None:
    """Raises LookupError for a name that no version of this message has."""
    known = names_of(key, kind)
    pending: list[Any] = [values]
    while pending:
        value = pending.pop()
        if isinstance(value, Mapping):
            if strange := value.keys() - known:
                raise LookupError(f"API {key} has no {kind} field {sorted(strange)}")
            pending += value.values()
        elif isinstance(value, list | tuple):
            pending += value
