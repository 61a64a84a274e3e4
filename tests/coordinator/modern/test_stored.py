"""The picture of a consumer group: records add up to it, and a restart brings back what it shows."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from kaas.coordinator.modern.group import ClassicPart, MemberState, ResolvedRegex
from kaas.coordinator.modern.stored import StoredGroup, picture_of, restored_group
from kaas.coordinator.records import ConsumerGroupChanged
from tests.support.consumer_records import T, U, changed, changes, member
from tests.support.laws import law

WALL_OFFSET_MS = 1_000


def picture(*records: ConsumerGroupChanged) -> StoredGroup:
    """What records add up to, of which the first says everything."""
    found = picture_of(msgspec.structs.replace(records[0], whole=True))
    for record in records[1:]:
        found.fold(record)
    return found


def test_records_add_up():
    found = picture(
        changed(1, members=[member("a")], targets={"a": {T: (0,)}}, regexes={"t.*": ResolvedRegex(("t",), 5)}),
        changed(2, members=[member("b", epoch=2)], targets={"b": {T: (1,)}}, regexes_gone=["t.*"]),
    )
    assert (found.epoch, list(found.members), found.targets, found.regexes) == (
        2,
        ["a", "b"],
        {"a": {T: (0,)}, "b": {T: (1,)}},
        {},
    )


def test_who_is_gone_has_no_target_and_cannot_go_twice():
    found = picture(changed(1, members=[member("a")], targets={"a": {T: (0,)}}), changed(2, gone=["a", "stranger"]))
    assert (found.members, found.targets) == ({}, {})


def test_a_whole_record_replaces_everything():
    found = picture(
        changed(1, members=[member("a")], targets={"a": {}}, regexes={"t": ResolvedRegex((), 5)}),
        changed(7, members=[member("b")], whole=True),
    )
    assert found == picture(changed(7, members=[member("b")], whole=True))
    assert (list(found.members), found.targets, found.regexes) == (["b"], {}, {})


def test_a_member_that_is_told_again_keeps_its_place():
    found = picture(changed(1, members=[member("a"), member("b")]), changed(2, members=[member("a", epoch=2)]))
    assert [(m.member_id, m.epoch) for m in found.members.values()] == [("a", 2), ("b", 1)]


@given(st.lists(changes, min_size=1, max_size=8))
@law
def test_the_whole_of_a_picture_is_the_same_picture(history):
    found = picture(*history)
    assert picture_of(found.record()) == found


@given(st.lists(changes, min_size=1, max_size=8))
@law
def test_the_newest_record_may_be_told_twice(history):
    assert picture(*history, history[-1]) == picture(*history)


def test_a_group_comes_back_with_its_members_epochs_and_owners():
    static = member("a", instance_id="i", assigned={T: (0, 1)}, revoking={U: (0,)}, state=MemberState.UNREVOKED)
    classic = member("k", classic=ClassicPart(9_000, (("range", b"x"),)), epoch=2)
    found = restored_group(
        "g", picture(changed(2, members=[static, classic], targets={"a": {T: (0,)}})), WALL_OFFSET_MS
    )
    assert (found.epoch, found.target_epoch, found.target_assignor, found.metadata_hash) == (2, 2, "uniform", 99)
    assert list(found.members.values()) == [static, classic]
    assert (found.instances, found.target) == ({"i": "a"}, {"a": {T: (0,)}, "k": {}})
    assert not found.unsaved
    assert found.owners == {(T, 0): "a", (T, 1): "a", (U, 0): "a"}
    assert found.state_since_ms == 7_000 - WALL_OFFSET_MS


def test_of_two_who_hold_a_partition_the_later_one_keeps_it():
    """The record by which the other let go of it was lost; the partition was given on all the same."""
    before = member("a", assigned={T: (0,), U: (0,)}, revoking={T: (1,)}, epoch=1)
    after = member("b", assigned={T: (0, 1)}, epoch=2)
    for rows in ([before, after], [after, before]):
        found = restored_group("g", picture(changed(2, members=rows)), WALL_OFFSET_MS)
        assert found.members["b"] == after
        assert found.members["a"] == msgspec.structs.replace(before, assigned={U: (0,)}, revoking={})
        assert found.owners == {(T, 0): "b", (T, 1): "b", (U, 0): "a"}


def test_a_group_that_a_lost_record_has_left_torn_is_stored_whole_and_gets_another_target():
    """Else who is dropped here would be back after the next restart, and a target that is of no epoch would be gone for."""
    other = member("b", assigned={T: (0,)}, epoch=2)
    rows = [member("a", assigned={T: (0,)}, epoch=1), other]
    torn = [
        picture(changed(2, members=rows)),
        picture(changed(2, members=[other], targets={"b": {T: (0,)}, "gone": {T: (1,)}})),
        picture(changed(2, members=[member("a"), other], targets={"a": {T: (0,)}, "b": {T: (0, 1)}})),
    ]
    for stored in torn:
        found = restored_group("g", stored, WALL_OFFSET_MS)
        assert (found.unsaved, found.epoch, found.target_epoch) == (True, 3, 2)
        found.check()
    whole = picture(changed(2, members=[other], targets={"b": {T: (0,)}}))
    assert not restored_group("g", whole, WALL_OFFSET_MS).unsaved


def test_a_record_that_is_missing_is_missed_until_one_says_everything():
    """Else a target that was lost would stay the one of before, and who came with it would wait for ever."""
    first = changed(1, members=[member("a")], targets={"a": {T: (0, 1)}}, number=1)
    second = changed(2, members=[member("b")], targets={"a": {T: (0,)}, "b": {T: (1,)}}, number=2)
    third = changed(2, members=[member("a", epoch=2, assigned={T: (0,)})], number=3)
    for records, lacks in (
        ((first, second, third), False),
        ((first, second, second, third), False),
        ((first, third), True),
    ):
        stored = picture(*records)
        for one in (stored, picture_of(stored.record())):
            found = restored_group("g", one, WALL_OFFSET_MS)
            assert (found.unsaved, found.epoch, found.record_number) == (lacks, 3 if lacks else 2, 3)
    assert picture_of(third).lacks
    assert not picture(first, third, changed(2, members=[member("a")], whole=True, number=4)).lacks


@given(st.lists(changes, min_size=1, max_size=8))
@law
def test_after_any_history_every_partition_has_one_holder(history):
    found = restored_group("g", picture(*history), WALL_OFFSET_MS)
    held = [
        (topic_id, partition, holder.member_id)
        for holder in found.members.values()
        for partitions in (holder.assigned, holder.revoking)
        for topic_id, row in partitions.items()
        for partition in row
    ]
    assert {(topic_id, partition): who for topic_id, partition, who in held} == found.owners
    assert len({(topic_id, partition, who) for topic_id, partition, who in held}) == len(found.owners)
