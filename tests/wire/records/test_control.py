import struct

import pytest

from kaas.errors import ErrorCode, KafkaError
from kaas.wire.records.control import Marker, MarkerKind, build_marker, read_marker
from kaas.wire.records.header import CONTROL, TRANSACTIONAL, read_header
from kaas.wire.records.record import Record, build_batch, decode_records


def control(key: bytes | None, value: bytes | None) -> bytes:
    return build_batch([Record(offset=0, timestamp=1, key=key, value=value)], attributes=CONTROL)


def read(data: bytes) -> Marker | None:
    return read_marker(data, 0, read_header(data))


@pytest.mark.parametrize("kind", MarkerKind)
def test_a_marker_is_read_as_it_was_built(kind):
    marker = Marker(kind=kind, coordinator_epoch=3)
    data = build_marker(marker, producer_id=9, producer_epoch=2, timestamp_ms=55)
    header = read_header(data)
    assert read(data) == marker
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (9, 2, -1)
    assert (header.attributes, header.record_count, header.max_timestamp) == (CONTROL | TRANSACTIONAL, 1, 55)


@pytest.mark.parametrize(("kind", "key"), [(MarkerKind.COMMIT, b"\0\0\0\1"), (MarkerKind.ABORT, b"\0\0\0\0")])
def test_a_marker_has_the_bytes_that_clients_expect(kind, key):
    marker = Marker(kind=kind, coordinator_epoch=7)
    data = build_marker(marker, producer_id=1, producer_epoch=0, timestamp_ms=0)
    (record,) = decode_records(data, 0, read_header(data))
    assert (record.key, record.value) == (key, struct.pack(">hi", 0, 7))


def test_a_control_record_of_another_kind_ends_no_transaction():
    assert read(control(struct.pack(">hh", 0, 2), b"")) is None


@pytest.mark.parametrize(("key", "value"), [(None, None), (b"\0", b""), (b"\0\0\0\1", b"\0"), (b"\0\0\0\1", None)])
def test_a_control_record_that_cannot_be_read_is_corrupt(key, value):
    with pytest.raises(KafkaError) as raised:
        read(control(key, value))
    assert raised.value.code == ErrorCode.CORRUPT_MESSAGE
