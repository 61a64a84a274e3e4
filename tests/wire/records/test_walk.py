import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaas.errors import ErrorCode, KafkaError
from kaas.wire.records.record import Record, build_batch
from kaas.wire.records.walk import batches, checksum_fits

ONE = build_batch([Record(offset=0, timestamp=1, value=b"a")])
TWO = build_batch([Record(offset=5, timestamp=2, value=b"b" * 100)], base_offset=5)
THREE = build_batch([Record(offset=9, timestamp=3, value=b"c" * 7)], base_offset=9)
DATA = ONE + TWO + THREE
STARTS = [0, len(ONE), len(ONE) + len(TWO)]


def test_each_batch_is_found_where_it_begins():
    assert [(position, header.base_offset) for position, header in batches(DATA)] == list(
        zip(STARTS, (0, 5, 9), strict=True)
    )
    assert [header.base_offset for _, header in batches(memoryview(DATA), STARTS[1])] == [5, 9]


@given(st.integers(0, len(DATA)))
def test_a_batch_that_was_cut_ends_the_walk(size):
    whole = [start for start, end in zip(STARTS, [*STARTS[1:], len(DATA)], strict=True) if end <= size]
    assert [position for position, _ in batches(DATA[:size])] == whole


@pytest.mark.parametrize("length", [-1, 0, 48, -(2**31)])
def test_a_length_that_no_batch_has_is_corrupt(length):
    with pytest.raises(KafkaError) as raised:
        list(batches(ONE + TWO[:8] + struct.pack(">i", length) + TWO[12:]))
    assert raised.value.code == ErrorCode.CORRUPT_MESSAGE


@given(st.integers(0, len(DATA) - 1), st.binary(min_size=1, max_size=80))
def test_a_walk_of_any_bytes_goes_on_or_ends(at, put_in):
    """L1: a malformed batch was met again and again."""
    positions = []
    try:
        for position, _ in batches(DATA[:at] + put_in + DATA[at + len(put_in) :]):
            positions.append(position)
    except KafkaError as problem:
        assert problem.code == ErrorCode.CORRUPT_MESSAGE
    assert positions == sorted(set(positions))


@pytest.mark.parametrize("magic", [0, 1, 3, 255])
def test_another_magic_is_corrupt(magic):
    with pytest.raises(KafkaError) as raised:
        list(batches(ONE[:16] + bytes([magic]) + ONE[17:]))
    assert raised.value.code == ErrorCode.CORRUPT_MESSAGE


@given(st.integers(21, len(ONE) - 1), st.integers(0, 7))
def test_a_bit_that_changed_does_not_fit_the_checksum(byte, bit):
    changed = bytearray(ONE)
    changed[byte] ^= 1 << bit
    ((_, header),) = batches(ONE)
    assert checksum_fits(ONE, 0, header)
    assert not checksum_fits(changed, 0, header)
