"""Bytes to messages: guarded, then by kio's native reader.

Rules: whatever cannot be read is `Unreadable`, and nothing is allocated for what is only claimed (kaas.wire.guard). Bytes after
the message are ignored, as Kafka does.
Must not know: what a message means.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable
from typing import Any

from kio.serial.errors import SerialError

from kaas.wire.guard import message_walker, without_unknown_tags
from kaas.wire.schema import reader


class Unreadable(Exception):
    """Bytes that are not the message they should be."""


Decoder = Callable[[bytes, int], Any]


@functools.cache
def decoder(key: int, version: int, kind: str) -> Decoder:
    """`decode(data, at)` for one message. Raises Unreadable."""
    read, walk = reader(key, version, kind), message_walker(key, version, kind)

    def decode(data: bytes, at: int = 0) -> Any:
        try:
            if walk is not None:
                walk(data, at, len(data), None)
            try:
                return read(data, at)[0]
            except KeyError:  # kio's word for a tag that it does not know
                return read(without_unknown_tags(key, version, kind, data, at), 0)[0]
        except (
            SerialError,
            ValueError,
            OverflowError,
            IndexError,
            MemoryError,
            TypeError,
            KeyError,
            struct.error,
        ) as problem:
            raise Unreadable(f"{type(problem).__name__}: {problem}") from None

    return decode


def decode(key: int, version: int, kind: str, data: bytes, at: int = 0) -> Any:
    """The message (kio's entity) that begins here. Raises Unreadable."""
    return decoder(key, version, kind)(data, at)
