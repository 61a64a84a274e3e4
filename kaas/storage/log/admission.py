"""Whether a log takes a batch, and in which form.

Job: from what somebody wants to append to the bytes that will lie in the log, or the error that refuses them.
Rules:
- The order of checks is Apache's: the batch itself, its times, its size against a segment, then its producer.
- A batch that was appended before is not an error: its first offsets are the answer.
- Records are decoded only where a topic asks for what the header does not say: keys (compaction) and oldest times.
Must not know: files, segments, threads.
Source: Apache Kafka 4.2, appends to a partition's leader.
"""

from __future__ import annotations

from typing import Any

import msgspec

from kaas.errors import ErrorCode, KafkaError
from kaas.storage.log.config import LogConfig
from kaas.storage.log.producers import ProducerStates
from kaas.storage.log.settings import LONG_MAX
from kaas.wire.records.control import Marker, read_marker
from kaas.wire.records.header import LOG_APPEND_TIME, NO_TIMESTAMP, BatchHeader, Bytes, read_header
from kaas.wire.records.record import decode_records
from kaas.wire.records.rewrite import recompressed, stamped
from kaas.wire.records.validate import validate_produced


class Append(msgspec.Struct, frozen=True, kw_only=True):
    """One batch to append.

    `is_marker`: the broker itself ends a transaction with it. `verified`: a transactional batch may open a
    transaction here, because its coordinator knows that this partition is a part of it. `token` comes back with the
    result, untouched.
    """

    data: Bytes
    is_marker: bool = False
    verified: bool = True
    token: Any = None


class Appended(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Where a batch lies: its first offset and, when the log stamps batches, the time it got (else NO_TIMESTAMP)."""

    base_offset: int
    append_time_ms: int = NO_TIMESTAMP


class Admitted(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A batch that may be written, without its place in the log."""

    data: Bytes
    header: BatchHeader
    marker: Marker | None = None


def admit(request: Append, config: LogConfig, producers: ProducerStates, now_ms: int) -> Admitted | Appended:
    """The batch as it is to be written, or where it lies already.

    Raises: KafkaError with the code that the producer is answered with.
    """
    if request.is_marker:
        return _admit_marker(request.data, producers)
    header = validate_produced(request.data, config.max_message_bytes)
    admitted = _conformed(request.data, header, config, now_ms)
    if not header.has_producer:
        return admitted
    duplicate = producers.duplicate_of(header)
    if duplicate is not None:
        return Appended(base_offset=duplicate.base_offset, append_time_ms=duplicate.append_time_ms)
    producers.check(header)
    if header.is_transactional and not request.verified:
        _check_open(header, producers)
    return admitted


def _admit_marker(data: Bytes, producers: ProducerStates) -> Admitted:
    header = read_header(data)
    marker = read_marker(data, 0, header)
    assert marker is not None, "the broker builds its own markers"
    producers.check_marker(header, marker)
    return Admitted(data=data, header=header, marker=marker)


def _check_open(header: BatchHeader, producers: ProducerStates) -> None:
    if not producers.is_open(header.producer_id, header.producer_epoch):
        raise KafkaError(
            ErrorCode.INVALID_TXN_STATE, f"no transaction of producer {header.producer_id} holds this partition"
        )


def _conformed(data: Bytes, header: BatchHeader, config: LogConfig, now_ms: int) -> Admitted:
    """The batch as the topic stores it."""
    if not config.stamps_appends:
        _check_times(data, header, config, now_ms)
    if config.compact:
        _check_keys(data, header)
    if config.codec is not None and config.codec != header.codec:
        data = recompressed(data, header, config.codec)
        header = read_header(data)
    if config.stamps_appends:
        data = stamped(data, header, now_ms)
        header = read_header(data)
    elif header.attributes & LOG_APPEND_TIME:
        data = stamped(data, header, None)
        header = read_header(data)
    if header.size > config.segment_bytes:
        raise KafkaError(
            ErrorCode.RECORD_LIST_TOO_LARGE, f"{header.size} bytes do not fit a segment of {config.segment_bytes}"
        )
    return Admitted(data=data, header=header)


def _check_times(data: Bytes, header: BatchHeader, config: LogConfig, now_ms: int) -> None:
    late = header.max_timestamp - now_ms > config.timestamp_after_max_ms
    if not late and config.timestamp_before_max_ms != LONG_MAX:
        earliest = min(record.timestamp for record in decode_records(data, 0, header))
        late = now_ms - earliest > config.timestamp_before_max_ms
    if late:
        raise KafkaError(ErrorCode.INVALID_TIMESTAMP, "a timestamp lies too far from the broker's clock")


def _check_keys(data: Bytes, header: BatchHeader) -> None:
    if any(record.key is None for record in decode_records(data, 0, header)):
        raise KafkaError(ErrorCode.INVALID_RECORD, "a compacted topic takes no record without a key")
