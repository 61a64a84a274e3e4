"""The phases of a rebalance: when a join phase ends, who is in the generation, who leads, what number it has."""

from __future__ import annotations

import pytest

from kaas.coordinator import timers
from kaas.coordinator.announcements import Cause, MemberChange, RebalanceCompleted, RebalanceStarted, StateChanged
from kaas.coordinator.classic.states import State
from kaas.coordinator.records import GenerationReserved, GroupEmpty, GroupStable
from tests.support.groups import GROUP, OTHER_TOPIC, RANGE, Groups, assignment, protocols

DELAY_MS = 3_000


# The initial delay


def test_members_who_start_together_make_one_generation():
    """N starting members caused N rebalances.

    https://issues.apache.org/jira/browse/KAFKA-4925
    https://github.com/tansu-io/tansu/commit/50e5666
    """
    groups = Groups(initial_rebalance_delay_ms=DELAY_MS)
    people = groups.members(10)
    for each in people:
        assert each.joins().waits
        groups.passes(100)
    groups.passes(2 * DELAY_MS)
    assert {each.generation for each in people} == {1}
    assert len(people[0].joined.members) == 10


def test_the_initial_delay_is_extended_while_members_come():
    """https://github.com/redpanda-data/redpanda/commit/a90cd758"""
    groups = Groups(initial_rebalance_delay_ms=DELAY_MS)
    a, b = groups.members(2)
    a.joins()
    groups.passes(DELAY_MS - 1)
    b.joins()
    groups.passes(1)
    assert a.last_join.waits
    groups.passes(DELAY_MS)
    assert a.generation == b.generation == 1


def test_the_initial_delay_is_not_extended_when_nobody_came():
    """redpanda a90cd758: the delay was not applied; here it is, once."""
    groups = Groups(initial_rebalance_delay_ms=DELAY_MS)
    a = groups.member()
    a.joins()
    groups.passes(DELAY_MS - 1)
    assert a.last_join.waits
    groups.passes(1)
    assert a.generation == 1


def test_the_initial_delay_ends_with_the_rebalance_timeout_of_the_first_member_however_many_come():
    groups = Groups(initial_rebalance_delay_ms=DELAY_MS)
    first = groups.member(rebalance_timeout_ms=10_000)
    first.joins()
    started_ms = groups.now_ms
    while first.last_join.waits:
        groups.member(rebalance_timeout_ms=10_000).joins()
        groups.passes(500)
    assert groups.now_ms - started_ms == 10_000


def test_an_initial_join_phase_that_everybody_left_ends_at_once():
    groups = Groups(initial_rebalance_delay_ms=DELAY_MS)
    a = groups.member(version=3)
    asked = a.joins()
    (member_id,) = groups.ids
    groups.leaves((member_id, None))
    assert asked.code == 25
    assert groups.state is State.EMPTY


def test_a_join_in_the_initial_phase_does_not_end_it():
    groups = Groups(initial_rebalance_delay_ms=DELAY_MS)
    a, b = groups.members(2)
    a.joins()
    b.joins()
    b.joins()
    assert groups.state is State.PREPARING_REBALANCE


# The end of a join phase


def test_dynamic_members_that_do_not_come_back_are_dropped_at_the_rebalance_timeout():
    """redpanda#3300: the group stayed in its join phase with dead members."""
    groups = Groups()
    a, b, c = groups.settled(*groups.members(3, rebalance_timeout_ms=10_000))
    a.joins()
    b.joins()
    groups.passes(9_999)
    assert a.last_join.waits
    groups.passes(1)
    assert list(a.listed) == [a.id, b.id]
    assert (c.beats(), b.beats()) == (25, 0)


def test_the_join_phase_lasts_as_long_as_the_slowest_member_may_take():
    groups = Groups()
    a, _ = groups.settled(groups.member(rebalance_timeout_ms=10_000), groups.member(rebalance_timeout_ms=25_000))
    a.joins()
    groups.passes(24_999)
    assert a.last_join.waits
    groups.passes(1)
    assert a.joined.generation == 3


def test_a_session_that_ends_while_others_wait_lets_the_join_phase_end():
    """kop#380: the end of a session did not look whether all were there now."""
    groups = Groups()
    a, b = groups.settled(groups.member(), groups.member(session_timeout_ms=6_000))
    a.joins()
    groups.passes(6_000)
    assert list(a.listed) == [a.id] and b.beats() == 25


