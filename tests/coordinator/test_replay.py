"""Records into state: the same code live and at a restart, tolerant of what a journal may lack."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaas.coordinator import replay
from kaas.coordinator.classic.states import State
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


def test_a_newer_generation_takes_the_place_of_an_older_one_and_never_the_reverse():
    newer, older = stable(4, stored("b")), stable(3, stored("a"))
    for order in itertools.permutations((newer, older)):
        classic = replayed(*order)["g"].classic
        assert (classic.generation, list(classic.members)) == (4, ["b"])


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
    st.just(GroupDeleted(9, "deleted")),
)


def durable(groups: dict) -> dict:
    return {name: (g.offsets, g.stored, g.classic.reserved, g.classic.generation) for name, g in groups.items()}


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
