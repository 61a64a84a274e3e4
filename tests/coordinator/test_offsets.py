"""Committed offsets: who may commit, that nothing is told before it is durable, what may be deleted."""

from __future__ import annotations

import pytest

from kaas.coordinator.announcements import GroupGone, OffsetsChanged
from kaas.coordinator.classic.states import State
from kaas.coordinator.events import Commit, TopicDeleted
from kaas.coordinator.offset_entry import OffsetEntry, OffsetRows
from kaas.coordinator.records import GroupDeleted
from kaas.errors import ErrorCode
from tests.support.groups import GROUP, OTHER_TOPIC, Groups

# Who may commit


@pytest.mark.parametrize("who", [{}, {"member_id": "m"}, {"instance_id": "i0"}, {"generation": -2}])
def test_any_negative_generation_may_make_a_simple_group(who):
    groups = Groups()
    assert groups.commits({("t", 0): 5}, **who).code == 0
    listed = groups.listed()[GROUP]
    assert (listed.protocol_type, listed.state) == ("", "Empty")
    assert groups.committed() == {("t", 0): 5}


@pytest.mark.parametrize(("modern", "code"), [(False, 22), (True, 69)])
def test_a_generation_on_an_unknown_group_is_refused(modern, code):
    groups = Groups()
    assert groups.commits({("t", 0): 5}, generation=0, member_id="m", modern=modern).code == code
    assert groups.listed() == {}


def test_the_empty_group_id_is_legal_for_offsets():
    """https://issues.apache.org/jira/browse/KAFKA-6773"""
    groups = Groups()
    assert groups.commits({("t", 0): 5}, group_id="").code == 0
    assert groups.committed("") == {("t", 0): 5}
    assert groups.deletes_offsets(("t", 0), group_id="").code == 24
    assert groups.deletes("").code == 0


def test_an_emptied_group_takes_commits_of_nobody_and_none_of_former_members():
    groups = Groups()
    (a,) = groups.settled(groups.member())
    a.leaves()
    assert a.commits().code == 25
    assert groups.commits({("t", 0): 1}, generation=a.generation).code == 25
    assert groups.commits({("t", 0): 1}).code == 0


@pytest.mark.parametrize(
    ("who", "code"),
    [
        ({}, 0),
        ({"instance_id": None}, 0),
        ({"generation": 1}, 22),
        ({"generation": 3}, 22),
        ({"generation": -1}, 22),
        ({"member_id": "ghost"}, 82),
        ({"member_id": "ghost", "instance_id": None}, 25),
        ({"member_id": "ghost", "instance_id": None, "generation": 9}, 25),
        ({"instance_id": "other"}, 25),
        ({"member_id": "ghost", "generation": 9}, 82),
        ({"member_id": "", "generation": -1}, 82),
        ({"member_id": "", "instance_id": "other", "generation": -1}, 25),
        ({"member_id": "", "instance_id": None}, 25),
        ({"member_id": "", "instance_id": None, "generation": -1}, 25),
    ],
)
def test_a_stable_group_checks_instance_then_member_then_generation(who, code):
    """KAFKA-14201 among them: no member id, but an instance.

    https://issues.apache.org/jira/browse/KAFKA-14201
    """
    groups = Groups()
    a, _ = groups.settled(groups.member("i0"), groups.member())
    assert a.commits(7, **who).code == code
    assert groups.committed() == ({} if code else {("t", 0): 7})


def test_a_rebalancing_group_takes_its_members_commits_until_the_join_phase_ends():
    """librdkafka#4059, franz-go#409: a commit during a cooperative rebalance was refused."""
    groups = Groups()
    a, b = groups.settled(*groups.members(2))
    b.joins(protocols=OTHER_TOPIC)
    assert a.commits(1).code == 0
    assert b.commits(2).code == 0
    a.joins()
    assert a.commits(3).code == 27
    assert groups.committed() == {("t", 0): 2}


def test_a_good_commit_keeps_the_session_alive():
    groups = Groups()
    a, _ = groups.settled(groups.member(session_timeout_ms=6_000), groups.member())
    for _ in range(3):
        groups.passes(5_000)
        assert a.commits().code == 0
    groups.passes(5_000)
    assert a.commits(generation=9).code == 22
    groups.passes(1_000)
    assert a.beats() == 25


def test_a_commit_of_a_member_whose_join_is_parked_starts_no_session():
    groups = Groups()
    a, b = groups.settled(groups.member(session_timeout_ms=6_000), groups.member())
    a.joins()
    a.commits()
    groups.passes(7_000)
    b.joins()
    assert a.generation == 3


def test_commits_while_groups_are_loaded_are_told_so():
    groups = Groups()
    groups.starts_loading()
    assert groups.commits({("t", 0): 1}).code == 14


# What is kept


def test_a_commit_replaces_offset_and_metadata_as_a_whole():
    """K9: empty metadata never cleared the old string."""
    groups = Groups()
    groups.commits({("t", 0): 5}, metadata="note")
    groups.commits({("t", 0): 4}, metadata="")
    entry = groups.core.groups[GROUP].offset("t", 0)
    assert (entry.offset, entry.metadata) == (4, "")