def test_static_members_that_do_not_come_back_stay_until_their_session_ends():
    """They were dropped with the dynamic ones.

    https://issues.apache.org/jira/browse/KAFKA-8220
    """
    groups = Groups()
    a, b, c = groups.settled(
        groups.member("i0", rebalance_timeout_ms=10_000),
        groups.member("i1", rebalance_timeout_ms=10_000),
        groups.member(rebalance_timeout_ms=10_000),
    )
    a.joins(protocols=OTHER_TOPIC)
    groups.passes(10_000)
    assert a.listed == {a.id: OTHER_TOPIC[0][1], b.id: RANGE[0][1]}
    assert (b.beats(), b.beats(generation=3), c.beats()) == (22, 0, 25)


def test_a_join_phase_in_which_only_static_members_are_missing_and_nobody_waits_goes_on():
    groups = Groups()
    a, b = groups.settled(
        groups.member("i0", rebalance_timeout_ms=10_000, session_timeout_ms=60_000),
        groups.member(rebalance_timeout_ms=10_000),
    )
    b.leaves()
    groups.passes(10_000)
    assert groups.state is State.PREPARING_REBALANCE
    assert groups.timers[timers.rebalance(GROUP)] == groups.now_ms + 10_000
    a.joins()
    assert a.joined.generation == 3


def test_a_group_whose_static_members_all_fell_silent_is_empty_in_the_end():
    groups = Groups()
    groups.settled(groups.member("i0", session_timeout_ms=45_000), groups.member("i1", session_timeout_ms=45_000))
    groups.member().joins()
    groups.passes(120_000)
    assert groups.state is State.COMPLETING_REBALANCE or groups.state is State.EMPTY
    groups.passes(120_000)
    assert groups.state is State.EMPTY


def test_one_join_phase_takes_every_newcomer():
    """aiokafka#1176: 84 members that start within seconds need few generations."""
    groups = Groups(initial_rebalance_delay_ms=DELAY_MS)
    people = groups.members(84)
    for each in people:
        each.joins()
        groups.passes(119)
    groups.passes(60_000)
    for each in people:
        each.joins()
    assert {each.generation for each in people} <= {1, 2, 3}


# Leader and protocol


def test_the_first_of_those_who_came_back_leads_when_the_leader_did_not():
    groups = Groups()
    a, b, c = groups.settled(*groups.members(3, rebalance_timeout_ms=10_000))
    b.joins(protocols=OTHER_TOPIC)
    c.joins()
    groups.passes(10_000)
    assert b.leads and list(b.listed) == [b.id, c.id] and a.beats() == 25


def test_the_group_takes_the_protocol_that_most_members_put_first():
    groups = Groups()
    one = groups.member(protocols=protocols("range", "sticky"))
    two = [groups.member(protocols=protocols("sticky", "range")) for _ in range(2)]
    people = groups.gathered(one, *two)
    assert {each.joined.protocol_name for each in people} == {"sticky"}


def test_members_without_the_protocol_of_a_former_round_make_the_group_choose_anew():
    groups = Groups()
    a, b = groups.settled(*groups.members(2, protocols=protocols("range", "sticky")))
    assert a.joined.protocol_name == "range"
    b.joins(protocols=protocols("sticky"))
    a.joins()
    assert a.joined.protocol_name == b.joined.protocol_name == "sticky"


# Becoming empty


def test_the_last_leave_uses_up_a_generation():
    """So that a member that was cut off cannot come back into the next one."""
    groups = Groups()
    (a,) = groups.settled(groups.member())
    a.leaves()
    assert (groups.state, groups.generation) == (State.EMPTY, 2)
    b = groups.member()
    b.joins()
    assert b.generation == 3


def test_an_empty_group_keeps_its_protocol_type_and_takes_that_of_its_next_first_member():
    groups = Groups()
    (a,) = groups.settled(groups.member())
    a.leaves()
    described = groups.described()
    assert (described.state, described.protocol_type, described.protocol_name) == ("Empty", "consumer", "")
    groups.member(protocol_type="connect").joins()
    assert groups.described().protocol_type == "connect"


def test_a_group_that_lost_its_last_member_waits_for_a_pending_id_and_no_longer():
    groups = Groups()
    (a,) = groups.settled(groups.member())
    b = groups.member()
    b.takes_id()
    a.leaves()
    assert groups.state is State.PREPARING_REBALANCE
    groups.passes(0)
    assert groups.state is State.EMPTY
    b.joins()
    assert b.generation == 3


