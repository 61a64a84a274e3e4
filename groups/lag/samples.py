"""Samples of lag as bytes, and the steps at which they are taken.

Job: pack and unpack what one database row holds; how long samples of each step are kept.
Rules: a sample holds whole values (a topic's log ends by partition, a group's committed offsets by topic and partition, -1
where there is none), so that a chunk can be read alone and a partition may come or go between two samples.
Must not know: the database, the index.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import msgspec

SAMPLES_PER_CHUNK = 60

Values = list[int] | dict[str, list[int]]
"""Log ends by partition, or committed offsets by topic and partition."""


class Sample(msgspec.Struct, frozen=True, array_like=True):
    """Values at a moment (milliseconds since 1970)."""

    at: int
    values: Values


class Step(msgspec.Struct, frozen=True):
    """Samples so far apart, kept for so long."""

    step_ms: int
    kept_ms: int

    @property
    def span_ms(self) -> int:
        """The time that one chunk covers."""
        return self.step_ms * SAMPLES_PER_CHUNK

    def kept_until(self, at: int) -> int:
        """When the chunk that holds this moment may go."""
        return self.begins_at(at) + self.span_ms + self.kept_ms

    def begins_at(self, at: int) -> int:
        """Where the chunk that holds this moment begins."""
        return at - at % self.span_ms


_FASTEST = 1
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Sample]).decode


def packed(samples: Sequence[Sample]) -> bytes:
    """The samples of one chunk as bytes."""
    return zlib.compress(_encode(list(samples)), _FASTEST)


def unpacked(data: bytes) -> list[Sample]:
    """The samples in these bytes.

    Raises zlib.error or msgspec.DecodeError for what `packed` did not make.
    """
    return _decode(zlib.decompress(data))
