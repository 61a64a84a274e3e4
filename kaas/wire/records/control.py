"""The markers that end a transaction: control batches of one record.

Job: build them and read them.
Rules: a marker is written by the transaction coordinator for each partition of a transaction; clients skip it.
Must not know: transactions' state.
Source: KIP-98; Kafka's page "Message Format", section "Control Batches".
"""

from __future__ import annotations

import struct
from enum import IntEnum

import msgspec

from kaas.errors import ErrorCode, KafkaError
from kaas.wire.records.header import CONTROL, NO_SEQUENCE, TRANSACTIONAL, BatchHeader, Bytes
from kaas.wire.records.record import Origin, Record, build_batch, decode_records

_KEY = struct.Struct(">hh")  # version, kind
_VALUE = struct.Struct(">hi")  # version, coordinator epoch
_VERSION = 0


class MarkerKind(IntEnum):
    """How a transaction ended, by the number in the marker's key."""

    ABORT = 0
    COMMIT = 1


class Marker(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a marker says. `coordinator_epoch` grows when another broker takes the transaction over, so that the old
    one is refused.
    """

    kind: MarkerKind
    coordinator_epoch: int


def build_marker(marker: Marker, *, producer_id: int, producer_epoch: int, timestamp_ms: int) -> bytes:
    """The control batch that ends the transaction of a producer; the log gives it its offset."""
    record = Record(
        offset=0,
        timestamp=timestamp_ms,
        key=_KEY.pack(_VERSION, marker.kind),
        value=_VALUE.pack(_VERSION, marker.coordinator_epoch),
    )
    origin = Origin(producer_id=producer_id, producer_epoch=producer_epoch, base_sequence=NO_SEQUENCE)
    return build_batch([record], attributes=CONTROL | TRANSACTIONAL, origin=origin)


def read_marker(data: Bytes, position: int, header: BatchHeader) -> Marker | None:
    """What the control batch at a position says; None for a kind of control record that ends no transaction.

    Raises: KafkaError CORRUPT_MESSAGE when it is no control record at all.
    """
    record = decode_records(data, position, header)[0]
    try:
        _, kind = _KEY.unpack_from(record.key or b"")
        if kind not in (MarkerKind.ABORT, MarkerKind.COMMIT):
            return None
        _, coordinator_epoch = _VALUE.unpack_from(record.value or b"")
    except struct.error as error:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, "a control record cannot be read") from error
    return Marker(kind=MarkerKind(kind), coordinator_epoch=coordinator_epoch)
