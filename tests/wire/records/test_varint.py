import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaas.errors import ErrorCode, KafkaError
from kaas.wire.records.varint import read_varint, write_varint


def written(value: int) -> bytes:
    out = bytearray()
    write_varint(out, value)
    return bytes(out)


@given(st.integers(-(2**63), 2**63 - 1), st.binary(max_size=5))
def test_a_number_is_read_as_it_was_written(value, before):
    data = before + written(value)
    assert read_varint(data + b"\xff", len(before)) == (value, len(data))


@pytest.mark.parametrize(
    ("value", "data"),
    [(0, b"\0"), (-1, b"\1"), (1, b"\2"), (63, b"\x7e"), (-64, b"\x7f"), (64, b"\x80\1"), (300, b"\xd8\4")],
)
def test_numbers_have_the_bytes_that_kafka_gives_them(value, data):
    assert written(value) == data


@pytest.mark.parametrize("data", [b"", b"\x80", b"\xff" * 9, b"\xff" * 11, b"\xff" * 1000])
def test_a_number_without_an_end_is_corrupt(data):
    with pytest.raises(KafkaError) as raised:
        read_varint(data, 0)
    assert raised.value.code == ErrorCode.CORRUPT_MESSAGE
