"""Clients of the classic protocol and a consumer group."""

from __future__ import annotations

from tests.support.consumers import Consumers


def test_a_consumer_group_that_nobody_is_in_is_classic_for_who_joins_it():
    consumers = Consumers(t=1)
    a = consumers.joined("t")
    assert a.commits(5) == 0
    a.leaves()
    (new,) = consumers.settled_classic()
    assert (new.generation, consumers.committed()) == (1, {("t", 0): 5})
    assert consumers.listed()["group"].type == "classic"
    consumers.restarts()
    assert new.beats() == 0


def test_classic_requests_of_strangers_are_refused():
    consumers = Consumers(t=1)
    consumers.joined("t")
    stranger = consumers.member()
    stranger.id, stranger.generation = "who", 1
    assert (stranger.beats(), stranger.syncs().code, stranger.leaves()) == (25, 25, 25)
