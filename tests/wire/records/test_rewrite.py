import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaas.errors import ErrorCode, KafkaError
from kaas.wire.records.codec import Codec
from kaas.wire.records.header import LOG_APPEND_TIME, read_header
from kaas.wire.records.record import Record, build_batch, decode_records
from kaas.wire.records.rewrite import placed, recompressed, stamped
from kaas.wire.records.walk import checksum_fits

RECORDS = [Record(offset=i, timestamp=10 + i, key=b"k", value=b"value" * 20) for i in range(3)]
DATA = build_batch(RECORDS)
HEADER = read_header(DATA)


@given(st.integers(0, 2**62), st.integers(0, 2**31 - 1), st.binary(max_size=5))
def test_a_place_changes_offset_and_epoch_and_keeps_the_checksum(base_offset, leader_epoch, rest):
    data = placed(DATA + rest, HEADER, base_offset, leader_epoch)
    header = read_header(data)
    assert (header.base_offset, header.leader_epoch, len(data)) == (base_offset, leader_epoch, len(DATA))
    assert data[16:] == DATA[16:]
    assert checksum_fits(data, 0, header)


def test_the_time_of_the_log_stands_for_every_record():
    data = stamped(DATA, HEADER, 777)
    header = read_header(data)
    assert checksum_fits(data, 0, header)
    assert [r.timestamp for r in decode_records(data, 0, header)] == [777, 777, 777]
    assert (header.max_timestamp, header.attributes) == (777, LOG_APPEND_TIME)


def test_a_topic_of_producers_times_takes_the_flag_away():
    data = stamped(stamped(DATA, HEADER, 777), read_header(stamped(DATA, HEADER, 777)), None)
    assert read_header(data).attributes == 0
    assert checksum_fits(data, 0, read_header(data))


@pytest.mark.parametrize("before", Codec)
@pytest.mark.parametrize("after", Codec)
def test_records_are_the_same_under_another_compression(before, after):
    packed = build_batch(RECORDS, codec=before)
    data = recompressed(packed, read_header(packed), after)
    header = read_header(data)
    assert (header.codec, header.size) == (after, len(data))
    assert checksum_fits(data, 0, header)
    assert decode_records(data, 0, header) == RECORDS


def test_a_payload_that_cannot_be_decompressed_is_corrupt():
    broken = DATA[:22] + bytes([Codec.ZSTD]) + DATA[23:]
    with pytest.raises(KafkaError) as raised:
        recompressed(broken, read_header(broken), Codec.GZIP)
    assert raised.value.code == ErrorCode.CORRUPT_MESSAGE
