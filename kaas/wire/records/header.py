"""The header of a record batch, as data.

Job: turn the 61 bytes that open a batch into a `BatchHeader`.
Rules: reading checks nothing but that the bytes are there; what the fields may hold is for `walk` and `validate`.
Must not know: records, compression.
Source: Kafka's page "Message Format", section "Record Batch"; bit 6 of the attributes is KIP-534.
"""

from __future__ import annotations

import struct

import msgspec

from kaas.errors import ErrorCode, KafkaError

Bytes = bytes | bytearray | memoryview

LAYOUT = struct.Struct(">qiibIhiqqqhii")
HEADER_SIZE = LAYOUT.size
PREFIX_SIZE = 12  # base offset and length: what stands before the bytes that the length counts
CHECKED_FROM = 21  # the checksum covers everything from the attributes on
MAGIC = 2

CODEC_MASK = 0x07
LOG_APPEND_TIME = 0x08
TRANSACTIONAL = 0x10
CONTROL = 0x20
DELETE_HORIZON = 0x40

NO_PRODUCER_ID = -1
NO_SEQUENCE = -1
NO_TIMESTAMP = -1
_ATTRIBUTES_AT, _ATTRIBUTES_END = 21, 23
_SEQUENCES = 2**31  # sequence numbers run from 0 to 2^31 - 1, then again from 0


class BatchHeader(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The header of one batch: a struct and not a dataclass, because one is made for each produced batch.

    Units: timestamps in milliseconds since 1970; `batch_length` in bytes, counted from the leader epoch on.
    """

    base_offset: int
    batch_length: int
    leader_epoch: int
    magic: int
    checksum: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size(self) -> int:
        """The whole batch in bytes."""
        return self.batch_length + PREFIX_SIZE

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record; NO_SEQUENCE without a producer that counts."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) % _SEQUENCES

    @property
    def codec(self) -> int:
        """The number of the compression (`codec.Codec`, or one that nobody knows)."""
        return self.attributes & CODEC_MASK

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL)

    @property
    def has_producer(self) -> bool:
        return self.producer_id != NO_PRODUCER_ID


def read_header(data: Bytes, position: int = 0) -> BatchHeader:
    """The header at a position of a buffer.

    Raises: KafkaError CORRUPT_MESSAGE when fewer than 61 bytes are left.
    """
    try:
        fields = LAYOUT.unpack_from(data, position)
    except struct.error as error:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, "the bytes end inside the header of a batch") from error
    base, length, epoch, magic, checksum, attributes, last, first, newest, pid, pepoch, sequence, count = fields
    return BatchHeader(
        base_offset=base,
        batch_length=length,
        leader_epoch=epoch,
        magic=magic,
        checksum=checksum,
        attributes=attributes,
        last_offset_delta=last,
        base_timestamp=first,
        max_timestamp=newest,
        producer_id=pid,
        producer_epoch=pepoch,
        base_sequence=sequence,
        record_count=count,
    )


def peek_attributes(data: Bytes) -> int:
    """The attributes of the batch that some bytes begin with; 0 when they are too few to be one."""
    return int.from_bytes(data[_ATTRIBUTES_AT:_ATTRIBUTES_END]) if len(data) >= HEADER_SIZE else 0


def write_header(header: BatchHeader) -> bytes:
    """The 61 bytes of a header."""
    return LAYOUT.pack(*(getattr(header, name) for name in header.__struct_fields__))


def next_sequence(sequence: int) -> int:
    """The sequence number after this one."""
    return (sequence + 1) % _SEQUENCES
