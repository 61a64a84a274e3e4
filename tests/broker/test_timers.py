"""Many timers on one callback of the loop."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaas.broker import timers as module
from kaas.broker.timers import Timers
from tests.support.held import HeldClock, HeldLoop
from tests.support.laws import law

A, B = ("session", "g", "a"), ("session", "g", "b")


class World:
    """Timers, the loop they run on, and what has expired: (time, key)."""

    def __init__(self):
        self.clock = HeldClock(0)
        self.loop = HeldLoop(self.clock)
        self.expired = []
        self.timers = Timers(self.loop, self.clock, lambda key: self.expired.append((self.clock.time_ms, key)))


@pytest.fixture
def world():
    return World()


def test_a_timer_expires_once_at_its_deadline(world):
    world.timers.set(A, 100)
    world.loop.passes(99)
    assert world.expired == []
    world.loop.passes(1_000)
    assert world.expired == [(100, A)] and len(world.timers) == 0


def test_timers_expire_in_the_order_of_their_deadlines(world):
    world.timers.set(A, 300)
    world.timers.set(B, 100)
    world.loop.passes(500)
    assert world.expired == [(100, B), (300, A)]


def test_a_timer_that_is_set_again_waits_for_the_new_deadline(world):
    world.timers.set(A, 100)
    world.timers.set(A, 250)
    world.loop.passes(500)
    assert world.expired == [(250, A)]


def test_a_timer_may_be_set_to_an_earlier_deadline(world):
    world.timers.set(A, 250)
    world.timers.set(A, 100)
    world.loop.passes(500)
    assert world.expired == [(100, A)]


def test_a_deadline_that_has_passed_is_due_at_once(world):
    world.clock.time_ms = 1_000
    world.timers.set(A, 10)
    world.loop.passes(0)
    assert world.expired == [(1_000, A)]


def test_a_cancelled_timer_does_not_expire_and_may_be_set_again(world):
    world.timers.set(A, 100)
    world.timers.cancel(A)
    world.timers.cancel(B)
    world.loop.passes(200)
    assert world.expired == []
    world.timers.set(A, 300)
    world.loop.passes(200)
    assert world.expired == [(300, A)]


def test_setting_a_timer_later_and_later_costs_the_loop_nothing(world):
    for at_ms in range(1_000, 2_000):
        world.timers.set(A, at_ms)
    assert len(world.loop.handles) == 1


def test_a_timer_may_be_set_by_an_expiry(world):
    world.timers = Timers(world.loop, world.clock, lambda key: again(key))

    def again(key):
        world.expired.append((world.clock.time_ms, key))
        if len(world.expired) < 3:
            world.timers.set(key, world.clock.time_ms + 100)

    world.timers.set(A, 100)
    world.loop.passes(1_000)
    assert world.expired == [(100, A), (200, A), (300, A)]


def test_timers_that_were_cancelled_leave_when_they_outnumber_the_living(world, monkeypatch):
    monkeypatch.setattr(module, "TIDY_AT", 10)
    for n in range(100):
        world.timers.set(("session", "g", str(n)), 1_000 + n)
        world.timers.cancel(("session", "g", str(n)))
    world.timers.set(A, 5_000)
    assert len(world.timers._heap) <= 12
    world.loop.passes(10_000)
    assert world.expired == [(5_000, A)]


def test_nothing_expires_after_a_stop(world):
    world.timers.set(A, 100)
    world.timers.stop()
    world.loop.passes(1_000)
    assert world.expired == [] and len(world.timers) == 0


steps = st.lists(
    st.tuples(st.sampled_from(["set", "cancel", "pass"]), st.integers(0, 4), st.integers(0, 50)), max_size=60
)


@given(steps)
@law
def test_a_timer_expires_when_its_last_deadline_is_reached_and_never_else(steps):
    world, deadlines, expected = World(), {}, []
    for what, number, ms in steps:
        key = ("session", "g", str(number))
        if what == "set":
            deadlines[key] = world.clock.time_ms + ms + 1
            world.timers.set(key, deadlines[key])
        elif what == "cancel":
            deadlines.pop(key, None)
            world.timers.cancel(key)
        else:
            due = [(at, key) for key, at in deadlines.items() if at <= world.clock.time_ms + ms]
            expected += sorted(due)
            for _, gone in due:
                del deadlines[gone]
            world.loop.passes(ms)
        assert sorted(world.expired) == sorted(expected) and len(world.timers) == len(deadlines)
    assert [at for at, _ in world.expired] == sorted(at for at, _ in world.expired)
