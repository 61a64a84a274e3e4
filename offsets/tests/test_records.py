"""offsets.records."""

from __future__ import annotations

import pytest

from groups.gateway import Record
from offsets.records import SHOWN_BYTES, record_row, shown


@pytest.mark.parametrize(
    ("data", "encoding", "text"),
    [
        (None, None, None),
        (b"", "text", ""),
        (b"plain", "text", "plain"),
        ("é 😀".encode(), "text", "é 😀"),
        (b"line\nline\ttab\r", "text", "line\nline\ttab\r"),
        (b'{"n": 12345678901234567890}', "json", '{"n": 12345678901234567890}'),
        (b" [1]", "json", " [1]"),
        (b'{"n": ', "text", '{"n": '),
        (b"12", "text", "12"),
        (b"\x00\x01", "hex", "0001"),
        (b"\xff\xfe", "hex", "fffe"),
        (b"<script>alert(1)</script>", "text", "<script>alert(1)</script>"),
        (b"[" * 100_000, "text", "[" * SHOWN_BYTES),
    ],
)
def test_bytes_are_shown_as_what_they_are(data, encoding, text):
    row = shown(data)
    assert (row["encoding"], row["data"]) == (encoding, text)
    assert row["size"] == len(data or b"") and row["cut"] == (row["size"] > SHOWN_BYTES)


def test_long_bytes_are_cut_and_say_so():
    row = shown(b"\xff" * (SHOWN_BYTES + 1))
    assert row["cut"] and len(row["data"]) == 2 * SHOWN_BYTES


def test_a_record_has_its_place_and_side():
    record = Record(offset=2**60, timestamp=1_000, key=b"k", value=None, headers=(("h", b"1"), ("h", None)))
    row = record_row("orders", 3, record, "after")
    assert (row["topic"], row["partition"], row["offset_str"], row["side"]) == ("orders", 3, str(2**60), "after")
    assert row["timestamp"] == "1970-01-01T00:00:01.000+00:00" and row["value"]["encoding"] is None
    assert [(header["key"], header["value"]["data"]) for header in row["headers"]] == [("h", "1"), ("h", None)]
    assert (
        record_row("o", 0, Record(offset=1, timestamp=None, key=None, value=None, headers=()), "before")["timestamp"]
        is None
    )
