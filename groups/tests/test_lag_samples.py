"""groups.lag.samples."""

from __future__ import annotations

import zlib
from array import array

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groups.lag.samples import Sample, Step, packed, unpacked

OFFSETS = st.lists(st.integers(-1, 2**63 - 1), max_size=4)
VALUES = st.one_of(OFFSETS, st.dictionaries(st.text(max_size=4), OFFSETS, max_size=3))
SAMPLES = st.lists(st.builds(Sample, st.integers(0, 2**50), VALUES), max_size=5)


@given(SAMPLES)
def test_what_is_packed_comes_back(samples):
    assert unpacked(packed(samples)) == samples


@pytest.mark.parametrize("data", [b"", b"nonsense", zlib.compress(b"\xc1"), zlib.compress(msgspec.msgpack.encode({}))])
def test_what_is_no_chunk_is_refused(data):
    with pytest.raises((zlib.error, msgspec.DecodeError)):
        unpacked(data)


def test_sixty_samples_of_ten_partitions_are_small():
    samples = [Sample(at, {"orders": [10**9 + at * p for p in range(10)]}) for at in range(60)]
    assert len(packed(samples)) < 2_500


@given(st.integers(0, 2**45))
def test_a_moment_lies_in_its_chunk(at):
    step = Step(10_000, 3_600_000)
    begins_at = step.begins_at(at)
    assert begins_at <= at < begins_at + step.span_ms and begins_at % step.span_ms == 0
    assert step.kept_until(at) - step.kept_ms > at


def test_arrays_are_no_values():
    with pytest.raises(TypeError):
        packed([Sample(1, array("q", [1]))])
