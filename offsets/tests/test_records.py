"""offsets.records."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from groups.gateway import Record
from offsets.decoding.values import Values
from offsets.records import Window, holds, nearest, record_row, window_of


def record(offset: int = 0, key=None, value=None, headers=(), timestamp=None) -> Record:
    return Record(offset=offset, timestamp=timestamp, key=key, value=value, headers=headers)


def test_a_record_has_its_place_and_side():
    one = record(2**60, b"k", None, (("h", b"1"), ("h", None)), 1_000)
    row = record_row("orders", 3, one, "after", Values())
    assert (row["topic"], row["partition"], row["offset_str"], row["side"]) == ("orders", 3, str(2**60), "after")
    assert row["timestamp"] == "1970-01-01T00:00:01.000+00:00" and row["value"]["encoding"] is None
    assert [(header["key"], header["value"]["data"]) for header in row["headers"]] == [("h", "1"), ("h", None)]
    assert record_row("o", 0, record(), "before", Values())["timestamp"] is None


@pytest.mark.parametrize(
    ("log", "centre", "window"),
    [
        ((0, 100), 50, (45, 50, 55)),
        ((0, 100), 2, (0, 2, 7)),
        ((0, 100), 99, (94, 99, 100)),
        ((10, 20), 0, (10, 10, 15)),
        ((10, 20), 99, (15, 20, 20)),
        ((7, 7), 7, (7, 7, 7)),
    ],
)
def test_a_window_stays_inside_the_log(log, centre, window):
    found = window_of(log_start=log[0], log_end=log[1], centre=centre, around=5)
    assert found == Window(first=window[0], centre=window[1], end=window[2])


@given(some.sets(some.integers(0, 60)), some.integers(0, 60), some.integers(1, 9))
def test_the_nearest_are_in_order_and_bounded_on_each_side(offsets, centre, around):
    found = [one.offset for one in nearest([record(offset) for offset in sorted(offsets)], centre, around)]
    assert found == sorted(found)
    assert [n for n in found if n < centre] == sorted(n for n in offsets if n < centre)[-around:]
    assert [n for n in found if n >= centre] == sorted(n for n in offsets if n >= centre)[:around]


@pytest.mark.parametrize("text", ["ID-7", "ß", "trace", "c0ffee"])
def test_a_search_finds_what_is_shown(text):
    one = record(0, b"id-7", "groß".encode(), (("Trace", b"\xc0\xff\xee"),))
    assert holds(one, text, Values())


def test_a_search_finds_nothing_else():
    assert not holds(record(0, b"k", None, (("h", None),)), "x", Values())
