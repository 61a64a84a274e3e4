"""Reading what a fetch asks for.

Job: from partitions, offsets and byte limits to rows of an answer.
Rules:
- At least one batch comes, whatever the limits, so that a batch larger than them is no dead end; after that the
  limits hold.
- What is in memory is read at once. `from_memory` gives up (None) when a file is needed: then a reader thread reads
  all.
- An error is the row of its partition and stops no other.
Must not know: sessions, waiting, the wire.
Source: Kafka protocol guide (Fetch), KIP-74 (byte limits), KIP-98 (read_committed).
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from kaas.broker.fetch_sessions import FetchedPartition
from kaas.broker.partitions import check_leader_epoch
from kaas.errors import ErrorCode, KafkaError
from kaas.storage.log.aborted import AbortedTransaction
from kaas.storage.log.partition import PartitionLog
from kaas.storage.log.segment import Chunk

UNKNOWN = -1


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """One partition to read. `log` None: `refusal` is its row."""

    asked: FetchedPartition
    log: PartitionLog | None
    refusal: ErrorCode = ErrorCode.NONE


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """`max_bytes` of all partitions together. `committed`: only up to the last stable offset."""

    max_bytes: int
    committed: bool


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one partition.

    `has_more`: there is more to read than the limits let through. `aborted` None: the reader takes all records, or the
    partition could not be read.
    """

    asked: FetchedPartition
    code: ErrorCode = ErrorCode.NONE
    high_watermark: int = UNKNOWN
    last_stable_offset: int = UNKNOWN
    log_start_offset: int = UNKNOWN
    buffers: list[bytes | memoryview] = []
    size: int = 0
    has_more: bool = False
    aborted: list[AbortedTransaction] | None = None


def read_partitions(wanted: Iterable[Wanted], limits: Limits, *, from_memory: bool) -> list[Row] | None:
    """A row for each partition; None: some records are in files only, and `from_memory` was asked for."""
    rows: list[Row] = []
    left, min_one = limits.max_bytes, True
    for one in wanted:
        if one.log is None:
            rows.append(Row(asked=one.asked, code=one.refusal, aborted=[]))
            continue
        try:
            row = _read(
                one.asked, one.log, min(one.asked.max_bytes, left), limits, from_memory=from_memory, min_one=min_one
            )
        except KafkaError as error:
            row = Row(asked=one.asked, code=error.code)
        if row is None:
            return None
        if row.size:
            min_one = False
            left = max(0, left - row.size)
        rows.append(row)
    return rows


def _read(
    asked: FetchedPartition, log: PartitionLog, room: int, limits: Limits, *, from_memory: bool, min_one: bool
) -> Row | None:
    check_leader_epoch(log, asked.leader_epoch)
    view = log.view
    offset = asked.fetch_offset
    view.check(offset)
    end_offset = view.last_stable_offset if limits.committed else view.high_watermark
    chunk: Chunk | None = Chunk([], 0, offset)
    if offset < end_offset:
        chunk = log.read_recent(offset, room, end_offset, min_one=min_one)
        if chunk is None and not from_memory:
            chunk = log.read(offset, room, end_offset, min_one=min_one)
    if chunk is None:
        return None
    return Row(
        asked=asked,
        high_watermark=view.high_watermark,
        last_stable_offset=view.last_stable_offset,
        log_start_offset=view.log_start_offset,
        buffers=chunk.buffers,
        size=chunk.size,
        has_more=chunk.next_offset < end_offset,
        aborted=log.aborted(offset, chunk.next_offset) if limits.committed else None,
    )
