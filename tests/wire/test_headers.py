"""The head of a request and of an answer."""

from __future__ import annotations

import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaas.wire.headers import BadHeader, answer_frame, read_head, skip_tags
from kaas.wire.varint import write_uvarint
from tests.support.laws import law


def head(key: int, version: int, correlation_id: int, client_id: str | None) -> bytes:
    name = None if client_id is None else client_id.encode()
    size = -1 if name is None else len(name)
    return struct.pack(">hhih", key, version, correlation_id, size) + (name or b"")


def tags(*fields: tuple[int, bytes]) -> bytes:
    rows = [write_uvarint(tag) + write_uvarint(len(value)) + value for tag, value in fields]
    return write_uvarint(len(rows)) + b"".join(rows)


small = st.integers(-(2**15), 2**15 - 1)


@given(small, small, st.integers(-(2**31), 2**31 - 1), st.none() | st.text(max_size=20), st.binary(max_size=5))
@law
def test_a_head_comes_back_with_the_place_where_it_ends(key, version, correlation_id, client_id, behind):
    data = head(key, version, correlation_id, client_id)
    assert read_head(data + behind) == (key, version, correlation_id, client_id, len(data))


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\0\1\0\2\0\0\0\1",
        struct.pack(">hhih", 3, 0, 1, -2),
        struct.pack(">hhih", 3, 0, 1, 5) + b"abc",
        struct.pack(">hhih", 3, 0, 1, 2) + b"\xff\xfe",
    ],
    ids=["nothing", "no client id", "a negative length", "a client id that is cut off", "no UTF-8"],
)
def test_what_is_no_head_is_told_so(payload):
    with pytest.raises(BadHeader):
        read_head(payload)


@given(st.lists(st.tuples(st.integers(0, 2**31), st.binary(max_size=10)), max_size=4), st.binary(max_size=5))
@law
def test_tags_of_any_kind_are_skipped(fields, behind):
    section = tags(*fields)
    assert skip_tags(b"xx" + section + behind, 2) == 2 + len(section)


@pytest.mark.parametrize("section", [b"", b"\1", b"\1\0", b"\1\0\5abc", b"\xff\xff\xff\xff\x0f", b"\xff" * 6])
def test_tags_that_are_cut_off_or_claim_too_much_are_told_so(section):
    with pytest.raises(BadHeader):
        skip_tags(section, 0)


@given(st.binary(max_size=40), st.integers(0, 45))
@law
def test_garbage_is_a_bad_header_or_a_place_within_it(data, at):
    with contextlib.suppress(BadHeader):
        assert at < skip_tags(data, at) <= len(data)
    with contextlib.suppress(BadHeader):
        assert read_head(data)[4] <= len(data)


def test_an_answer_has_its_length_its_correlation_id_and_tags_where_they_belong():
    assert answer_frame(7, False, b"body") == struct.pack(">ii", 8, 7) + b"body"
    assert answer_frame(7, True, b"body") == struct.pack(">iib", 9, 7, 0) + b"body"
