"""Variable-length integers as Kafka writes them: 7 bits a byte, lowest first; signed ones zigzag.

Rules: a number that does not end within its width is a ValueError, so that endless bytes cannot hold a reader.
Source: Kafka protocol guide (UNSIGNED_VARINT, VARINT, VARLONG).
"""

from __future__ import annotations

from collections.abc import Sequence


def read_uvarint(data: bytes | memoryview | Sequence[int], at: int) -> tuple[int, int]:
    """An unsigned varint of at most 32 bits and where it ends. Raises ValueError."""
    value = shift = 0
    end = len(data)
    while shift < 35:
        if at >= end:
            raise ValueError("a number is cut off")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >> 32:
                break
            return value, at
        shift += 7
    raise ValueError("a number has more than 32 bits")


def write_uvarint(value: int) -> bytes:
    """An unsigned varint; `value` must not be negative."""
    if value < 0x80:
        return SMALL[value]
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


SMALL = tuple(bytes([n]) for n in range(0x80))
