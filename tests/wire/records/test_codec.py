import gzip
import struct
import zlib

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaas.errors import ErrorCode, KafkaError
from kaas.wire.records.codec import Codec, compress, decompress

COMPRESSING = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]


def refused(codec: int, data: bytes, **more: int) -> None:
    with pytest.raises(KafkaError) as raised:
        decompress(codec, data, **more)
    assert raised.value.code == ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize("codec", Codec)
@given(data=st.binary(max_size=300).map(lambda one: one * 50))
def test_what_was_compressed_comes_back(codec, data):
    assert bytes(decompress(codec, compress(codec, data))) == data
    assert bytes(decompress(codec, memoryview(compress(codec, bytearray(data))))) == data


@pytest.mark.parametrize("codec", COMPRESSING)
def test_large_and_incompressible_bytes_come_back(codec):
    data = bytes(zlib.crc32(i.to_bytes(4)) & 0xFF for i in range(200_000)) + bytes(500_000)
    packed = compress(codec, data)
    assert len(packed) < len(data)
    assert bytes(decompress(codec, packed)) == data


@pytest.mark.parametrize("codec", COMPRESSING)
def test_no_more_comes_out_than_the_limit(codec):
    bomb = compress(codec, bytes(3_000_000))
    assert len(decompress(codec, bomb, limit_bytes=3_000_000)) == 3_000_000
    refused(codec, bomb, limit_bytes=2_999_999)


@pytest.mark.parametrize("codec", COMPRESSING)
@pytest.mark.parametrize("data", [b"\xff" * 40, b"garbage", b"\x82SNAPPY\0" + b"\0\0\0\1" * 2 + b"\x7f\xff\xff\xff"])
def test_what_is_not_compressed_so_is_corrupt(codec, data):
    refused(codec, data)


@pytest.mark.parametrize("codec", COMPRESSING)
def test_compressed_bytes_that_were_cut_are_corrupt(codec):
    refused(codec, compress(codec, b"some records of a batch" * 9)[:-2])


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_there_are_four_compressions(codec):
    refused(codec, b"data")


def test_a_snappy_block_that_claims_gigabytes_allocates_nothing():
    refused(Codec.SNAPPY, b"\xff\xff\xff\xff\x0f" + b"a" * 20)


def test_snappy_in_the_framing_of_java_clients_is_read():
    blocks = [bytes(cramjam.snappy.compress_raw(part)) for part in (b"one" * 100, b"two" * 100)]
    framed = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1) + b"".join(struct.pack(">i", len(b)) + b for b in blocks)
    assert bytes(decompress(Codec.SNAPPY, framed)) == b"one" * 100 + b"two" * 100
    refused(Codec.SNAPPY, framed, limit_bytes=599)
    for cut in (1, 3, len(blocks[1]) + 2):
        refused(Codec.SNAPPY, framed[:-cut])


def test_lz4_blocks_are_independent_because_java_clients_refuse_linked_ones():
    packed = compress(Codec.LZ4, b"a" * 200_000)
    assert packed[4] & 0x20
    assert bytes(cramjam.lz4.decompress(packed)) == b"a" * 200_000


def test_the_other_codecs_are_in_their_usual_formats():
    assert gzip.decompress(compress(Codec.GZIP, b"data")) == b"data"
    assert bytes(cramjam.zstd.decompress(compress(Codec.ZSTD, b"data"))) == b"data"
    assert bytes(cramjam.snappy.decompress_raw(compress(Codec.SNAPPY, b"data"))) == b"data"
