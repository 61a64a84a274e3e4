"""The batches of a buffer, one after another, without copying them.

Job: find where each batch begins and ends, and check its bytes against its checksum.
Rules: a batch that the buffer holds only in part ends the walk, because a reader may be handed bytes that were cut
at any place; a header that cannot be one raises.
Must not know: what the records are, who reads.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from crc32c import crc32c

from kaas.errors import ErrorCode, KafkaError
from kaas.wire.records.header import (
    CHECKED_FROM,
    HEADER_SIZE,
    MAGIC,
    PREFIX_SIZE,
    BatchHeader,
    Bytes,
    read_header,
)

_SIZE = struct.Struct(">i")
_SMALLEST_LENGTH = HEADER_SIZE - PREFIX_SIZE


def batches(data: Bytes, position: int = 0) -> Iterator[tuple[int, BatchHeader]]:
    """The position and the header of each whole batch from a position on.

    Raises: KafkaError CORRUPT_MESSAGE for a length or a magic that no batch of magic 2 has. The checksum is not
    looked at.
    """
    end = len(data)
    while position + HEADER_SIZE <= end:
        (length,) = _SIZE.unpack_from(data, position + 8)
        if length < _SMALLEST_LENGTH:
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"a batch claims {length} bytes, which is less than a header")
        following = position + PREFIX_SIZE + length
        if following > end:
            return
        header = read_header(data, position)
        if header.magic != MAGIC:
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"a batch has magic {header.magic}, not {MAGIC}")
        yield position, header
        position = following


def checksum_fits(data: Bytes, position: int, header: BatchHeader) -> bool:
    """Whether the bytes of the batch at a position are the ones that its checksum was made of."""
    checked = memoryview(data)[position + CHECKED_FROM : position + header.size]
    return bool(crc32c(checked) == header.checksum)
