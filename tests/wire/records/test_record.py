import struct

import pytest
from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from kaas.errors import ErrorCode, KafkaError
from kaas.wire.records.codec import Codec
from kaas.wire.records.header import CONTROL, DELETE_HORIZON, LOG_APPEND_TIME, NO_TIMESTAMP, read_header
from kaas.wire.records.record import Origin, Record, build_batch, decode_records, delete_horizon_ms, seal
from kaas.wire.records.walk import checksum_fits

maybe_bytes = st.none() | st.binary(max_size=40)
contents = st.tuples(
    st.integers(0, 2**41), maybe_bytes, maybe_bytes, st.lists(st.tuples(st.text(max_size=5), maybe_bytes), max_size=3)
)


def records_of(rows) -> list[Record]:
    return [
        Record(offset=i, timestamp=time, key=key, value=value, headers=tuple(headers))
        for i, (time, key, value, headers) in enumerate(rows)
    ]


def decoded(data: bytes) -> list[Record]:
    return decode_records(data, 0, read_header(data))


def corrupt(data: bytes) -> None:
    with pytest.raises(KafkaError) as raised:
        decoded(data)
    assert raised.value.code == ErrorCode.CORRUPT_MESSAGE


@given(st.lists(contents, min_size=1, max_size=8), st.sampled_from(Codec))
def test_records_come_back_as_they_were(rows, codec):
    records = records_of(rows)
    data = build_batch(records, codec=codec)
    header = read_header(data)
    assert decoded(data) == records
    assert header.size == len(data) and checksum_fits(data, 0, header)
    assert (header.record_count, header.last_offset_delta) == (len(records), len(records) - 1)
    assert header.max_timestamp == max(r.timestamp for r in records)


@given(st.lists(contents, min_size=1, max_size=5), st.sampled_from(Codec))
def test_another_implementation_reads_what_is_built_here(rows, codec):
    batch = DefaultRecordBatch(build_batch(records_of(rows), codec=codec))
    assert batch.validate_crc()
    seen = [(r.offset, r.timestamp, r.key, r.value, list(r.headers)) for r in batch]
    assert seen == [(i, *row) for i, row in enumerate(rows)]


@given(st.lists(contents, min_size=1, max_size=5), st.sampled_from(Codec))
def test_what_another_implementation_builds_is_read_here(rows, codec):
    builder = DefaultRecordBatchBuilder(2, codec, 0, -1, -1, -1, 1 << 20)
    for i, (time, key, value, headers) in enumerate(rows):
        builder.append(i, time, key, value, headers)
    data = bytes(builder.build())
    assert decoded(data) == records_of(rows)
    assert checksum_fits(data, 0, read_header(data))


def test_the_producer_stands_in_the_header():
    data = build_batch(
        records_of([(1, None, b"v", [])]), origin=Origin(producer_id=9, producer_epoch=2, base_sequence=7)
    )
    header = read_header(data)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (9, 2, 7)


def test_compaction_keeps_the_span_of_a_batch_and_the_times_of_its_records():
    record = Record(offset=12, timestamp=5000, key=b"k")
    data = build_batch(
        [record], base_offset=10, last_offset_delta=5, base_timestamp=9000, attributes=DELETE_HORIZON, leader_epoch=4
    )
    header = read_header(data)
    assert decoded(data) == [record]
    assert (header.base_offset, header.next_offset, header.max_timestamp, header.leader_epoch) == (10, 16, 5000, 4)
    assert delete_horizon_ms(header) == 9000
    assert delete_horizon_ms(read_header(build_batch([record]))) == NO_TIMESTAMP


def test_records_of_a_batch_stamped_by_the_log_have_its_time():
    data = build_batch(records_of([(1, None, b"a", []), (7, None, b"b", [])]), attributes=LOG_APPEND_TIME)
    assert [r.timestamp for r in decoded(data)] == [7, 7]


def test_header_keys_that_are_not_text_survive():
    record = Record(offset=0, timestamp=1, headers=((b"\xff\xfe".decode(errors="surrogateescape"), b"v"),))
    assert decoded(build_batch([record])) == [record]
    assert b"\xff\xfe" in build_batch([record])


def resealed(data: bytes, payload: bytes | None = None, **changes: int) -> bytes:
    """A batch with another payload, or other fields, and a checksum that fits."""
    layout = {"attributes": (21, ">h"), "record_count": (57, ">i")}
    out = bytearray(seal(read_header(data), data[61:] if payload is None else payload))
    struct.pack_into(">i", out, 8, len(out) - 12)
    for name, value in changes.items():
        struct.pack_into(layout[name][1], out, layout[name][0], value)
    struct.pack_into(">I", out, 17, crc32c(bytes(out[21:])))
    return bytes(out)


GOOD = build_batch(records_of([(1, b"k", b"v", [("h", b"w")]), (2, None, b"b", [])]))


@pytest.mark.parametrize(
    "data",
    [
        resealed(GOOD, record_count=3),
        resealed(GOOD, record_count=1),
        resealed(GOOD, record_count=2**31 - 1),
        resealed(GOOD, GOOD[61:-1]),
        resealed(GOOD, GOOD[61:] + b"\0"),
        resealed(GOOD, b"\xff" * 12),
        resealed(GOOD, attributes=Codec.GZIP),
        resealed(GOOD, attributes=7),
        resealed(GOOD, b"\x0e\0\0\0\x01\x01\xfe\xff\xff\xff\x0f", record_count=1),
        resealed(GOOD, b"\x12\0\0\0\x01\x01\x02\x01\x02x", record_count=1),
        resealed(GOOD, b"\x0e\0\0\0\x7e\x01\x00x", record_count=1),
    ],
    ids=[
        "more promised",
        "fewer promised",
        "two billion promised",
        "cut",
        "too long",
        "garbage",
        "not gzip",
        "no such codec",
        "two billion headers",
        "a header without a key",
        "a key beyond its end",
    ],
)
def test_records_that_do_not_fill_their_batch_are_corrupt(data):
    corrupt(data)


@given(st.binary(max_size=60))
def test_any_payload_is_read_or_corrupt(payload):
    data = resealed(GOOD, payload)
    try:
        assert len(decoded(data)) == 2
    except KafkaError as error:
        assert error.code == ErrorCode.CORRUPT_MESSAGE


def test_a_control_batch_is_only_a_flag_here():
    assert read_header(build_batch([Record(offset=0, timestamp=0)], attributes=CONTROL)).is_control
