"""A classic group that nobody is in becomes one of consumers for who joins it."""

from __future__ import annotations

from tests.support.consumers import Consumers


def test_an_empty_classic_group_is_converted_and_keeps_its_offsets():
    consumers = Consumers(t=1)
    (old,) = consumers.settled_classic()
    assert old.commits(5).code == 0
    old.leaves()
    a = consumers.joined("t")
    assert (a.epoch, a.held, consumers.seen) == (1, {"t": (0,)}, ("Stable", 1, 1))
    assert consumers.committed() == {("t", 0): 5}
    assert consumers.listed()["group"].type == "consumer"


def test_a_simple_group_is_converted():
    consumers = Consumers(t=1)
    consumers.commits({("t", 0): 5})
    assert consumers.joined("t").epoch == 1
    assert consumers.committed() == {("t", 0): 5}


def test_a_fault_leaves_the_group_classic():
    consumers = Consumers(t=1)
    consumers.commits({("t", 0): 5})
    assert consumers.consumer("t").joins(regex="(") == 128
    assert consumers.core.groups["group"].modern is None


def test_only_a_first_heartbeat_asks_for_it():
    consumers = Consumers(t=1)
    consumers.commits({("t", 0): 5})
    assert consumers.consumer("t").beats(epoch=1) == 69
    assert consumers.consumer("t").leaves() == 69


def test_a_conversion_survives_a_restart():
    consumers = Consumers(t=1)
    (old,) = consumers.settled_classic()
    old.leaves()
    a = consumers.joined("t")
    consumers.restarts()
    assert (a.beats(), consumers.seen) == (0, ("Stable", 1, 1))