def rows(*metadata: str) -> OffsetRows:
    return [("t", number, OffsetEntry(number, 3, text, 0)) for number, text in enumerate(metadata)]


def test_metadata_that_is_too_long_fails_its_partition_alone():
    groups = Groups()
    who = {"group_id": GROUP, "generation": -1, "member_id": "", "instance_id": None}
    answer = groups.ask(Commit, rows=rows("x" * 4_096, "x" * 4_097, ""), **who).answer
    assert (answer.code, answer.rows) == (ErrorCode.NONE, {1: ErrorCode.OFFSET_METADATA_TOO_LARGE})
    assert groups.committed() == {("t", 0): 0, ("t", 2): 2}
    assert groups.heard(OffsetsChanged)[-1].partitions == [("t", 0), ("t", 2)]


def test_metadata_is_counted_in_utf16_units_as_java_does():
    groups = Groups(offset_metadata_max_bytes=4)
    who = {"group_id": GROUP, "generation": -1, "member_id": "", "instance_id": None}
    assert groups.ask(Commit, rows=rows("ééée", "😀😀", "😀😀x"), **who).answer.rows == {
        2: ErrorCode.OFFSET_METADATA_TOO_LARGE
    }


def test_a_commit_of_which_nothing_is_kept_is_answered_and_makes_no_group():
    groups = Groups()
    who = {"group_id": GROUP, "generation": -1, "member_id": "", "instance_id": None}
    assert groups.ask(Commit, rows=rows("x" * 5_000), **who).answer.rows == {0: ErrorCode.OFFSET_METADATA_TOO_LARGE}
    assert groups.ask(Commit, rows=[], **who).code == 0
    assert groups.listed() == {}


def test_the_last_row_wins_when_a_partition_is_named_twice():
    groups = Groups()
    both = [("t", 0, OffsetEntry(n, -1, "", 0)) for n in (9, 3)]
    groups.ask(Commit, group_id=GROUP, generation=-1, member_id="", instance_id=None, rows=both)
    assert groups.committed() == {("t", 0): 3}


def test_a_retention_of_its_own_is_kept_with_the_offset_and_none_means_the_brokers():
    """K22, KAFKA-7403."""
    groups = Groups()
    groups.commits({("t", 0): 1}, retention_ms=1_000)
    groups.commits({("t", 1): 1}, retention_ms=None)
    group = groups.core.groups[GROUP]
    assert group.offset("t", 0).expires_at == groups.wall_ms + 1_000
    assert group.offset("t", 1).expires_at is None


# Durable before it is told


def test_a_commit_is_told_and_seen_only_when_it_is_durable():
    groups = Groups()
    groups.journal.held = True
    asked = groups.commits({("t", 0): 1})
    assert asked.waits and groups.committed() == {}
    groups.writes()
    assert asked.code == 0 and groups.committed() == {("t", 0): 1}


def test_a_commit_that_cannot_be_written_is_an_error_and_changes_nothing():
    """K16: a commit whose write failed was answered 0."""
    groups = Groups()
    groups.commits({("t", 0): 1})
    groups.journal.full = True
    assert groups.commits({("t", 0): 2}).code == 15
    assert groups.committed() == {("t", 0): 1}
    groups.journal.full = False
    assert groups.commits({("t", 0): 3}).code == 0


def test_commits_survive_a_restart_beside_what_comes_later():
    """K5, K6: offsets were lost by an OffsetDelete, or a first commit, and a restart."""
    groups = Groups()
    groups.commits({("t", 0): 1, ("t", 1): 2, ("u", 0): 3})
    groups.restarts()
    groups.commits({("t", 1): 20})
    groups.deletes_offsets(("u", 0))
    groups.restarts()
    assert groups.committed() == {("t", 0): 1, ("t", 1): 20}


def test_a_simple_group_is_listed_after_a_restart():
    """https://issues.apache.org/jira/browse/KAFKA-20254
    https://issues.apache.org/jira/browse/KAFKA-6287
    """
    groups = Groups()
    groups.commits({("t", 0): 1})
    groups.restarts()
    assert groups.listed()[GROUP].state == "Empty"


def test_a_commit_by_nobody_to_a_group_of_members_is_told_as_a_reset():
    groups = Groups()
    (a,) = groups.settled(groups.member())
    a.commits(1)
    assert groups.heard(OffsetsChanged)[-1].kind == "offsets_committed"
    a.leaves()
    groups.commits({("t", 0): 0})
    assert groups.heard(OffsetsChanged)[-1].kind == "offsets_reset"
    groups.commits({("t", 0): 0}, group_id="simple")
    assert groups.heard(OffsetsChanged)[-1].kind == "offsets_committed"


# OffsetDelete


def test_an_offset_that_a_member_reads_is_not_deleted_and_others_are():
    groups = Groups()
    a, _ = groups.settled(*groups.members(2))
    a.commits(1, "t")
    a.commits(1, "old")
    answer = groups.deletes_offsets(("t", 0), ("old", 0), ("never", 0)).answer
    assert answer.partitions == {
        ("t", 0): ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
        ("old", 0): ErrorCode.NONE,
        ("never", 0): ErrorCode.NONE,
    }
    assert groups.committed() == {("t", 0): 1}


