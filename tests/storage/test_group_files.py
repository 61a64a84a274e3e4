"""The two files of a group: state to JSON and back, older forms, and what is no checkpoint at all."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaas.coordinator.offset_entry import OffsetEntry, StagedOffset
from kaas.coordinator.records import GroupEmpty, GroupStable, OffsetsCommitted, OffsetsStaged, StoredMember
from kaas.storage.group_files import (
    Head,
    Unreadable,
    group_bytes,
    group_of,
    head_of,
    membership_of,
    offsets_bytes,
    offsets_of,
    split_key,
    tombstone_bytes,
)
from tests.support.laws import law

PATH = Path("orders.json")
WRITTEN_AT = 1_700_000_000_000

texts = st.text(max_size=12)
times = st.integers(0, 2**53)
small = st.integers(0, 2**31 - 1)
entries = st.builds(
    OffsetEntry,
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-1, 2**31 - 1),
    texts,
    times,
    st.none() | times,
    st.none() | st.binary(min_size=16, max_size=16),
)
offset_tables = st.dictionaries(texts, st.dictionaries(small, entries, min_size=1, max_size=3), max_size=3)
members = st.builds(
    StoredMember,
    texts,
    st.none() | texts,
    texts,
    texts,
    small,
    small,
    st.lists(st.tuples(texts, st.binary(max_size=12)), max_size=2).map(tuple),
    st.binary(max_size=12),
    times,
)
memberships = st.one_of(
    st.none(),
    st.builds(
        GroupStable, st.integers(1, 99), texts, texts, texts, st.lists(members, max_size=3), times, st.booleans()
    ),
    st.builds(GroupEmpty, st.integers(1, 99), texts, times),
    st.builds(GroupEmpty, st.just(0), st.just(""), st.integers(1, 2**53)),  # it was a consumer group
)


@given(texts, small, small, offset_tables)
@law
def test_offsets_come_back_as_they_were(group_id, epoch, version, offsets):
    data = offsets_bytes(group_id, epoch, version, offsets, {})
    stored = offsets_of(data, PATH, WRITTEN_AT)
    assert (stored.group_id, stored.head.order, stored.staged) == (group_id, (epoch, version), [])
    found: dict = {}
    for topic, partition, entry in stored.entries:
        found.setdefault(topic, {})[partition] = entry
    assert found == offsets


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), entries, small, st.booleans()), max_size=6))
@law
def test_what_is_staged_comes_back_in_its_order(rows):
    table: dict = {}
    for number, (producer_id, partition, entry, epoch, overtaken) in enumerate(rows, 1):
        entry = msgspec.structs.replace(entry, expires_at=None)  # a transaction cannot ask for a retention
        table.setdefault(producer_id, {})["a/b", partition] = StagedOffset(entry, epoch, number, overtaken)
    stored = offsets_of(offsets_bytes("g", 1, 1, {}, table), PATH, WRITTEN_AT)
    expected = sorted(
        (one.number, producer_id, key) for producer_id, some in table.items() for key, one in some.items()
    )
    assert [(producer_id, key) for producer_id, key, _ in stored.staged] == [row[1:] for row in expected]
    for producer_id, key, one in stored.staged:
        assert msgspec.structs.replace(table[producer_id][key], number=one.number) == one


def test_records_of_what_is_staged_say_what_was_overtaken_and_what_was_not():
    early, late = OffsetEntry(1, -1, "", 5), OffsetEntry(3, -1, "", 5)
    staged = {7: {("t", 0): StagedOffset(early, 0, 1, True)}, 8: {("t", 0): StagedOffset(late, 2, 2)}}
    committed = OffsetEntry(2, -1, "", 5)
    records = offsets_of(offsets_bytes("g", 1, 1, {"t": {0: committed}}, staged), PATH, WRITTEN_AT).records()
    assert records == [
        OffsetsStaged(7, 0, [("t", 0, early)]),
        OffsetsCommitted([("t", 0, committed)]),
        OffsetsStaged(8, 2, [("t", 0, late)]),
    ]


@given(texts, small, small, memberships, small)
@law
def test_membership_comes_back_as_it_was(group_id, epoch, version, stored, reserved):
    file = group_of(group_bytes(group_id, epoch, version, stored, reserved), PATH)
    assert (file.group_id, file.coordinator_epoch, file.version) == (group_id, epoch, version)
    assert file.reserved_generation == reserved and file.deleted_at is None
    assert membership_of(file) == stored


def test_a_group_file_from_before_there_were_two_types_loads():
    stored = GroupStable(3, "consumer", "range", "a", [], WRITTEN_AT)
    today = msgspec.json.decode(group_bytes("g", 1, 7, stored, 3))
    assert today.pop("is_shared_out") and "type" not in today
    assert membership_of(group_of(msgspec.json.encode(today), PATH)) == stored


def test_a_tombstone_says_when_and_why():
    file = group_of(tombstone_bytes("g", 3, 7, WRITTEN_AT, "expired"), PATH)
    assert (file.state, file.deleted_at, file.deleted_why) == ("Dead", WRITTEN_AT, "expired")
    assert membership_of(file) is None


def test_a_person_can_read_the_offsets_file():
    """Stored groups in a layout of nobody else's, and that is written nowhere, could not be read by tools.

    https://github.com/twmb/franz-go/issues/799
    """
    data = offsets_bytes("orders", 2, 9, {"a/b": {0: OffsetEntry(5, 3, "note", WRITTEN_AT, 7, bytes(16))}}, {})
    assert msgspec.json.decode(data) == {
        "coordinator_epoch": 2,
        "version": 9,
        "group_id": "orders",
        "offsets": {"a/b/0": 5},
        "metadata": {"a/b/0": "note"},
        "leader_epochs": {"a/b/0": 3},
        "commit_times": {"a/b/0": WRITTEN_AT},
        "expire_times": {"a/b/0": 7},
        "topic_ids": {"a/b/0": "00" * 16},
    }
    assert data.count(b"\n") > 10


def test_the_older_form_loads_and_its_commits_are_as_old_as_the_file():
    """Read as 1970 they would all have outlived their retention at the first check."""
    older = b'{"offsets": {"t/0": 5, "a/b/1": 6}, "metadata": {"t/0": "note"}}'
    assert offsets_of(older, Path("my%20group.json"), WRITTEN_AT) == (
        "my group",
        Head(0, 0),
        [
            ("t", 0, OffsetEntry(5, -1, "note", WRITTEN_AT)),
            ("a/b", 1, OffsetEntry(6, -1, "", WRITTEN_AT)),
        ],
        [],
    )
    assert offsets_of(b'{"offsets": {}}', Path("%.json"), WRITTEN_AT)[0] == ""


def test_a_field_that_a_later_version_added_is_left_out():
    assert offsets_of(b'{"offsets": {}, "group_id": "g", "new": [1]}', PATH, 0) == ("g", Head(0, 0), [], [])


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"{}",
        b'{"offsets": {"t/0": "five"}}',
        b'{"offsets": {"t": 5}}',
        b'{"offsets": {"t/-1": 5}}',
        b'{"offsets": {"t/x": 5}}',
        b'{"offsets": {"t/0": 5.5}}',
        b'{"offsets": {"t/0": 5}, "topic_ids": {"t/0": "xyz"}}',
        b'{"offsets": {"t/0": 5}, "version": "new"}',
        b'{"offsets": {}, "staged": [{"producer_id": 1}]}',
        b'{"offsets": {}, "staged": [{"producer_id": 1, "producer_epoch": 0, "partition": "t", "offset": 1, '
        b'"commit_time": 1}]}',
        b'\xff{"offsets": {}}',
    ],
)
def test_what_cannot_be_understood_is_never_no_offsets(data):
    """K8."""
    with pytest.raises(Unreadable):
        offsets_of(data, PATH, WRITTEN_AT)
    with pytest.raises(Unreadable):
        group_of(data, PATH)


@given(st.binary(max_size=80))
@law
def test_garbage_is_unreadable_and_nothing_else(data):
    for read in (lambda: offsets_of(data, PATH, 0), lambda: group_of(data, PATH), lambda: head_of(data)):
        with pytest.raises(Unreadable):
            read()


@given(offset_tables, memberships, st.data())
@law
def test_a_file_that_is_cut_short_is_unreadable(offsets, stored, data):
    for whole in (offsets_bytes("g", 1, 1, offsets, {}), group_bytes("g", 1, 1, stored, 0)):
        cut = data.draw(st.integers(0, len(whole) - 1))
        with pytest.raises(Unreadable):
            offsets_of(whole[:cut], PATH, 0)
        with pytest.raises(Unreadable):
            group_of(whole[:cut], PATH)


def test_the_head_is_read_however_old_the_file_is():
    assert head_of(offsets_bytes("g", 4, 2, {}, {})).order == (4, 2)
    assert head_of(group_bytes("g", 4, 3, None, 0)).order == (4, 3)
    assert head_of(b'{"offsets": {}}').order == (0, 0)


def test_a_key_is_split_at_its_last_slash():
    assert split_key("a/b/c/12") == ("a/b/c", 12)
    assert split_key("/0") == ("", 0)
    for key in ("t", "t/", "t/one", "t/-1"):
        with pytest.raises(Unreadable):
            split_key(key)
