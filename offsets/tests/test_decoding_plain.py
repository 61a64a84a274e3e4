"""offsets.decoding.plain."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from offsets.decoding.plain import forced_text, is_json, plain


@pytest.mark.parametrize(
    ("data", "encoding", "text"),
    [
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
        (b"[" * 100_000, "text", "[" * 100_000),
    ],
)
def test_bytes_are_what_they_are(data, encoding, text):
    assert plain(data) == (encoding, text)


def test_text_can_be_forced():
    assert forced_text(b"a\xff\x00b") == ("text", "a\ufffd\x00b")


def test_a_bare_number_is_a_text_rather_than_json():
    assert not is_json("12") and is_json("{}")


@given(some.binary(max_size=60))
def test_no_byte_is_lost(data):
    encoding, text = plain(data)
    assert (bytes.fromhex(text) if encoding == "hex" else text.encode()) == data