# Members that never sync (KAFKA-12890)


def test_a_member_that_beats_and_never_syncs_is_removed_at_the_rebalance_timeout():
    groups = Groups()
    a, b = groups.gathered(*groups.members(2, rebalance_timeout_ms=10_000))
    a.syncs({a: assignment("t", 0)})
    for _ in range(4):
        groups.passes(2_400)
        assert (a.beats(), b.beats()) == (0, 0)
    groups.passes(400)
    assert (a.beats(), b.beats()) == (27, 25)
    assert groups.heard(RebalanceStarted)[-1].cause.detail["phase"] == "syncing"


def test_a_leader_that_never_syncs_is_removed_and_the_followers_are_sent_back():
    """K11: a leader that went between Join and Sync left its followers hanging."""
    groups = Groups()
    a, b, c = groups.gathered(*groups.members(3, rebalance_timeout_ms=10_000))
    asked = [b.syncs(), c.syncs()]
    groups.passes(10_000)
    assert [each.code for each in asked] == [27, 27]
    assert a.beats() == 25
    b.joins()
    c.joins()
    assert b.generation == c.generation == 3 and b.leads


def test_when_nobody_syncs_the_group_is_empty_and_every_late_one_is_told_of():
    groups = Groups()
    people = groups.gathered(*groups.members(3, rebalance_timeout_ms=10_000, session_timeout_ms=60_000))
    groups.passes(10_000)
    assert groups.state is State.EMPTY
    assert {what.member_id for what in groups.heard(MemberChange) if what.kind == "member_expired"} == {
        each.id for each in people
    }
    done = groups.heard(RebalanceCompleted)[-1]
    assert (done.outcome, len(done.also)) == ("empty", 2)


def test_the_timer_for_silent_members_goes_when_all_have_synced():
    groups = Groups()
    a, b = groups.gathered(*groups.members(2))
    a.syncs({a: b"", b: b""})
    assert timers.sync(GROUP) in groups.timers
    b.syncs()
    assert timers.sync(GROUP) not in groups.timers


# Generations are durable before they are given (K15)


def test_a_generation_is_given_only_after_it_is_durable_as_given():
    """K15: after a move generations began at 1 again."""
    groups = Groups()
    groups.journal.held = True
    a = groups.member(version=3)
    assert a.joins().waits
    groups.writes()
    assert a.joined.generation == 1
    assert groups.journal.written == [(GROUP, GenerationReserved(1))]


@pytest.mark.parametrize("synced", [False, True])
def test_no_generation_is_given_twice_over_a_restart(synced):
    groups = Groups()
    a, b = groups.gathered(*groups.members(2))
    if synced:
        a.syncs({a: b"", b: b""})
    groups.restarts()
    c = groups.member(version=3)
    c.joins()
    if synced:  # otherwise nobody was a member of anything durable
        a.joins()
        b.joins()
    assert c.generation == 3


def test_a_generation_whose_round_was_cut_short_by_a_crash_is_not_given_again():
    groups = Groups()
    (a,) = groups.settled(groups.member())
    a.joins(protocols=OTHER_TOPIC)
    assert a.generation == 2  # given, and the group never became Stable with it
    groups.restarts()
    assert groups.generation == 1
    assert a.beats() == 22
    a.joins(protocols=OTHER_TOPIC)
    assert a.generation == 3


def test_when_the_number_cannot_be_made_durable_those_who_wait_are_told_to_try_again():
    groups = Groups()
    groups.journal.full = True
    a = groups.member()
    assert a.joins().code == 15
    assert groups.state is State.PREPARING_REBALANCE
    groups.journal.full = False
    a.joins()
    assert a.generation == 1


def test_a_failed_number_before_the_end_of_the_join_phase_sends_nobody_back():
    groups = Groups()
    (a,) = groups.settled(groups.member())
    groups.journal.held = True
    b = groups.member()
    b.joins()
    groups.fails()
    assert b.last_join.waits
    groups.journal.held = False
    a.joins()
    assert a.generation == b.generation == 2


