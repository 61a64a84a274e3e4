"""A batch as a client sends it: what is refused, and with which code.

Job: say yes to the one good batch of a produced partition and hand back its header.
Rules:
- The header and the checksum are enough. Records are not decoded: that costs more than all the rest of a produce
  together, and a client that lies about its own records with a right checksum harms its own readers only, who check
  again (docs/decisions/0021). But no batch takes more offsets than its bytes can hold records.
- The order of checks is Apache's, so that of two faults the same one is named.
- Bytes after the batch that are too few to be another one are ignored, as Apache trims them.
Must not know: topics, versions of requests (the caller refuses zstd from old ones).
"""

from __future__ import annotations

import struct

from kaas.errors import ErrorCode, KafkaError
from kaas.wire.records.codec import DECOMPRESSED_LIMIT_BYTES, Codec
from kaas.wire.records.header import HEADER_SIZE, MAGIC, PREFIX_SIZE, BatchHeader, Bytes, read_header
from kaas.wire.records.walk import checksum_fits

_LENGTH_AND_MAGIC = struct.Struct(">i4xb")
_UP_TO_MAGIC = 17
_SMALLEST_LENGTH = 14  # of any magic: below this it cannot be a batch at all
_GREATEST_CODEC = max(Codec)
_SMALLEST_RECORD = 7  # length, attributes, two deltas, two absent lengths and no headers, one byte each


def validate_produced(data: Bytes, max_message_bytes: int) -> BatchHeader:
    """The header of the single batch that `data` must hold.

    Raises: KafkaError INVALID_RECORD (no whole batch, more than one, another magic, counts that do not agree, a
    control batch, a producer without a sequence, an unknown compression), CORRUPT_MESSAGE (impossible length or
    magic, wrong checksum), MESSAGE_TOO_LARGE (above `max_message_bytes`).
    """
    size = _whole_batch_size(data, 0)
    if size == 0:
        raise KafkaError(ErrorCode.INVALID_RECORD, "the partition's records hold no whole batch")
    if data[16] != MAGIC:
        raise KafkaError(ErrorCode.INVALID_RECORD, f"the batch has magic {data[16]}, not {MAGIC}")
    if _whole_batch_size(data, size):
        raise KafkaError(ErrorCode.INVALID_RECORD, "the partition's records hold more than one batch")
    if size < HEADER_SIZE:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, "the batch is shorter than its header")
    header = read_header(data)
    if header.base_offset != 0:
        raise KafkaError(ErrorCode.INVALID_RECORD, f"the base offset of a new batch is 0, not {header.base_offset}")
    if size > max_message_bytes:
        raise KafkaError(ErrorCode.MESSAGE_TOO_LARGE, f"{size} bytes in a batch are more than {max_message_bytes}")
    if not checksum_fits(data, 0, header):
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, "the batch does not fit its checksum")
    _check_fields(header)
    return header


def _whole_batch_size(data: Bytes, position: int) -> int:
    """The size of the batch at a position, or 0 when the bytes end before it does."""
    left = len(data) - position
    if left < PREFIX_SIZE:
        return 0
    if left < _UP_TO_MAGIC:
        length, magic = int.from_bytes(data[position + 8 : position + 12], signed=True), MAGIC
    else:
        length, magic = _LENGTH_AND_MAGIC.unpack_from(data, position + 8)
    if length < _SMALLEST_LENGTH:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"a batch claims {length} bytes, less than any batch has")
    if not 0 <= magic <= MAGIC:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"a batch has magic {magic}, which does not exist")
    size: int = length + PREFIX_SIZE
    return size if size <= left else 0


def _check_fields(header: BatchHeader) -> None:
    if header.record_count <= 0 or header.record_count != header.last_offset_delta + 1:
        raise KafkaError(
            ErrorCode.INVALID_RECORD,
            f"the batch says {header.record_count} records and a last offset delta of {header.last_offset_delta}",
        )
    room = header.size - HEADER_SIZE if header.codec == Codec.NONE else DECOMPRESSED_LIMIT_BYTES
    if header.record_count * _SMALLEST_RECORD > room:
        raise KafkaError(ErrorCode.INVALID_RECORD, f"{room} bytes do not hold {header.record_count} records")
    if header.is_control:
        raise KafkaError(ErrorCode.INVALID_RECORD, "control batches are written by brokers only")
    if header.has_producer and header.base_sequence < 0:
        raise KafkaError(ErrorCode.INVALID_RECORD, f"producer {header.producer_id} sends no sequence number")
    if header.codec > _GREATEST_CODEC:
        raise KafkaError(ErrorCode.INVALID_RECORD, f"there is no compression {header.codec}")
