"""A stream into frames, however it is cut; and what ends a connection."""

from __future__ import annotations

import itertools
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaas.wire.frames import BadFrame, FrameSplitter
from tests.support.laws import law

MOST = 1_000


def framed(*payloads: bytes) -> bytes:
    return b"".join(struct.pack(">i", len(payload)) + payload for payload in payloads)


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    edges = [0, *sorted(cuts), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(edges)]


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=6), st.data())
@law
def test_frames_come_out_as_they_went_in_wherever_the_stream_is_cut(payloads, data):
    stream = framed(*payloads)
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=12))
    splitter = FrameSplitter(MOST)
    assert [frame for piece in pieces(stream, cuts) for frame in splitter.feed(piece)] == payloads


def test_a_frame_that_comes_byte_by_byte_is_given_when_it_is_whole():
    splitter = FrameSplitter(MOST)
    stream = framed(b"hello")
    assert [splitter.feed(stream[n : n + 1]) for n in range(len(stream))] == [[]] * 8 + [[b"hello"]]


@pytest.mark.parametrize("size", [-(2**31), -1, 0, MOST + 1, 2**31 - 1])
def test_a_length_that_nobody_may_send_ends_the_connection_before_anything_is_kept_for_it(size):
    splitter = FrameSplitter(MOST)
    with pytest.raises(BadFrame, match=r"socket\.request\.max\.bytes"):
        splitter.feed(struct.pack(">i", size) + b"whatever")


@given(st.lists(st.binary(min_size=1, max_size=20), max_size=3), st.integers(MOST + 1, 2**31 - 1), st.data())
@law
def test_a_bad_length_is_found_wherever_the_stream_is_cut(payloads, size, data):
    stream = framed(*payloads) + struct.pack(">i", size)
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=6))
    splitter, found = FrameSplitter(MOST), []
    with pytest.raises(BadFrame):
        for piece in pieces(stream, cuts):
            found += splitter.feed(piece)
    assert found == payloads[: len(found)]


def test_the_largest_frame_is_taken():
    assert FrameSplitter(MOST).feed(framed(b"x" * MOST)) == [b"x" * MOST]


def test_nothing_is_kept_of_frames_that_were_given():
    splitter = FrameSplitter(MOST)
    splitter.feed(framed(b"one", b"two") + b"\0\0")
    assert bytes(splitter.rest) == b"\0\0"
    splitter.feed(b"\0\1x")
    assert not splitter.rest
