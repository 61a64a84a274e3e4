"""offsets.decoding.framing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from offsets.decoding.framing import Frame, Undecodable, frame_of, message_path


def zigzag(value: int) -> bytes:
    """A varint as serializers write it."""
    value, out = (value << 1) ^ (value >> 31), b""
    while value >= 0x80:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def test_it_works():
    assert frame_of(b"\0\0\0\1\2abc") == Frame(schema_id=258, body=b"abc")
    assert message_path(zigzag(2) + zigzag(1) + zigzag(0) + b"abc") == ([1, 0], b"abc")


@pytest.mark.parametrize("data", [b"", b"\0\0\0\0", b"\1\0\0\0\1", b"plain text"])
def test_what_has_no_frame_has_none(data):
    assert frame_of(data) is None


def test_a_lone_zero_is_the_first_type():
    assert message_path(b"\0abc") == ([0], b"abc")


@pytest.mark.parametrize("body", [b"", zigzag(-1), zigzag(101), zigzag(2) + zigzag(0), b"\xff" * 9])
def test_a_path_that_is_none_is_refused(body):
    with pytest.raises(Undecodable):
        message_path(body)


@given(some.lists(some.integers(0, 10_000), min_size=1, max_size=20), some.binary(max_size=20))
def test_a_path_reads_back(path, rest):
    body = zigzag(len(path)) + b"".join(map(zigzag, path)) + rest
    assert message_path(body) == (path, rest)


@given(some.binary(max_size=40))
def test_no_bytes_do_any_harm(body):
    try:
        path, rest = message_path(body)
    except Undecodable:
        return
    assert path and body.endswith(rest)
