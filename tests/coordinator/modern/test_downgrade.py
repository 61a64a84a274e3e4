"""A consumer group becomes a classic group when its last member under KIP-848 is gone."""

from __future__ import annotations

import pytest

from kaas.coordinator.announcements import RebalanceCompleted, RebalanceStarted
from kaas.coordinator.classic.states import State
from kaas.coordinator.config import MigrationPolicy
from tests.support.mixed import Mixed, settle, share_of


def mixed(**config):
    """Two classic members, the first of which knows the newest epoch, and one under KIP-848."""
    both = Mixed(orders=2, config=config)
    k, late = both.classic_reader("orders"), both.classic_reader("orders")
    both.stable(k, {"orders": (0, 1)}, late, {})
    m = both.consumer("orders")
    m.joins()
    k.held = {}
    k.rejoins()
    assert (k.generation, late.generation, both.seen[1:]) == (3, 2, (3, 3))
    return both, k, late, m


def leaves(both, m):
    m.leaves()


def is_removed(both, m):
    both.leaves((m.id, None))


def falls_silent(both, m):
    both.passes(1)
    both.timers[("session", "group", m.id)] = both.now_ms
    both.passes(0)


@pytest.mark.parametrize("ends", [leaves, is_removed, falls_silent])
def test_it_works(ends):
    """A group whose last modern member left, or was removed, stayed a consumer group.

    https://issues.apache.org/jira/browse/KAFKA-18150
    """
    both, k, late, m = mixed()
    both.commits({("orders", 0): 7}, member_id=m.id, generation=3)
    ends(both, m)
    assert both.kind == ("PreparingRebalance", "classic")
    assert (k.beats(), late.beats()) == (27, 22)  # the generation is the epoch that the group had
    k.joins()
    late.joins()
    assert k.joined.generation == late.joined.generation == 4
    leader, follower = (k, late) if k.leads else (late, k)
    leader.syncs({k: share_of({"orders": (0,)}), late: share_of({"orders": (1,)})})
    follower.syncs()
    assert (k.held, late.held) == ({"orders": (0,)}, {"orders": (1,)})
    assert (both.kind, both.committed()) == (("Stable", "classic"), {("orders", 0): 7})
    assert m.beats() == 69


def test_one_who_lets_nothing_go_in_time_goes_and_the_group_is_classic():
    both = Mixed(orders=2)
    m = both.consumer("orders", rebalance_timeout_ms=5_000)
    m.joins()
    k = both.classic_reader("orders")
    k.rejoins()
    m.beats()
    both.passes(5_000)
    assert both.kind == ("PreparingRebalance", "classic") and k.beats() == 27


def test_the_feed_hears_the_end_of_one_rebalance_and_the_beginning_of_the_other():
    both, _, _, m = mixed()
    m.leaves()
    assert both.heard(RebalanceCompleted)[-1].outcome == "superseded"
    begun = both.heard(RebalanceStarted)[-1]
    assert (begun.cause.kind, begun.cause.member_id) == ("member_left", m.id)


@pytest.mark.parametrize("policy", MigrationPolicy)
def test_the_settings_have_the_last_word(policy):
    both = Mixed(orders=2, config={"consumer_migration_policy": policy})
    m = both.consumer("orders")
    m.joins()
    k = both.classic_reader("orders")
    k.rejoins()
    m.leaves()
    assert both.kind[1] == ("classic" if policy.downgrades else "consumer")
    k.rejoins()
    if not policy.downgrades:
        assert (k.held, k.generation) == ({"orders": (0, 1)}, 3)


def test_a_group_too_large_for_a_classic_one_stays_a_consumer_group():
    both = Mixed(orders=2, config={"max_size": 1})
    m = both.consumer("orders")
    m.joins()
    for _ in range(2):
        both.classic_reader("orders").rejoins()
    m.leaves()
    assert both.kind[1] == "consumer"


def test_the_last_of_all_leaves_an_empty_consumer_group():
    both, k, late, m = mixed()
    both.leaves((k.id, None), (late.id, None), (m.id, None))
    assert both.kind == ("Empty", "consumer")


