"""Records into state: the same code live and at a restart, tolerant of what a journal may lack."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaas.coordinator import replay
from kaas.coordinator.classic.states import State
from kaas.coordinator.modern.stored import picture_of
from kaas.coordinator.offset_entry import OffsetEntry
from kaas.coordinator.records import (
    GenerationReserved,
    GroupDeleted,
    GroupEmpty,
    GroupStable,
    MemberReplaced,
    OffsetsCommitted,
    OffsetsDeleted,
    Record,
    StoredMember,
)
from tests.support.consumer_records import changed, changes, member
from tests.support.groups import RANGE
from tests.support.laws import law

WALL_OFFSET_MS = 1_000


def stored(member_id: str, instance_id: str | None = None, assignment: bytes = b"") -> StoredMember:
    return StoredMember(member_id, instance_id, "client", "/10.0.0.1", 10_000, 60_000, RANGE, assignment, 5)


def stable(generation: int, *members: StoredMember) -> GroupStable:
    rows = list(members) or [stored("a")]
    return GroupStable(generation, "consumer", "range", rows[0].member_id, rows, 7_000)


def replayed(*records: Record) -> dict:
    groups: dict = {}
    for record in records:
        replay.apply(groups, "g", record, WALL_OFFSET_MS)
    for group in groups.values():
        replay.restore(group, WALL_OFFSET_MS)
    return groups


def entry(offset: int) -> OffsetEntry:
    return OffsetEntry(offset, -1, "", 5)


def test_a_stable_group_comes_back_with_members_leader_and_assignments():
    group = replayed(stable(3, stored("a", assignment=b"1"), stored("b", "i0", b"2")))["g"]
    classic = group.classic
    assert (classic.state, classic.generation, classic.leader, classic.reserved) == (State.STABLE, 3, "a", 3)
    assert {m.member_id: m.assignment for m in classic.members.values()} == {"a": b"1", "b": b"2"}
    assert classic.holder("i0").member_id == "b"
    assert classic.state_since_ms == 7_000 - WALL_OFFSET_MS
    assert all(m.synced and not m.waits for m in classic.members.values())
    classic.check()


def test_the_newest_record_counts_whatever_its_generation():
    """A group that was a consumer group meanwhile begins at 1 again."""
    first, second = stable(4, stored("b")), stable(1, stored("a"))
    for order in itertools.permutations((first, second)):
        classic = replayed(*order)["g"].classic
        assert (classic.generation, list(classic.members)) == (order[1].generation, [order[1].leader])
        assert classic.reserved == 4


def test_an_empty_group_keeps_its_generation_type_and_since_when():
    classic = replayed(stable(3), GroupEmpty(4, "consumer", 9_000))["g"].classic
    assert (classic.state, classic.generation, classic.protocol_type, classic.members) == (
        State.EMPTY,
        4,
        "consumer",
        {},
    )
    assert classic.state_since_ms == 9_000 - WALL_OFFSET_MS


def test_numbers_that_were_reserved_stay_so():
    assert replayed(stable(3), GenerationReserved(5), GenerationReserved(4))["g"].classic.reserved == 5
    assert replayed(GenerationReserved(1))["g"].classic.state is State.EMPTY


def test_a_replacement_keeps_the_assignment_and_the_leadership():
    groups = replayed(
        stable(3, stored("a", "i0", b"1"), stored("b")), MemberReplaced("a", stored("x", "i0", b"ignored"))
    )
    classic = groups["g"].classic
    assert (list(classic.members), classic.leader, classic.members["x"].assignment) == (["x", "b"], "x", b"1")
    assert groups["g"].stored == stable(3, stored("x", "i0", b"1"), stored("b"))


def test_a_replacement_of_somebody_who_is_gone_changes_nothing():
    groups = replayed(stable(3), MemberReplaced("gone", stored("x", "i0")))
    assert list(groups["g"].classic.members) == ["a"]
    assert groups["g"].stored == stable(3)


def test_a_consumer_group_comes_back_and_the_classic_one_that_it_was_does_not():
    group = replayed(stable(3), changed(4, members=[member("m")], whole=True), changed(5, members=[member("n")]))["g"]
    assert (group.modern.epoch, list(group.modern.members)) == (5, ["m", "n"])
    assert (group.classic.state, group.classic.members, group.classic.reserved) == (State.EMPTY, {}, 3)


@pytest.mark.parametrize("last", [stable(2), GroupEmpty(2, "consumer", 9_000)], ids=["stable", "empty"])
def test_a_classic_record_makes_a_consumer_group_classic_again(last):
    group = replayed(stable(3), changed(1, members=[member("m")], whole=True), last)["g"]
    assert (group.modern, group.classic.generation, group.stored) == (None, 2, last)


def test_a_consumer_group_that_becomes_one_again_has_nothing_of_its_former_life():
    first, last = changed(9, members=[member("m")], whole=True), changed(1, members=[member("n")], whole=True)
    group = replayed(first, stable(3), last)["g"]
    assert list(group.modern.members) == ["n"] and group.stored == picture_of(last)


def test_changes_to_a_consumer_group_of_which_nothing_is_known_begin_it():
    """The record before them was lost: readers must not fail at members without a group.

    https://issues.apache.org/jira/browse/KAFKA-17306
    """
    assert list(replayed(changed(2, members=[member("m")], gone=["x"]))["g"].modern.members) == ["m"]
    assert list(replayed(stable(3), changed(2, members=[member("m")]))["g"].modern.members) == ["m"]


def test_live_memory_is_ahead_and_a_record_changes_the_stored_picture_only():
    group = replayed(changed(1, members=[member("m")], whole=True))["g"]
    memory = group.modern
    memory.epoch = 3  # decided meanwhile
    replay.apply({"g": group}, "g", changed(2, members=[member("n")]), WALL_OFFSET_MS)
    assert group.modern is memory and (memory.epoch, list(memory.members)) == (3, ["m"])
    assert (group.stored.epoch, list(group.stored.members)) == (2, ["m", "n"])


def test_offsets_of_a_consumer_group_are_kept_when_it_changes_its_protocol():
    offsets = OffsetsCommitted([("t", 0, entry(1))])
    groups = replayed(stable(3), offsets, changed(4, members=[member("m")], whole=True), stable(5))
    assert groups["g"].offsets == {"t": {0: entry(1)}}


def test_offsets_are_absolute():
    groups = replayed(
        OffsetsCommitted([("t", 0, entry(1)), ("t", 1, entry(2))]),
        OffsetsCommitted([("t", 0, entry(3))]),
        OffsetsDeleted([("t", 1), ("t", 9), ("u", 0)], "deleted"),
    )
    assert groups["g"].offsets == {"t": {0: entry(3)}}


def test_a_tombstone_ends_everything_and_what_comes_later_begins_anew():
    assert replayed(stable(3), OffsetsCommitted([("t", 0, entry(1))]), GroupDeleted(9, "deleted")) == {}
    groups = replayed(stable(3), GroupDeleted(9, "deleted"), OffsetsCommitted([("t", 0, entry(1))]))
    assert groups["g"].classic.generation == 0 and groups["g"].offsets == {"t": {0: entry(1)}}


@pytest.mark.parametrize(
    "record",
    [GroupDeleted(9, "deleted"), OffsetsDeleted([("t", 0)], "deleted"), MemberReplaced("a", stored("x", "i0"))],
    ids=["tombstone", "deletion", "replacement"],
)
def test_what_only_takes_away_makes_no_group(record):
    """A load failed at the tombstone of something that was never seen.

    https://issues.apache.org/jira/browse/KAFKA-17306
    """
    assert replayed(record) == {}


records = st.one_of(
    st.builds(lambda p, o: OffsetsCommitted([("t", p, entry(o))]), st.integers(0, 2), st.integers(0, 9)),
    st.builds(lambda p: OffsetsDeleted([("t", p)], "deleted"), st.integers(0, 2)),
    st.builds(GenerationReserved, st.integers(0, 5)),
    st.builds(lambda g, i: stable(g, stored(f"m{i}", "i0"), stored("b")), st.integers(1, 5), st.integers(0, 2)),
    st.builds(lambda g: GroupEmpty(g, "consumer", 9_000), st.integers(1, 5)),
    st.builds(lambda a, b: MemberReplaced(f"m{a}", stored(f"m{b}", "i0")), st.integers(0, 2), st.integers(3, 5)),
    changes,
    st.just(GroupDeleted(9, "deleted")),
)


def durable(groups: dict) -> dict:
    return {
        name: (g.offsets, g.stored, g.classic.reserved, g.classic.generation, g.modern) for name, g in groups.items()
    }


@given(st.lists(records, max_size=12))
@law
def test_any_journal_can_be_replayed_and_its_groups_are_sound(history):
    groups = replayed(*history)
    for group in groups.values():
        group.classic.check()
    assert durable(replayed(*history)) == durable(groups)


@given(st.lists(records, max_size=8), records)
@law
def test_applying_the_newest_record_once_more_does_no_harm(history, last):
    assert durable(replayed(*history, last, last)) == durable(replayed(*history, last))
