"""Single records, and batches built from them.

Job: decode the records of a batch, and build a batch from records.
Rules:
- Offsets and timestamps of a `Record` are absolute; in a batch they are differences to its base.
- The count in the header is a claim: decoding goes on while there are bytes, and a count that does not fit raises.
- A header key that is not UTF-8 survives a round trip (surrogate escapes), because compaction must not change what
  it keeps.
Must not know: logs, producers' state.
Source: Kafka's page "Message Format", section "Record".
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from crc32c import crc32c

from kaas.errors import ErrorCode, KafkaError
from kaas.wire.records.codec import Codec, compress, decompress
from kaas.wire.records.header import (
    CHECKED_FROM,
    DELETE_HORIZON,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    MAGIC,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    PREFIX_SIZE,
    BatchHeader,
    Bytes,
    write_header,
)
from kaas.wire.records.varint import read_varint, write_varint

_UNKNOWN_LEADER_EPOCH = -1


class Record(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One record. `timestamp` in milliseconds since 1970; `headers` in their order, keys may repeat."""

    offset: int
    timestamp: int
    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()


class Origin(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Who wrote a batch, for idempotence and transactions; the defaults mean a plain producer."""

    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = -1
    base_sequence: int = NO_SEQUENCE


_NOBODY = Origin()


def decode_records(data: Bytes, position: int, header: BatchHeader) -> list[Record]:
    """The records of the batch at a position of a buffer.

    Raises: KafkaError CORRUPT_MESSAGE for a payload that cannot be decompressed, or whose records do not fill it
    exactly.
    """
    packed = memoryview(data)[position + HEADER_SIZE : position + header.size]
    payload = bytes(decompress(header.codec, packed))
    records: list[Record] = []
    at = 0
    while at < len(payload):
        if len(records) == header.record_count:
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, "the batch holds more records than its header says")
        record, at = _decode_record(payload, at, header)
        records.append(record)
    if len(records) != header.record_count:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, "the batch holds fewer records than its header says")
    return records


def _decode_record(payload: bytes, at: int, header: BatchHeader) -> tuple[Record, int]:
    size, at = read_varint(payload, at)
    end = at + size
    if size <= 0 or end > len(payload):
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, "a record reaches beyond its batch")
    later_ms, at = read_varint(payload, at + 1)  # one byte of attributes, of which none is in use
    offset_delta, at = read_varint(payload, at)
    key, at = _read_bytes(payload, at)
    value, at = _read_bytes(payload, at)
    headers, at = _read_headers(payload, at)
    if at != end:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, "a record does not end where its size says")
    stamped = header.attributes & LOG_APPEND_TIME
    record = Record(
        offset=header.base_offset + offset_delta,
        timestamp=header.max_timestamp if stamped else header.base_timestamp + later_ms,
        key=key,
        value=value,
        headers=headers,
    )
    return record, end


def _read_bytes(payload: bytes, at: int) -> tuple[bytes | None, int]:
    size, at = read_varint(payload, at)
    if size < 0:
        return None, at
    end = at + size
    if end > len(payload):
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, "a key or a value reaches beyond its batch")
    return payload[at:end], end


def _read_headers(payload: bytes, at: int) -> tuple[tuple[tuple[str, bytes | None], ...], int]:
    count, at = read_varint(payload, at)
    if count == 0:
        return (), at
    if not 0 < count <= len(payload) - at:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"a record claims {count} headers")
    headers = []
    for _ in range(count):
        key, at = _read_bytes(payload, at)
        value, at = _read_bytes(payload, at)
        if key is None:
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, "a record has a header without a key")
        headers.append((key.decode(errors="surrogateescape"), value))
    return tuple(headers), at


def build_batch(
    records: Sequence[Record],
    *,
    base_offset: int = 0,
    last_offset_delta: int | None = None,
    base_timestamp: int | None = None,
    leader_epoch: int = _UNKNOWN_LEADER_EPOCH,
    codec: Codec = Codec.NONE,
    attributes: int = 0,
    origin: Origin = _NOBODY,
) -> bytes:
    """One batch of at least one record, with its checksum.

    `last_offset_delta` and `base_timestamp` are given by compaction only, which keeps the span of a batch when
    records inside of it go, and puts the delete horizon where the base timestamp was (KIP-534); `attributes` are the
    flags without the codec.
    """
    first_time = records[0].timestamp if base_timestamp is None else base_timestamp
    body = bytearray()
    for record in records:
        _encode_record(body, record, base_offset, first_time)
    payload = compress(codec, body)
    header = BatchHeader(
        base_offset=base_offset,
        batch_length=HEADER_SIZE - PREFIX_SIZE + len(payload),
        leader_epoch=leader_epoch,
        magic=MAGIC,
        checksum=0,
        attributes=attributes | codec,
        last_offset_delta=records[-1].offset - base_offset if last_offset_delta is None else last_offset_delta,
        base_timestamp=first_time,
        max_timestamp=max(record.timestamp for record in records),
        producer_id=origin.producer_id,
        producer_epoch=origin.producer_epoch,
        base_sequence=origin.base_sequence,
        record_count=len(records),
    )
    return seal(header, payload)


def seal(header: BatchHeader, payload: Bytes) -> bytes:
    """The bytes of a header and its payload, with the checksum that fits both in place of the header's."""
    checked = write_header(header)[CHECKED_FROM:]
    checksum = crc32c(payload, crc32c(checked))
    return write_header(msgspec.structs.replace(header, checksum=checksum)) + bytes(payload)


def delete_horizon_ms(header: BatchHeader) -> int:
    """When the tombstones or the marker in this batch may go, in milliseconds since 1970; NO_TIMESTAMP: not decided
    yet (KIP-534).
    """
    return header.base_timestamp if header.attributes & DELETE_HORIZON else NO_TIMESTAMP


def _encode_record(body: bytearray, record: Record, base_offset: int, first_time: int) -> None:
    one = bytearray(b"\0")  # attributes
    write_varint(one, record.timestamp - first_time)
    write_varint(one, record.offset - base_offset)
    _write_bytes(one, record.key)
    _write_bytes(one, record.value)
    write_varint(one, len(record.headers))
    for key, value in record.headers:
        _write_bytes(one, key.encode(errors="surrogateescape"))
        _write_bytes(one, value)
    write_varint(body, len(one))
    body += one


def _write_bytes(one: bytearray, value: bytes | None) -> None:
    if value is None:
        write_varint(one, -1)
    else:
        write_varint(one, len(value))
        one += value