def test_all_who_are_removed_with_the_last_one_are_told_as_causes():
    both = Mixed(orders=2)
    m, k, other = both.consumer("orders"), both.classic_reader("orders"), both.classic_reader("orders")
    m.joins()
    k.rejoins()
    other.rejoins()
    both.leaves((m.id, None), (k.id, None))
    rebalance = both.classic().rebalance
    assert (rebalance.cause.member_id, [cause.member_id for cause in rebalance.also]) == (m.id, [k.id])


def test_a_classic_member_that_goes_leaves_the_group_as_it_is():
    both, k, late, m = mixed()
    k.leaves()
    late.leaves()
    assert both.kind[1] == "consumer" and list(both.modern.members) == [m.id]


def test_a_static_member_that_goes_for_a_while_keeps_the_group():
    both = Mixed(orders=2)
    m = both.consumer("orders", instance_id="i")
    m.joins()
    k = both.classic_reader("orders")
    k.rejoins()
    m.leaves(-2)
    assert both.kind[1] == "consumer"


def test_no_timer_of_the_other_protocol_is_left():
    both, k, late, m = mixed()
    assert late.beats() == 27
    m.leaves()
    assert {key[0] for key in both.timers if key[-1] in (k.id, late.id)} == {"session"}


def test_what_members_hold_is_what_they_have_when_it_becomes_a_consumer_group_again():
    """One of them has not heard yet that it was to give something up: it has it still, whatever the target was."""
    both = Mixed(orders=4)
    k = both.classic_reader("orders")
    both.stable(k, {"orders": (0, 1, 2, 3)})
    m = both.consumer("orders")
    m.joins()
    m.leaves()
    again = both.consumer("orders")
    again.joins()
    assert (again.held, k.held) == ({}, {"orders": (0, 1, 2, 3)})
    both.restarts()
    again.acks()
    assert again.held == {}


# Durable


def test_the_answer_waits_for_the_disk_and_a_restart_brings_the_classic_group_back():
    both, k, late, m = mixed()
    both.journal.held = True
    asked = m.sends(epoch=-1)
    assert asked.waits
    both.writes()
    assert asked.code == 0
    both.journal.held = False
    both.restarts()
    assert (both.kind, both.generation) == (("PreparingRebalance", "classic"), 3)
    assert (k.beats(), late.beats()) == (27, 22)
    k.joins()
    late.joins()
    assert k.joined.generation == late.joined.generation == 4


def test_a_restart_before_it_is_durable_leaves_the_consumer_group():
    both, k, late, m = mixed()
    both.journal.held = True
    m.sends(epoch=-1)
    both.restarts()
    assert (both.seen, k.beats(), late.beats()) == (("Reconciling", 3, 3), 0, 27)
    both.journal.held = False
    assert m.beats(epoch=3) == 0


def test_a_disk_that_refuses_it_is_told_and_the_next_generation_holds_the_group():
    both, k, late, m = mixed()
    both.journal.full = True
    assert m.leaves() == 15
    both.journal.full = False
    k.joins()
    late.joins()
    assert k.joined.generation == late.joined.generation
    leader = k if k.leads else late
    leader.syncs({})
    assert both.classic_state is State.STABLE
    both.restarts()
    assert both.kind == ("Stable", "classic")


def test_back_and_forth_loses_nothing():
    both, k, late, m = mixed()
    both.commits({("orders", 0): 7}, member_id=m.id, generation=3)
    both.journal.held = True
    m.sends(epoch=-1)
    again = both.consumer("orders")
    again.sends(**again.first())
    both.journal.held = False
    both.settle()
    assert again.epoch == both.modern.epoch == 4
    both.restarts()
    assert (sorted(both.modern.members), both.committed()) == (sorted([k.id, late.id, again.id]), {("orders", 0): 7})
    settle(again)


def test_generations_of_changes_that_were_all_refused_are_not_taken_for_durable():
    """Else one of them would be given out again after a restart."""
    both, _, _, m = mixed()

    def reserved() -> tuple[int, int]:
        group = both.core.groups["group"]
        return group.reserved, group.classic.reserved

    before = reserved()
    both.journal.held = True
    m.sends(epoch=-1)
    for _ in range(2):
        again = both.consumer("orders")
        again.sends(**again.first())
        again.sends(epoch=-1)
    both.journal.full = True
    both.journal.held = False
    both.settle()
    assert reserved() == before
    both.journal.full = False
    both.restarts()
    assert reserved() == before
