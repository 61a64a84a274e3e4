"""Durable facts on the wire of the journal: they come back as they were, and older ones load."""

from __future__ import annotations

import contextlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaas.coordinator import records
from kaas.coordinator.offset_entry import OffsetEntry
from kaas.coordinator.records import (
    OFFSET_RECORDS,
    GenerationReserved,
    GroupDeleted,
    GroupEmpty,
    GroupStable,
    MemberReplaced,
    OffsetsCommitted,
    OffsetsDeleted,
    OffsetsStaged,
    StagedEnded,
    StoredMember,
)
from tests.support.consumer_records import changes
from tests.support.laws import law

texts = st.text(max_size=20)
numbers = st.integers(-(2**63), 2**63 - 1)
small = st.integers(0, 2**31 - 1)
entries = st.builds(
    OffsetEntry,
    numbers,
    st.integers(-1, 2**31 - 1),
    texts,
    numbers,
    st.none() | numbers,
    st.none() | st.binary(min_size=16, max_size=16),
)
protocol_rows = st.lists(st.tuples(texts, st.binary(max_size=30)), max_size=3).map(tuple)
members = st.builds(
    StoredMember, texts, st.none() | texts, texts, texts, small, small, protocol_rows, st.binary(max_size=30), numbers
)
any_record = st.one_of(
    st.builds(OffsetsCommitted, st.lists(st.tuples(texts, small, entries), max_size=4)),
    st.builds(OffsetsDeleted, st.lists(st.tuples(texts, small), max_size=4), texts),
    st.builds(GenerationReserved, small),
    st.builds(GroupStable, small, texts, texts, texts, st.lists(members, max_size=3), numbers, st.booleans()),
    st.builds(GroupEmpty, small, texts, numbers),
    st.builds(MemberReplaced, texts, members),
    st.builds(GroupDeleted, numbers, texts),
    changes,
)


@given(any_record)
@law
def test_a_record_comes_back_as_it_was(record):
    assert records.decode(records.encode(record)) == record


@given(st.binary(max_size=60))
@law
def test_bytes_that_are_no_record_are_a_value_error_and_nothing_else(data):
    with contextlib.suppress(ValueError):
        records.decode(data)


@given(any_record, st.data())
@law
def test_a_record_that_is_cut_short_is_never_another_one(record, data):
    whole = records.encode(record)
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(ValueError, match=r".*"):
        records.decode(whole[:cut])


def test_an_offset_of_an_older_journal_has_no_expiry_and_no_topic_id():
    """No expiry must never be read as a time.

    https://issues.apache.org/jira/browse/KAFKA-7403
    https://issues.apache.org/jira/browse/KAFKA-8069
    """
    older = msgspec.msgpack.encode(["commit", [["t", 0, [5, -1, "note", 99]]]])
    assert records.decode(older) == OffsetsCommitted([("t", 0, OffsetEntry(5, -1, "note", 99, None, None))])


def test_a_stable_group_of_an_older_journal_is_shared_out():
    older = msgspec.msgpack.encode(["stable", 3, "consumer", "range", "a", [], 99])
    assert records.decode(older) == GroupStable(3, "consumer", "range", "a", [], 99, is_shared_out=True)


def test_a_field_that_a_later_version_added_is_left_out():
    later = msgspec.msgpack.encode(["generation", 7, "something new"])
    assert records.decode(later) == GenerationReserved(7)


def test_the_records_of_the_offsets_file_are_those_about_offsets():
    assert set(OFFSET_RECORDS) == {OffsetsCommitted, OffsetsDeleted, OffsetsStaged, StagedEnded}
