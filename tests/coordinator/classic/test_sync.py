"""SyncGroup: the leader hands out assignments, everyone asks for theirs, nothing is handed out that a crash would forget."""

from __future__ import annotations

import pytest

from kaas.coordinator.announcements import RebalanceStarted
from kaas.coordinator.answers import SyncAnswer
from kaas.coordinator.classic.states import State
from kaas.coordinator.records import GroupStable
from kaas.errors import ErrorCode
from kaas.wire.consumer_protocol import EMPTY_ASSIGNMENT, decode_assignment
from tests.support.groups import GROUP, OTHER_TOPIC, Groups, assignment


def refused(code: int) -> SyncAnswer:
    return SyncAnswer(code=ErrorCode(code))


# What is refused, in the order of checks


def test_a_sync_without_protocol_type_or_name_is_refused_before_anything_else():
    groups = Groups()
    (a,) = groups.gathered(groups.member())
    assert a.syncs(protocol_missing=True).answer == refused(23)
    assert a.syncs(protocol_missing=True, group_id="").answer == refused(23)
    assert a.syncs({a: b"mine"}).answer.assignment == b"mine"


def test_an_empty_group_id_and_an_unknown_group_are_refused():
    groups = Groups()
    a = groups.member()
    assert a.syncs(group_id="").answer == refused(24)
    assert a.syncs().answer == refused(25)


def test_a_sync_while_groups_are_loaded_is_told_so():
    groups = Groups()
    (a,) = groups.settled(groups.member())
    groups.starts_loading()
    assert a.syncs().answer == refused(14)
    groups.loads()
    assert a.syncs().code == 0


def test_an_unknown_member_is_told_before_a_wrong_generation_and_that_before_a_wrong_protocol():
    groups = Groups()
    (a,) = groups.settled(groups.member())
    assert a.syncs(member_id="who", generation=7, protocol_name="no").answer == refused(25)
    for generation in (-1, 0, 2):
        assert a.syncs(generation=generation, protocol_name="no").answer == refused(22)
    assert a.syncs(protocol_name="no").answer == refused(23)
    assert a.syncs(protocol_type="connect").answer == refused(23)
    assert a.syncs(protocol_type="consumer", protocol_name="range").code == 0


def test_a_sync_while_members_come_back_is_sent_to_join():
    groups = Groups()
    a, b = groups.settled(*groups.members(2))
    b.joins(protocols=OTHER_TOPIC)
    assert a.syncs().answer == refused(27)


# Waiting for the leader


def test_followers_that_sync_first_wait_for_the_leader():
    groups = Groups()
    a, b, c = groups.gathered(*groups.members(3))
    assert b.syncs().waits and c.syncs().waits
    a.syncs({a: b"a", b: b"b", c: b"c"})
    assert [each.synced.assignment for each in (a, b, c)] == [b"a", b"b", b"c"]
    assert groups.state is State.STABLE


def test_the_answer_names_the_protocol_of_the_group():
    groups = Groups()
    (a,) = groups.gathered(groups.member())
    answer = a.syncs({a: b"mine"}).answer
    assert (answer.protocol_type, answer.protocol_name) == ("consumer", "range")


def test_the_assignments_that_a_follower_sends_are_ignored():
    """tansu 50e5666: Sync was not bound to the leader."""
    groups = Groups()
    a, b = groups.gathered(*groups.members(2))
    assert b.syncs({a: b"stolen", b: b"all"}).waits
    a.syncs({a: b"a", b: b"b"})
    assert b.synced.assignment == b"b"


def test_the_first_assignments_of_a_generation_count():
    groups = Groups()
    a, b = groups.gathered(*groups.members(2))
    groups.journal.held = True
    a.syncs({a: b"first", b: b"first"})
    assert a.syncs({a: b"second", b: b"second"}).waits
    groups.settle()
    assert a.synced.assignment == b"first" and b.syncs().waits is False


def test_a_repeated_sync_sends_the_older_one_back():
    """Apache leaves the older connection hanging."""
    groups = Groups()
    a, b = groups.gathered(*groups.members(2))
    older, newer = b.syncs(), b.syncs()
    assert older.answer == refused(27)
    a.syncs({b: b"b"})
    assert newer.answer.assignment == b"b"


def test_a_follower_whose_sync_is_parked_outlives_its_session():
    groups = Groups()
    a, b = groups.gathered(groups.member(), groups.member(session_timeout_ms=6_000))
    b.syncs()
    for _ in range(4):
        groups.passes(5_000)
        a.beats()
    a.syncs({b: b"b"})
    assert b.synced.assignment == b"b"
    groups.passes(6_000)
    assert b.beats() == 25  # its session runs again


def test_a_sync_answered_from_what_is_known_does_not_restart_the_session():
    groups = Groups()
    _, b = groups.settled(*groups.members(2, session_timeout_ms=6_000))
    groups.passes(5_000)
    assert b.syncs().code == 0
    groups.passes(1_000)
    assert b.beats() == 25


def test_a_newcomer_while_followers_wait_sends_them_back():
    groups = Groups()
    a, b = groups.gathered(*groups.members(2))
    asked = b.syncs()
    groups.member().joins()
    assert asked.answer == refused(27)
    assert a.syncs().answer == refused(27)


