import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaas.errors import ErrorCode, KafkaError
from kaas.wire.records.header import (
    CONTROL,
    HEADER_SIZE,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    TRANSACTIONAL,
    BatchHeader,
    next_sequence,
    peek_attributes,
    read_header,
    write_header,
)

int16 = st.integers(-(2**15), 2**15 - 1)
int32 = st.integers(-(2**31), 2**31 - 1)
int64 = st.integers(-(2**63), 2**63 - 1)
headers = st.builds(
    BatchHeader,
    base_offset=int64,
    batch_length=int32,
    leader_epoch=int32,
    magic=st.integers(-128, 127),
    checksum=st.integers(0, 2**32 - 1),
    attributes=int16,
    last_offset_delta=int32,
    base_timestamp=int64,
    max_timestamp=int64,
    producer_id=int64,
    producer_epoch=int16,
    base_sequence=int32,
    record_count=int32,
)


def header(**fields: int) -> BatchHeader:
    plain = dict.fromkeys(BatchHeader.__struct_fields__, 0)
    return BatchHeader(**{**plain, "producer_id": NO_PRODUCER_ID, "base_sequence": NO_SEQUENCE, **fields})


@given(headers, st.binary(max_size=9))
def test_a_header_is_read_as_it_was_written(one, before):
    assert read_header(before + write_header(one), len(before)) == one


def test_the_fields_lie_where_kafka_puts_them():
    data = struct.pack(">qiibIhiqqqhii", 7, 60, 3, 2, 99, 0x13, 4, 1000, 2000, 55, 6, 70, 5)
    assert len(data) == HEADER_SIZE == 61
    assert read_header(data) == header(
        base_offset=7,
        batch_length=60,
        leader_epoch=3,
        magic=2,
        checksum=99,
        attributes=0x13,
        last_offset_delta=4,
        base_timestamp=1000,
        max_timestamp=2000,
        producer_id=55,
        producer_epoch=6,
        base_sequence=70,
        record_count=5,
    )


@pytest.mark.parametrize("size", [0, 12, 60])
def test_bytes_that_end_inside_a_header_are_corrupt(size):
    with pytest.raises(KafkaError) as raised:
        read_header(bytes(size))
    assert raised.value.code == ErrorCode.CORRUPT_MESSAGE


def test_what_follows_from_the_fields():
    one = header(base_offset=10, last_offset_delta=4, batch_length=100, attributes=TRANSACTIONAL | 3, producer_id=0)
    assert (one.size, one.last_offset, one.next_offset, one.codec) == (112, 14, 15, 3)
    assert (one.is_transactional, one.is_control, one.has_producer) == (True, False, True)
    plain = header(attributes=CONTROL)
    assert (plain.is_transactional, plain.is_control, plain.has_producer) == (False, True, False)


@given(headers)
def test_the_attributes_can_be_told_without_the_rest(one):
    data = write_header(one)
    assert peek_attributes(data) == peek_attributes(memoryview(data)) == one.attributes % 2**16
    assert peek_attributes(data[:-1]) == 0


def test_sequences_go_on_at_zero_after_the_greatest():
    assert header(base_sequence=2**31 - 2, last_offset_delta=3).last_sequence == 1
    assert (next_sequence(2**31 - 1), next_sequence(4)) == (0, 5)


def test_a_producer_that_does_not_count_has_no_last_sequence():
    assert header(last_offset_delta=3).last_sequence == NO_SEQUENCE
