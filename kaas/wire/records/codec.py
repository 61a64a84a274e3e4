"""The four compressions of a batch's payload.

Job: compress and decompress bytes in the framings that Kafka's clients use.
Rules:
- Decompressed bytes have a limit, and memory grows with what really comes out, never with what the input claims.
- snappy is written raw and read raw or in the framing of Java clients (blocks behind a magic). lz4 is the frame
  format, with independent blocks, because Java clients refuse linked ones.
Must not know: batches, records.
Source: Kafka's page "Message Format"; the snappy framing is that of xerial's snappy-java.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from enum import IntEnum

import cramjam

from kaas.errors import ErrorCode, KafkaError
from kaas.wire.records.header import Bytes

DECOMPRESSED_LIMIT_BYTES = 128 * 1024 * 1024

_FIRST_BUFFER_BYTES = 64 * 1024
_BUFFER_GROWTH = 8
_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER_SIZE = 16  # the magic, then two version numbers
_SNAPPY_GREATEST_RATIO = 32  # a copy of at most 64 bytes takes at least 2
_BLOCK_SIZE = struct.Struct(">i")
_LZ4_BLOCK_BYTES = 64 * 1024
# Magic; version 1 with independent blocks; blocks of at most 64 KiB; the checksum of these two bytes.
_LZ4_FRAME_HEADER = b"\x04\x22\x4d\x18\x60\x40\x82"
_LZ4_FRAME_END = b"\0\0\0\0"
_LZ4_STORED = 0x80000000  # this bit of a block's size says that the block is not compressed


class Codec(IntEnum):
    """The compressions, by their number in a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


def compress(codec: Codec, data: Bytes) -> bytes:
    """The bytes under a compression."""
    return _COMPRESS[codec](data)


def decompress(codec: int, data: Bytes, limit_bytes: int = DECOMPRESSED_LIMIT_BYTES) -> Bytes:
    """The bytes that were compressed; without compression the very same buffer.

    Raises: KafkaError CORRUPT_MESSAGE for bytes that are not of this compression, for an unknown compression, and
    when more than `limit_bytes` come out.
    """
    if codec == Codec.NONE:
        return data
    decompressor = _DECOMPRESS.get(codec)
    if decompressor is None:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"there is no compression {codec}")
    try:
        return decompressor(data, limit_bytes)
    except cramjam.DecompressionError as error:
        reason = f"the payload is not valid {Codec(codec).name.lower()}, or larger than {limit_bytes} bytes"
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, reason) from error


def _grown(decompress_into: Callable[[Bytes, bytearray], int], data: Bytes, limit_bytes: int) -> memoryview:
    """Decompresses into a buffer that grows until all fits, or the limit is reached.

    A decoder does not tell "no room" from "not valid" in a way to rely on, so bytes that are not valid are tried a
    few times.
    """
    room = min(limit_bytes, max(_FIRST_BUFFER_BYTES, _BUFFER_GROWTH * len(data)))
    while True:
        out = bytearray(room)
        try:
            return memoryview(out)[: decompress_into(data, out)]
        except cramjam.DecompressionError:
            if room >= limit_bytes:
                raise
        room = min(limit_bytes, room * _BUFFER_GROWTH)


def _decompress_gzip(data: Bytes, limit_bytes: int) -> Bytes:
    return _grown(cramjam.gzip.decompress_into, data, limit_bytes)


def _decompress_lz4(data: Bytes, limit_bytes: int) -> Bytes:
    return _grown(cramjam.lz4.decompress_into, data, limit_bytes)


def _decompress_zstd(data: Bytes, limit_bytes: int) -> Bytes:
    return _grown(cramjam.zstd.decompress_into, data, limit_bytes)


def _decompress_snappy(data: Bytes, limit_bytes: int) -> Bytes:
    if bytes(data[: len(_XERIAL_MAGIC)]) != _XERIAL_MAGIC:
        return _decompress_snappy_block(data, limit_bytes)
    out, position = bytearray(), _XERIAL_HEADER_SIZE
    while position < len(data):
        start = position + _BLOCK_SIZE.size
        size = _BLOCK_SIZE.unpack_from(data, position)[0] if start <= len(data) else -1
        if not 0 <= size <= len(data) - start:
            raise cramjam.DecompressionError("a snappy block reaches beyond its buffer")
        out += _decompress_snappy_block(data[start : start + size], limit_bytes - len(out))
        position = start + size
    return out


def _decompress_snappy_block(data: Bytes, limit_bytes: int) -> bytearray:
    size = cramjam.snappy.decompress_raw_len(data)
    if size > min(limit_bytes, _SNAPPY_GREATEST_RATIO * len(data)):
        raise cramjam.DecompressionError("a snappy block claims more bytes than it can hold, or than the limit")
    out = bytearray(size)
    del out[cramjam.snappy.decompress_raw_into(data, out) :]
    return out


def _compress_lz4(data: Bytes) -> bytes:
    parts: list[Bytes] = [_LZ4_FRAME_HEADER]
    for position in range(0, len(data), _LZ4_BLOCK_BYTES):
        plain = data[position : position + _LZ4_BLOCK_BYTES]
        block = bytes(cramjam.lz4.compress_block(plain, store_size=False))
        if len(block) < len(plain):
            parts += [struct.pack("<I", len(block)), block]
        else:
            parts += [struct.pack("<I", len(plain) | _LZ4_STORED), plain]
    return b"".join([*parts, _LZ4_FRAME_END])


_COMPRESS: dict[Codec, Callable[[Bytes], bytes]] = {
    Codec.NONE: bytes,
    Codec.GZIP: lambda data: bytes(cramjam.gzip.compress(data)),
    Codec.SNAPPY: lambda data: bytes(cramjam.snappy.compress_raw(data)),
    Codec.LZ4: _compress_lz4,
    Codec.ZSTD: lambda data: bytes(cramjam.zstd.compress(data, level=3)),
}
_DECOMPRESS: dict[int, Callable[[Bytes, int], Bytes]] = {
    Codec.GZIP: _decompress_gzip,
    Codec.SNAPPY: _decompress_snappy,
    Codec.LZ4: _decompress_lz4,
    Codec.ZSTD: _decompress_zstd,
}
