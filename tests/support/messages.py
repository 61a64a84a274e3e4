"""Messages with random values, as kio's entities and as the plain values that our writer takes.

Built from kio's classes alone, so that a test of our writer does not use what it tests.
"""

from __future__ import annotations

import dataclasses
import datetime
import random
import types
import typing
import uuid
from typing import Any

from kio.schema.errors import ErrorCode

from kaas.wire.schema import message_class

EPOCH = datetime.datetime.fromtimestamp(0, tz=datetime.UTC)
MILLISECOND = datetime.timedelta(milliseconds=1)
BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
UNSIGNED_BITS = {"uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64}
TEXTS = ("", "a", "topic-1", "grüße", "日本", "x" * 200)
CODES = list(ErrorCode)


def random_message(key: int, version: int, kind: str, dice: random.Random) -> Any:
    """A message of kio's with a value in every field."""
    return random_entity(message_class(key, version, kind), dice)


def random_entity(cls: type[Any], dice: random.Random) -> Any:
    return cls(**{field.name: random_field(field, dice) for field in dataclasses.fields(cls)})


def random_field(field: dataclasses.Field[Any], dice: random.Random) -> Any:
    hint, nullable = without_none(field.type)
    if field.default is not dataclasses.MISSING and dice.random() < 0.2:
        return field.default
    if nullable and dice.random() < 0.3:
        return None
    if typing.get_origin(hint) is tuple:
        inner, _ = without_none(typing.get_args(hint)[0])
        return tuple(random_value(inner, field, dice) for _ in range(dice.choice((0, 1, 2, 5))))
    return random_value(hint, field, dice)


def without_none(hint: Any) -> tuple[Any, bool]:
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        kept = [one for one in typing.get_args(hint) if one is not types.NoneType]
        return kept[0], len(kept) < len(typing.get_args(hint))
    return hint, False


def random_value(hint: Any, field: dataclasses.Field[Any], dice: random.Random) -> Any:
    if dataclasses.is_dataclass(hint):
        return random_entity(typing.cast("type[Any]", hint), dice)
    return random_primitive(field.metadata["kafka_type"], dice)


def random_primitive(kind: str, dice: random.Random) -> Any:
    if kind in BITS:
        return random_int(-(2 ** (BITS[kind] - 1)), 2 ** (BITS[kind] - 1) - 1, dice)
    if kind in UNSIGNED_BITS:
        return random_int(0, 2 ** UNSIGNED_BITS[kind] - 1, dice)
    return {
        "bool": lambda: dice.random() < 0.5,
        "float64": dice.random,
        "string": lambda: dice.choice(TEXTS),
        "bytes": lambda: dice.randbytes(dice.choice((0, 1, 130, 300))),
        "records": lambda: dice.randbytes(dice.choice((0, 1, 130, 300))),
        "uuid": lambda: uuid.UUID(bytes=dice.randbytes(16), version=4),
        "error_code": lambda: dice.choice(CODES),
        "timedelta_i32": lambda: dice.randrange(2**31) * MILLISECOND,
        "timedelta_i64": lambda: dice.randrange(2**40) * MILLISECOND,
        "datetime_i64": lambda: EPOCH + dice.randrange(2**40) * MILLISECOND,
    }[kind]()


def random_int(low: int, high: int, dice: random.Random) -> int:
    """Often one of those where something changes."""
    return dice.choice((low, high, 0, 1, max(low, -1), dice.randint(low, high)))


def plain_field(field: dataclasses.Field[Any], value: Any) -> Any:
    """A time that is not known is -1 on the wire."""
    return -1 if value is None and field.metadata.get("kafka_type") == "datetime_i64" else plain(value)


def plain(value: Any) -> Any:
    """The same values without kio's types."""
    if dataclasses.is_dataclass(value):
        return {field.name: plain_field(field, getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, tuple):
        return [plain(one) for one in value]
    if isinstance(value, datetime.timedelta):
        return value // MILLISECOND
    if isinstance(value, datetime.datetime):
        return (value - EPOCH) // MILLISECOND
    return int(value) if isinstance(value, ErrorCode) else value
