"""Numbers of variable length, zigzag encoded, as records hold them.

Job: write and read them.
Rules: at most 64 bits; a number that goes on for longer, or past the end of its buffer, raises.
Must not know: what the numbers mean.
Source: Kafka's page "Message Format" ("varint", "varlong": those of Protocol Buffers, zigzag).
"""

from __future__ import annotations

from kaas.errors import ErrorCode, KafkaError
from kaas.wire.records.header import Bytes

_LAST_SHIFT = 63
_MASK = 2**64 - 1


def write_varint(out: bytearray, value: int) -> None:
    """Appends a number of at most 64 bits to a buffer."""
    left = ((value << 1) ^ (value >> 63)) & _MASK
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    out.append(left)


def read_varint(data: Bytes, position: int) -> tuple[int, int]:
    """The number at a position, and the position after it.

    Raises: KafkaError CORRUPT_MESSAGE when the buffer ends inside the number, or the number has more than 64 bits.
    """
    try:
        byte = data[position]
        if byte <= 0x7F:
            return (byte >> 1) ^ -(byte & 1), position + 1  # most numbers in records are this small
        value, shift = byte & 0x7F, 7
        while byte > 0x7F:
            if shift > _LAST_SHIFT:
                raise KafkaError(ErrorCode.CORRUPT_MESSAGE, "a number in a record has more than 64 bits")
            position += 1
            byte = data[position]
            value |= (byte & 0x7F) << shift
            shift += 7
    except IndexError as error:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, "a record ends inside a number") from error
    value &= _MASK
    return (value >> 1) ^ -(value & 1), position + 1
