"""The frame that schema-aware serializers put around a value.

Job: magic byte, schema id and, for Protobuf, the path to the message's type; each cut off the value.
Rules: bytes in, data out; bytes that do not fit are no frame, or Undecodable.
Must not know: schemas, registries.
Source: Confluent's wire format: byte 0, the schema id in 4 bytes, big-endian; Protobuf adds message indexes as zigzag varints,
a count first, where a lone 0 stands for [0].
"""

from __future__ import annotations

from dataclasses import dataclass

MAGIC = 0
_HEADER_BYTES = 5
_INDEXES_LIMIT = 100


class Undecodable(Exception):
    """A value that cannot be read with its schema; the message is a sentence for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A framed value: which schema wrote it, and the rest."""

    schema_id: int
    body: bytes


def frame_of(data: bytes) -> Frame | None:
    """The frame around a value, null for bytes that have none."""
    if len(data) < _HEADER_BYTES or data[0] != MAGIC:
        return None
    return Frame(schema_id=int.from_bytes(data[1:_HEADER_BYTES], "big"), body=data[_HEADER_BYTES:])


def message_path(body: bytes) -> tuple[list[int], bytes]:
    """The path to a Protobuf message's type (index among the file's types, then among that type's own), and the message.

    Raises Undecodable for bytes that hold no such path.
    """
    count, at = _zigzag(body, 0)
    if count == 0:
        return [0], body[at:]
    if not 0 < count <= _INDEXES_LIMIT:
        raise Undecodable("Its message indexes make no sense.")
    path = []
    for _ in range(count):
        index, at = _zigzag(body, at)
        path.append(index)
    return path, body[at:]


def _zigzag(data: bytes, at: int) -> tuple[int, int]:
    """A zigzag varint of at most 32 bits, and where the next begins."""
    value = 0
    for shift in range(0, 35, 7):
        if at >= len(data):
            raise Undecodable("It ends within its message indexes.")
        byte, at = data[at], at + 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
    raise Undecodable("Its message indexes make no sense.")
