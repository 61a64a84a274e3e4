"""Heartbeat: who speaks, of which generation, in which state; and what it does to the session."""

from __future__ import annotations

import pytest

from tests.support.groups import OTHER_TOPIC, Groups


def test_the_group_the_member_and_the_generation_are_checked_in_this_order():
    groups = Groups()
    (a,) = groups.settled(groups.member("i0"))
    assert a.beats(group_id="") == 24
    assert a.beats(group_id="unknown") == 25
    assert a.beats(member_id="who", instance_id="i9", generation=7) == 25
    assert a.beats(member_id="who", generation=7) == 82
    assert a.beats(member_id="who", instance_id=None, generation=7) == 25
    assert [a.beats(generation=generation) for generation in (-1, 0, 2)] == [22, 22, 22]
    assert a.beats() == 0


def test_a_heartbeat_while_groups_are_loaded_is_good():
    """Some clients stop beating for ever after 14.

    https://github.com/platformatic/kafka/issues/376
    """
    groups = Groups()
    (a,) = groups.settled(groups.member())
    groups.starts_loading()
    assert a.beats() == 0
    groups.loads()
    assert a.beats() == 0


def test_a_heartbeat_while_completing_is_good():
    """Clients rejoined in loops.

    https://issues.apache.org/jira/browse/KAFKA-10134
    """
    groups = Groups()
    a, b = groups.gathered(*groups.members(2))
    assert (a.beats(), b.beats(), a.beats(generation=1)) == (0, 0, 22)


def test_a_heartbeat_in_preparing_sends_the_member_back_and_keeps_it_alive():
    groups = Groups()
    a, b = groups.settled(*groups.members(2, session_timeout_ms=6_000))
    b.joins(protocols=OTHER_TOPIC)
    for _ in range(4):
        groups.passes(5_000)
        assert a.beats() == 27


def test_a_member_that_beats_stays_and_one_that_is_silent_goes():
    """kafka-python#2610: a stable member that sends no heartbeats is removed at its session timeout, 25 later."""
    groups = Groups()
    a, b = groups.settled(*groups.members(2, session_timeout_ms=6_000))
    groups.passes(3_000)
    assert b.beats() == 0
    groups.passes(3_000)
    assert (a.beats(), b.beats()) == (25, 27)
    assert a.commits().code == 25


def test_two_members_that_beat_in_time_stay_together():
    """karafka#538: two members joined and left for ever; a member goes by its own timer only."""
    groups = Groups()
    a, b = groups.settled(*groups.members(2, session_timeout_ms=6_000))
    for _ in range(60):
        groups.passes(2_000)
        assert (a.beats(), b.beats()) == (0, 0)
    assert groups.generation == 2


def test_a_refused_heartbeat_does_not_keep_a_member_alive():
    groups = Groups()
    (a,) = groups.settled(groups.member(session_timeout_ms=6_000))
    groups.passes(5_000)
    assert a.beats(generation=9) == 22
    groups.passes(1_000)
    assert a.beats() == 25


@pytest.mark.parametrize("instance", ["i0", ""])
def test_a_static_member_that_leaves_its_instance_out_is_known(instance):
    """The empty string is a real instance id."""
    groups = Groups()
    (a,) = groups.settled(groups.member(instance))
    assert a.beats() == a.beats(instance_id=None) == 0
    assert a.beats(member_id="who") == 82


def test_members_have_a_full_session_after_a_restart():
    groups = Groups()
    a, _ = groups.settled(*groups.members(2, session_timeout_ms=6_000))
    groups.passes(5_900)
    groups.restarts()
    groups.passes(5_900)
    assert a.beats() == 0