def test_a_subscription_that_cannot_be_read_holds_every_topic():
    groups = Groups()
    a = groups.member(protocols=(("range", b"\0\0\0"),))
    groups.gathered(a)
    a.syncs({a: b""})
    a.commits(1, "old")
    assert groups.deletes_offsets(("old", 0)).answer.partitions == {("old", 0): ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC}


def test_offsets_of_a_group_of_another_type_are_deleted_only_when_it_is_empty():
    groups = Groups()
    worker = groups.member(protocol_type="connect", protocols=(("default", b"\0"),))
    groups.gathered(worker)
    worker.syncs({worker: b""})
    worker.commits(1)
    assert groups.deletes_offsets(("t", 0)).code == 68
    worker.leaves()
    assert groups.deletes_offsets(("t", 0)).code == 0
    assert groups.committed() == {}


def test_an_unknown_group_and_the_empty_id_have_no_offsets_to_delete():
    groups = Groups()
    assert groups.deletes_offsets(("t", 0)).code == 69
    assert groups.deletes_offsets(("t", 0), group_id="").code == 24


def test_a_deletion_that_cannot_be_written_is_an_error_and_changes_nothing():
    groups = Groups()
    groups.commits({("t", 0): 1})
    groups.journal.full = True
    assert groups.deletes_offsets(("t", 0)).code == 15
    assert groups.committed() == {("t", 0): 1}


def test_a_group_stays_when_its_last_offset_is_deleted():
    groups = Groups()
    groups.commits({("t", 0): 1})
    groups.deletes_offsets(("t", 0))
    assert groups.state is State.EMPTY


# DeleteGroups


def test_a_group_with_members_is_not_deleted():
    """68: one page of the specification says 67, which is another code."""
    groups = Groups()
    (a,) = groups.settled(groups.member())
    assert groups.deletes().code == 68
    a.leaves()
    assert groups.deletes().code == 0
    assert groups.deletes().code == 69


def test_a_deleted_group_is_another_one_when_it_comes_back():
    groups = Groups()
    (a,) = groups.settled(groups.member())
    a.commits(5)
    a.leaves()
    groups.deletes()
    assert groups.heard(GroupGone)[-1].kind == "group_deleted"
    groups.restarts()
    assert groups.listed() == {}
    b = groups.member()
    b.joins()
    assert b.generation == 1 and groups.committed() == {}


def test_a_group_that_never_committed_can_be_deleted():
    groups = Groups()
    groups.joins()
    assert groups.deletes().code == 0
    assert isinstance(groups.journal.written[-1][1], GroupDeleted)


def test_a_group_whose_deletion_cannot_be_written_is_there_as_before():
    groups = Groups()
    groups.commits({("t", 0): 1})
    groups.journal.full = True
    assert groups.deletes().code == 15
    groups.journal.full = False
    assert groups.committed() == {("t", 0): 1}
    assert groups.commits({("t", 0): 2}).code == 0


def test_of_two_deletions_at_once_the_second_is_told_to_try_again():
    groups = Groups()
    groups.commits({("t", 0): 1})
    groups.journal.held = True
    first, second = groups.deletes(), groups.deletes()
    assert second.code == 15
    groups.settle()
    assert first.code == 0 and groups.deletes().code == 69


def test_a_commit_on_its_way_when_the_group_is_deleted_goes_with_it():
    groups = Groups()
    groups.commits({("t", 0): 1})
    groups.journal.held = True
    commit, deletion = groups.commits({("t", 0): 2}), groups.deletes()
    groups.settle()
    assert (commit.code, deletion.code) == (0, 0)
    assert groups.listed() == {} and groups.durable() == {}


# Topics that go


def test_the_offsets_of_a_deleted_topic_go_in_every_group():
    groups = Groups()
    groups.commits({("t", 0): 1, ("u", 0): 1})
    groups.commits({("t", 1): 1}, group_id="other")
    groups.submit(TopicDeleted(topic="t"))
    assert groups.committed() == {("u", 0): 1} and groups.committed("other") == {}
    assert {what.why for what in groups.heard(OffsetsChanged) if what.kind == "offsets_deleted"} == {"topic_deleted"}


def test_a_commit_on_its_way_when_its_topic_is_deleted_is_not_left_behind():
    groups = Groups()
    groups.journal.held = True
    known, unknown = groups.commits({("t", 0): 1}), groups.commits({("t", 0): 1}, group_id="new")
    groups.submit(TopicDeleted(topic="t"))
    groups.settle()
    assert (known.code, unknown.code) == (0, 0)
    assert groups.committed() == groups.committed("new") == {}


def test_the_end_of_a_topic_does_not_bring_a_group_back_that_is_being_deleted():
    groups = Groups()
    groups.commits({("t", 0): 1})
    groups.journal.held = True
    groups.deletes()
    groups.submit(TopicDeleted(topic="t"))
    groups.settle()
    assert groups.listed() == {} and groups.durable() == {}
