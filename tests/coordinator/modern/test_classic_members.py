"""Members of the classic protocol in a consumer group: Heartbeat, SyncGroup, and the time that they have."""

from __future__ import annotations

import pytest

from tests.support.mixed import Mixed, settle


@pytest.fixture
def both():
    return Mixed(orders=2)


@pytest.fixture
def m(both):
    one = both.consumer("orders")
    one.joins()
    return one


@pytest.fixture
def k(both, m):
    """A classic member beside a reader, each with its share."""
    one = both.classic_reader("orders", session_timeout_ms=20_000, rebalance_timeout_ms=15_000)
    one.rejoins()
    settle(m)
    one.rejoins()
    assert both.seen == ("Stable", 2, 2)
    return one


def test_a_heartbeat_is_checked_like_in_a_classic_group(both, m, k):
    assert [k.beats(generation=g) for g in (1, 3)] == [22, 22]
    assert [k.beats(member_id=i) for i in ("who", m.id)] == [25, 25]
    assert k.beats(instance_id="i") == 25
    assert k.beats() == 0


def test_a_sync_is_checked_like_in_a_classic_group(both, m, k):
    assert k.syncs(generation=1).code == 22
    assert [k.syncs(protocol_name="roundrobin").code, k.syncs(protocol_type="connect").code] == [23, 23]
    assert [k.syncs(member_id=i).code for i in ("who", m.id)] == [25, 25]
    assert k.syncs(protocol_missing=True).code == 23
    asked = k.syncs(protocol_name="range", protocol_type="consumer")
    assert (asked.code, asked.answer.protocol_type, asked.answer.protocol_name) == (0, "consumer", "range")
    assert k.beats() == 0 and m.sends().answer.assignment is None


def test_a_share_comes_in_the_version_of_the_subscription_and_can_be_read_when_it_is_empty(both, m):
    k = both.classic_reader("orders")
    k.joins()
    assert k.syncs().answer.assignment == b"\0\2" + b"\0\0\0\0" + b"\xff\xff\xff\xff"


def test_one_behind_the_group_that_syncs_without_joining_is_told_to_join(both, m, k):
    both.consumer("orders").joins()
    assert k.syncs().code == 27 and k.beats() == 27


def test_one_that_waits_for_others_is_left_alone_until_they_let_go(both, m):
    k = both.classic_reader("orders")
    k.rejoins()
    assert (k.beats(), k.beats()) == (0, 0)
    m.beats()
    assert k.beats() == 0  # the reader was told, and may still hold it
    m.acks()
    assert k.beats() == 27


# Time


def test_the_time_to_join_again_begins_at_the_first_27_and_no_heartbeat_extends_it(both, m, k):
    n = both.consumer("orders")
    n.joins()
    for _ in range(3):
        assert k.beats() == 27
        both.passes(4_000)
        m.acks()
        n.acks()
    both.passes(2_999)
    assert k.beats() == 27
    both.passes(1)
    assert k.beats() == 25 and k.id not in both.modern.members
    cause = both.modern.rebalance.also[-1]
    assert (cause.kind, cause.member_id, cause.detail["phase"]) == ("rebalance_timeout", k.id, "joining")


def test_joining_in_time_ends_it(both, m, k):
    both.consumer("orders").joins()
    assert k.beats() == 27
    k.rejoins()
    both.passes(10_000)
    m.acks()
    assert k.beats() in (0, 27)
    assert ("resync", "group", k.id) not in both.timers


def test_one_that_joins_and_does_not_sync_is_removed(both, m):
    k = both.classic_reader("orders", session_timeout_ms=20_000, rebalance_timeout_ms=15_000)
    k.joins()
    both.passes(14_999)
    assert k.beats() == 0
    m.acks()
    both.passes(1)
    m.acks()
    assert (k.beats(), m.held) == (25, {"orders": (0, 1)})


def test_a_silent_one_is_removed_when_its_own_session_ends(both, m, k):
    both.passes(19_999)
    m.acks()
    assert k.id in both.modern.members
    both.passes(1)
    m.acks()
    assert (k.beats(), m.epoch, both.seen) == (25, 3, ("Stable", 3, 3))


def test_a_restart_gives_it_its_own_session_again(both, m, k):
    both.restarts()
    both.passes(19_999)
    assert k.id in both.modern.members
    both.passes(1)
    assert k.id not in both.modern.members


# Leaving and committing


def test_what_a_classic_leaver_held_goes_to_others(both, m, k):
    assert k.leaves() == 0
    m.acks()
    assert (m.epoch, m.held, k.beats(), both.seen) == (3, {"orders": (0, 1)}, 25, ("Stable", 3, 3))
    assert not [key for key in both.timers if k.id in key]


def test_commits_are_checked_by_the_kind_of_member(both, m, k):
    settle(m)
    assert k.commits(4, topic="orders", modern=False).code == k.commits(5, topic="orders").code == 0
    assert [k.commits(9, topic="orders", generation=g).code for g in (1, 3)] == [22, 22]
    assert both.commits({("orders", 0): 9}, member_id=m.id, generation=1).code in (0, 113)
    assert both.commits({("orders", 0): 9}, member_id=m.id, generation=2, modern=False).code == 35
    assert both.commits({("orders", 0): 9}).code == 25


# Durable


def test_a_share_is_handed_out_when_it_is_durable(both, m, k):
    k.topics, k.held = (), {}
    both.journal.held = True
    assert k.joins().waits
    held = both.modern.members[k.id]
    assert held.epoch == 3 and k.syncs(generation=3).waits
    both.journal.held = False
    both.settle()
    assert k.last_join.code == k.last_sync.code == 0
