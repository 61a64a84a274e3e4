"""Offsets by time.

Job: the first record at or after a time, and the first record with the greatest time.
Rules:
- Times need not grow with offsets. A segment or a batch whose greatest timestamp is below the wanted time is passed
  over; of the first that is not, records are decoded until one fits.
- Nothing before the log start offset or from the end offset on is found.
Must not know: who appends, what a request asks for.
Source: KIP-79 (by time), KIP-734 (the greatest time).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from kaas.storage.log.segment import Segment
from kaas.wire.records.header import NO_TIMESTAMP, BatchHeader
from kaas.wire.records.record import Record, decode_records


class FoundRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Where a record is and its time, in milliseconds since 1970."""

    offset: int
    timestamp: int


def first_at_or_after(
    segments: Sequence[Segment], timestamp: int, start_offset: int, end_offset: int
) -> FoundRecord | None:
    """The first record in [start_offset, end_offset) that is not older than a time.

    Raises: OSError, KafkaError CORRUPT_MESSAGE.
    """
    for segment in segments:
        if segment.max_timestamp < timestamp:
            continue
        pair = segment.times.floor(timestamp)
        first = max(start_offset, segment.base_offset + (pair[1] if pair else 0))
        for record in _records(segment, first, end_offset, timestamp):
            if record.timestamp >= timestamp:
                return FoundRecord(offset=record.offset, timestamp=record.timestamp)
    return None


def newest(segments: Sequence[Segment], start_offset: int, end_offset: int) -> FoundRecord | None:
    """The first of the records in [start_offset, end_offset) with the greatest time.

    Raises: OSError, KafkaError CORRUPT_MESSAGE.
    """
    greatest = NO_TIMESTAMP
    for segment in segments:
        if segment.max_timestamp > greatest:
            greatest = max(greatest, _greatest_time(segment, start_offset, end_offset))
    return None if greatest == NO_TIMESTAMP else first_at_or_after(segments, greatest, start_offset, end_offset)


def _greatest_time(segment: Segment, start_offset: int, end_offset: int) -> int:
    if start_offset <= segment.max_timestamp_offset < end_offset:
        return segment.max_timestamp
    greatest = NO_TIMESTAMP
    for header, data in _batches(segment, start_offset, end_offset):
        if header.max_timestamp <= greatest:
            continue
        if header.base_offset >= start_offset:
            greatest = header.max_timestamp
        else:
            kept = [one.timestamp for one in decode_records(data, 0, header) if one.offset >= start_offset]
            greatest = max(greatest, *kept)
    return greatest


def _records(segment: Segment, start_offset: int, end_offset: int, timestamp: int) -> Iterator[Record]:
    """The records in [start_offset, end_offset) of the batches whose greatest time is not below a time."""
    for header, data in _batches(segment, start_offset, end_offset):
        if header.max_timestamp >= timestamp:
            yield from (one for one in decode_records(data, 0, header) if start_offset <= one.offset < end_offset)


def _batches(segment: Segment, start_offset: int, end_offset: int) -> Iterator[tuple[BatchHeader, memoryview]]:
    for _, header, data in segment.walk(segment.locate(start_offset), segment.size):
        if header.base_offset >= end_offset:
            return
        yield header, data
