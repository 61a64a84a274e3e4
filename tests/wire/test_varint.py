"""Variable-length numbers: bounded, and never read beyond the end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaas.wire.varint import read_uvarint, write_uvarint
from tests.support.laws import law

WIDEST = 2**32 - 1


@pytest.mark.parametrize(
    ("value", "data"),
    [(0, b"\0"), (1, b"\1"), (127, b"\x7f"), (128, b"\x80\1"), (300, b"\xac\2"), (WIDEST, b"\xff\xff\xff\xff\x0f")],
)
def test_numbers_are_seven_bits_a_byte_lowest_first(value, data):
    assert write_uvarint(value) == data
    assert read_uvarint(data, 0) == (value, len(data))


@given(st.integers(0, WIDEST), st.binary(max_size=3), st.binary(max_size=3))
@law
def test_a_number_comes_back_from_anywhere_in_the_bytes(value, before, behind):
    data = before + write_uvarint(value) + behind
    assert read_uvarint(data, len(before)) == (value, len(data) - len(behind))
    assert read_uvarint(memoryview(data), len(before))[0] == value


@given(st.integers(128, WIDEST), st.data())
@law
def test_a_number_that_is_cut_off_is_an_error(value, data):
    whole = write_uvarint(value)
    with pytest.raises(ValueError, match="cut off"):
        read_uvarint(whole[: data.draw(st.integers(0, len(whole) - 1))], 0)


@pytest.mark.parametrize("data", [b"\xff" * 5, b"\xff" * 1_000, b"\x80\x80\x80\x80\x10", b"\x80" * 5 + b"\1"])
def test_a_number_with_more_than_32_bits_is_an_error(data):
    with pytest.raises(ValueError, match="32 bits"):
        read_uvarint(data, 0)


@given(st.binary(max_size=12), st.integers(0, 14))
@law
def test_any_bytes_give_a_number_within_them_or_a_value_error(data, at):
    try:
        value, end = read_uvarint(data, at)
    except ValueError:
        return
    assert 0 <= value <= WIDEST and at < end <= len(data)
