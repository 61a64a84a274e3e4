"""What of a batch stays when its log is compacted.

Job: learn the last offset of each key, then say of each batch what is left of it.
Rules:
- A record stays when no later one of its key was learned. A record without a key, or of an aborted transaction, goes.
- A tombstone (a key without a value), and the marker of a transaction of which no data is left, stay until the delete
  horizon: the first pass that meets one writes the horizon into its batch, a pass after that time drops it (KIP-534).
- Offsets, times and the span of a batch never change; a batch of which everything stays is the same bytes.
- Batches come in the order of the log, because markers end what stands before them. One whose records cannot be read
  stays.
Must not know: segments, files.
Source: KIP-534; Kafka's page "Log Compaction".
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

from kaas.errors import KafkaError
from kaas.storage.log.aborted import AbortedTransaction
from kaas.wire.records.codec import Codec
from kaas.wire.records.header import CODEC_MASK, DELETE_HORIZON, NO_TIMESTAMP, BatchHeader
from kaas.wire.records.record import Origin, Record, build_batch, decode_records, delete_horizon_ms

_DIGEST_BYTES = 20


class AbortedRanges:
    """Which batches belong to aborted transactions."""

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self._ranges: dict[int, list[tuple[int, int]]] = {}
        for one in aborted:
            self._ranges.setdefault(one.producer_id, []).append((one.first_offset, one.last_offset))

    def hold(self, header: BatchHeader) -> bool:
        """Whether a batch was aborted."""
        if not header.is_transactional:
            return False
        ranges = self._ranges.get(header.producer_id, ())
        return any(first <= header.base_offset <= last for first, last in ranges)


class KeyOffsets:
    """The last offset of each key, for a bounded number of keys."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._offsets: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._offsets)

    @property
    def is_full(self) -> bool:
        return len(self._offsets) >= self._limit

    def learn(self, header: BatchHeader, data: memoryview) -> None:
        """Takes up the keys of a batch that comes after all batches so far."""
        for record in _records(header, data) or ():
            if record.key is not None:
                self._offsets[_short(record.key)] = record.offset

    def is_last(self, record: Record) -> bool:
        """Whether no later record of this key was learned; never for a record without a key."""
        return record.key is not None and record.offset >= self._offsets.get(_short(record.key), record.offset)


class Retained:
    """What stays of the batches of a log. `horizon_ms`: until when a tombstone that is met now must stay."""

    def __init__(self, keys: KeyOffsets, aborted: AbortedRanges, now_ms: int, horizon_ms: int) -> None:
        self._keys = keys
        self._aborted = aborted
        self._now_ms = now_ms
        self._horizon_ms = horizon_ms
        self._with_data: set[int] = set()  # producers whose transaction has data that stays

    def of(self, header: BatchHeader, data: memoryview) -> bytes | memoryview | None:
        """What is left of a batch; None: nothing."""
        if header.is_control:
            return self._of_marker(header, data)
        if self._aborted.hold(header):
            return None
        records = _records(header, data)
        if records is None:
            return data
        horizon_ms = delete_horizon_ms(header)
        over = NO_TIMESTAMP < horizon_ms < self._now_ms
        kept = [one for one in records if self._keys.is_last(one) and not (over and one.value is None)]
        if not kept:
            return None
        if header.is_transactional:
            self._with_data.add(header.producer_id)
        if horizon_ms == NO_TIMESTAMP and any(one.value is None for one in kept):
            return _rebuilt(header, kept, self._horizon_ms)
        if len(kept) == len(records):
            return data
        return _rebuilt(header, kept, NO_TIMESTAMP if over else horizon_ms)

    def _of_marker(self, header: BatchHeader, data: memoryview) -> bytes | memoryview | None:
        if header.producer_id in self._with_data:
            self._with_data.discard(header.producer_id)
            return data
        horizon_ms = delete_horizon_ms(header)
        if horizon_ms != NO_TIMESTAMP:
            return None if horizon_ms < self._now_ms else data
        records = _records(header, data)
        return data if records is None else _rebuilt(header, records, self._horizon_ms)


def _records(header: BatchHeader, data: memoryview) -> list[Record] | None:
    """The records of a batch; None when they cannot be read: such a batch is left as it is, for nothing is known of
    it.
    """
    try:
        return decode_records(data, 0, header)
    except KafkaError:
        return None


def _rebuilt(header: BatchHeader, records: list[Record], horizon_ms: int) -> bytes:
    """The batch with some of its records, with a delete horizon unless that is NO_TIMESTAMP."""
    attributes = header.attributes & ~CODEC_MASK & ~DELETE_HORIZON
    has_horizon = horizon_ms != NO_TIMESTAMP
    return build_batch(
        records,
        base_offset=header.base_offset,
        last_offset_delta=header.last_offset_delta,
        base_timestamp=horizon_ms if has_horizon else None,
        leader_epoch=header.leader_epoch,
        codec=Codec(header.codec),
        attributes=attributes | (DELETE_HORIZON if has_horizon else 0),
        origin=Origin(
            producer_id=header.producer_id, producer_epoch=header.producer_epoch, base_sequence=header.base_sequence
        ),
    )


def _short(key: bytes) -> bytes:
    """A key, or the digest of a long one; the two never have the same length."""
    return key if len(key) < _DIGEST_BYTES else blake2b(key, digest_size=_DIGEST_BYTES).digest()
