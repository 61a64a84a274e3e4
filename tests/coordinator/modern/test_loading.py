"""A consumer group after a restart: nobody rebalances, and all times begin anew."""

from __future__ import annotations

from kaas.coordinator.announcements import RebalanceCompleted
from tests.support.consumers import Consumers, by_id


def test_members_go_on_with_the_epochs_that_they_had():
    consumers = Consumers(t=2)
    a, b = consumers.settled(2, "t")
    consumers.restarts()
    assert consumers.seen == ("Stable", 2, 2)
    assert [(m.beats(), m.epoch, m.told) for m in (a, b)] == [(0, 2, False), (0, 2, False)]


def test_sessions_are_full_again():
    consumers = Consumers(t=2, config={"consumer_session_timeout_ms": 4_000})
    a = consumers.joined("t")
    consumers.passes(3_000)
    consumers.restarts()
    consumers.passes(3_999)
    assert a.beats() == 0
    consumers.passes(4_000)
    assert consumers.seen[0] == "Empty"


def test_who_is_to_let_go_has_all_of_its_time_again():
    consumers = Consumers(t=2)
    a, b = consumers.joined("t", rebalance_timeout_ms=1_500), consumers.joined("t")
    a.beats()
    consumers.passes(1_000)
    consumers.restarts()
    consumers.passes(1_000)
    assert (a.beats(), b.beats(), b.held) == (0, 0, {})
    consumers.passes(500)
    assert (a.beats(), b.beats(), b.held) == (25, 0, {"t": (0, 1)})


def test_the_next_rebalance_begins_with_what_was_held():
    consumers = Consumers(t=2)
    a = consumers.joined("t")
    consumers.restarts()
    b = consumers.joined("t")
    consumers.reconcile(a, b)
    done = consumers.heard(RebalanceCompleted)[-1]
    assert (done.before, done.generation_before) == ({a.id: by_id({"t": (0, 1)})}, 1)


def test_a_pattern_stays_matched():
    consumers = Consumers(t1=1)
    a = consumers.joined(regex="t.")
    consumers.matches("t.", "t1")
    a.beats()
    consumers.restarts()
    assert (a.beats(), a.epoch, consumers.seen) == (0, 2, ("Stable", 2, 2))