def test_a_member_that_beats_and_never_comes_back_after_a_failed_number_is_dropped_in_time():
    """The time of the join phase runs again; otherwise the others would wait for it for ever."""
    groups = Groups()
    groups.journal.full = True
    a, b = groups.members(2, rebalance_timeout_ms=10_000)
    a.joins()
    b.joins()
    a.joins()
    assert a.last_join.code == b.last_join.code == 15
    groups.journal.full = False
    a.joins()
    for _ in range(4):
        groups.passes(2_000)
        assert b.beats(generation=0) == 27
    groups.passes(2_000)
    assert list(a.listed) == [a.id]
    assert b.beats(generation=1) == 25


def test_a_number_that_fails_after_a_later_one_is_on_its_way_disturbs_nobody():
    groups = Groups()
    (a,) = groups.settled(groups.member())
    groups.journal.held = True
    a.joins()  # generation 2 is on its way, and the phase waits for it
    groups.leaves((a.id, None))  # Empty takes 2
    b = groups.member()
    b.joins()  # and 3 is on its way
    numbers = [row.record for row in groups.journal.waiting]
    assert numbers[0] == GenerationReserved(2)
    assert isinstance(numbers[1], GroupEmpty) and numbers[2] == GenerationReserved(3)
    groups.fails(1)
    assert b.last_join.waits
    groups.writes(2)
    assert b.joined.generation == 3


def test_who_comes_while_the_number_is_written_is_in_the_generation():
    groups = Groups()
    groups.journal.held = True
    a, b = groups.members(2, version=3)
    a.joins()
    b.joins()
    groups.writes()
    assert a.joined.generation == b.joined.generation == 1
    assert len(a.listed) == 2


def test_a_group_that_everybody_left_while_its_number_was_written_is_empty():
    groups = Groups()
    groups.journal.held = True
    a = groups.member(version=3)
    a.joins()
    groups.leaves((groups.ids[0], None))
    groups.writes()
    assert groups.state is State.EMPTY
    groups.settle()
    assert groups.state is State.EMPTY


# What people are told


def test_a_rebalance_is_told_from_its_cause_to_its_outcome():
    groups = Groups()
    a, b = groups.settled(*groups.members(2))
    groups.announced.clear()
    b.joins(protocols=OTHER_TOPIC)
    groups.passes(1_000)
    a.joins()
    groups.passes(500)
    a.syncs({a: assignment("t", 0), b: assignment("u", 0)})
    b.syncs()
    (started,) = groups.heard(RebalanceStarted)
    assert started.cause.kind == "subscription_changed"
    (done,) = groups.heard(RebalanceCompleted)
    assert (done.outcome, done.generation_before, done.generation_after) == ("stable", 2, 3)
    assert done.phases == (("joining", 1_000), ("syncing", 500))
    assert done.before == {a.id: assignment("t", 0), b.id: assignment("t", 1)}
    assert done.after == {a.id: assignment("t", 0), b.id: assignment("u", 0)}
    assert [(what.before, what.after) for what in groups.heard(StateChanged)] == [
        ("Stable", "PreparingRebalance"),
        ("PreparingRebalance", "CompletingRebalance"),
        ("CompletingRebalance", "Stable"),
    ]


def test_a_rebalance_that_is_overtaken_keeps_the_assignments_from_before_it():
    groups = Groups()
    a, b = groups.settled(*groups.members(2))
    b.joins(protocols=OTHER_TOPIC)
    a.joins()  # Completing
    groups.announced.clear()
    b.leaves()
    (superseded,) = groups.heard(RebalanceCompleted)
    assert (superseded.outcome, superseded.after) == ("superseded", {})
    assert groups.classic().rebalance.before == {a.id: assignment("t", 0), b.id: assignment("t", 1)}


def test_the_second_cause_is_told_beside_the_first():
    groups = Groups()
    a, b, c = groups.settled(*groups.members(3))
    b.leaves()
    c.leaves()
    a.joins()
    rebalance = groups.classic().rebalance
    assert rebalance.cause.kind == "member_left" and rebalance.cause.member_id == b.id
    assert [(cause.kind, cause.member_id) for cause in rebalance.also] == [("member_left", c.id)]


def test_causes_are_values():
    assert Cause(kind="member_left") == Cause(kind="member_left", detail={})


def test_what_is_stored_of_a_generation_is_its_members_and_their_assignments():
    groups = Groups()
    a, b = groups.settled(*groups.members(2))
    stable = groups.journal.written[-1][1]
    assert isinstance(stable, GroupStable)
    assert {m.member_id: m.assignment for m in stable.members} == {
        a.id: assignment("t", 0),
        b.id: assignment("t", 1),
    }