def test_a_parked_sync_of_a_member_that_is_removed_is_answered_at_once():
    """Apache never answers it."""
    groups = Groups()
    a, b = groups.gathered(*groups.members(2))
    asked = b.syncs()
    assert b.leaves() == 0
    assert asked.answer == refused(25)
    assert a.beats() == 27


# What is handed out


def test_a_sync_in_stable_repeats_the_assignment_even_if_the_leader_sends_another():
    groups = Groups()
    a, b = groups.settled(*groups.members(2))
    assert a.syncs({a: b"new", b: b"new"}).answer.assignment == assignment("t", 0)
    assert b.syncs().answer.assignment == assignment("t", 1)


@pytest.mark.parametrize("given", [None, b""], ids=["left out", "zero bytes"])
def test_a_consumer_without_partitions_can_decode_its_assignment(given):
    """sarama#2290, franz-go#1227: zero bytes crashed clients. A decision of ours (docs/decisions)."""
    groups = Groups()
    a, b = groups.gathered(*groups.members(2))
    b.syncs()
    a.syncs({a: assignment("t", 0, 1)} if given is None else {a: assignment("t", 0, 1), b: given})
    assert b.synced.assignment == EMPTY_ASSIGNMENT
    assert decode_assignment(b.synced.assignment).partitions == {}


def test_a_member_of_another_protocol_type_that_was_left_out_gets_zero_bytes():
    groups = Groups()
    about = {"protocol_type": "connect", "protocols": (("default", b"\0"),)}
    a, b = groups.gathered(*groups.members(2, **about))
    b.syncs()
    a.syncs({a: b"everything"})
    assert b.synced.assignment == b""


def test_an_assignment_for_a_stranger_is_dropped():
    groups = Groups()
    (a,) = groups.gathered(groups.member())
    stranger = groups.member()
    stranger.id = "stranger"
    a.syncs({stranger: b"x", a: b"mine"})
    assert groups.ids == [a.id]
    assert stranger.syncs(generation=1).answer == refused(25)


# Durable before it is handed out


def test_nobody_has_its_assignment_before_it_is_durable():
    groups = Groups()
    a, b = groups.gathered(*groups.members(2))
    groups.journal.held = True
    b.syncs()
    assert a.syncs({a: b"a", b: b"b"}).waits and b.last_sync.waits
    assert groups.state is State.COMPLETING_REBALANCE
    groups.writes()
    assert (a.synced.assignment, b.synced.assignment) == (b"a", b"b")


def test_assignments_that_cannot_be_written_are_handed_to_nobody_and_the_group_starts_over():
    groups = Groups()
    a, b = groups.settled(*groups.members(2))
    b.joins(protocols=OTHER_TOPIC)
    a.joins()
    b.syncs()
    groups.journal.full = True
    a.syncs({a: b"new", b: b"new"})
    assert (a.last_sync.answer, b.last_sync.answer) == (refused(15), refused(15))
    assert groups.state is State.PREPARING_REBALANCE
    assert groups.heard(RebalanceStarted)[-1].cause.kind == "assignment_failed"
    assert [m.assignment for m in groups.described().members] == [assignment("t", 0), assignment("t", 1)]
    groups.journal.full = False
    groups.settled(a, b)
    assert groups.generation == 4


def test_an_assignment_that_was_overtaken_while_it_was_written_is_handed_to_nobody():
    groups = Groups()
    a, b = groups.gathered(*groups.members(2))
    groups.journal.held = True
    a.syncs({a: b"a", b: b"b"})
    b.leaves()
    assert a.last_sync.answer == refused(27)
    groups.settle()
    assert groups.state is State.PREPARING_REBALANCE
    assert groups.described().members[0].assignment == b""
    groups.journal.held = False
    a.joins()
    a.syncs({a: b"all"})
    assert a.synced.assignment == b"all"


def test_an_overtaken_assignment_that_cannot_be_written_changes_nothing():
    groups = Groups()
    a, b = groups.gathered(*groups.members(2))
    groups.journal.held = True
    a.syncs({a: b"a", b: b"b"})
    b.leaves()
    started = len(groups.heard(RebalanceStarted))
    groups.fails()
    assert len(groups.heard(RebalanceStarted)) == started
    assert groups.state is State.PREPARING_REBALANCE


def test_a_stable_group_is_stable_after_a_restart_and_gives_the_same_assignments():
    """redpanda#5079: after a restart Describe showed no members."""
    groups = Groups()
    a, b = groups.settled(*groups.members(2))
    before = groups.described()
    groups.restarts()
    assert groups.described() == before
    assert (a.beats(), b.beats()) == (0, 0)
    assert b.syncs().answer.assignment == assignment("t", 1)


def test_the_record_of_a_generation_drops_strangers_and_names_the_leader():
    groups = Groups()
    (a,) = groups.gathered(groups.member())
    a.syncs({a: b"mine"})
    record = groups.core.groups[GROUP].stored
    assert isinstance(record, GroupStable)
    assert (record.leader, [m.member_id for m in record.members], record.at) == (a.id, [a.id], groups.wall_ms)
