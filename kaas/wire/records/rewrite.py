"""What a broker changes in a batch that it was sent.

Job: give a batch its place in the log, its append time, the compression of its topic.
Rules: the place lies outside of the checksum and costs one copy; time and compression are covered by it and cost a
new one, so they are changed only where the topic says so. Records are never decoded.
Must not know: logs, topics.
"""

from __future__ import annotations

import struct

import msgspec

from kaas.wire.records.codec import Codec, compress, decompress
from kaas.wire.records.header import (
    CODEC_MASK,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    PREFIX_SIZE,
    BatchHeader,
    Bytes,
)
from kaas.wire.records.record import seal

_PLACE = struct.Struct(">qii")  # base offset, length, leader epoch


def placed(data: Bytes, header: BatchHeader, base_offset: int, leader_epoch: int) -> bytes:
    """The batch that `data` begins with, at its offset in the log; bytes after it are left out."""
    place = _PLACE.pack(base_offset, header.batch_length, leader_epoch)
    return b"".join((place, memoryview(data)[_PLACE.size : header.size]))


def stamped(data: Bytes, header: BatchHeader, append_time_ms: int | None) -> bytes:
    """The batch with the time of its append (milliseconds since 1970) in place of its producer's times; None: with
    its producer's.
    """
    if append_time_ms is None:
        changed = msgspec.structs.replace(header, attributes=header.attributes & ~LOG_APPEND_TIME)
    else:
        attributes = header.attributes | LOG_APPEND_TIME
        changed = msgspec.structs.replace(header, attributes=attributes, max_timestamp=append_time_ms)
    return seal(changed, memoryview(data)[HEADER_SIZE : header.size])


def recompressed(data: Bytes, header: BatchHeader, codec: Codec) -> bytes:
    """The batch under another compression.

    Raises: KafkaError CORRUPT_MESSAGE when its payload cannot be decompressed.
    """
    payload = compress(codec, decompress(header.codec, memoryview(data)[HEADER_SIZE : header.size]))
    length = HEADER_SIZE - PREFIX_SIZE + len(payload)
    attributes = (header.attributes & ~CODEC_MASK) | codec
    return seal(msgspec.structs.replace(header, batch_length=length, attributes=attributes), payload)
