"""Two clocks in one: one that never jumps, and the distance to the one that may."""

import time

import pytest

from kaas.broker.clock import JUMP_MS, Clock


@pytest.fixture
def machine(monkeypatch):
    """The machine's clocks: nanoseconds, by name."""
    now = {"monotonic": 5_000_000_000, "wall": 1_700_000_000_000_000_000}
    monkeypatch.setattr(time, "monotonic_ns", lambda: now["monotonic"])
    monkeypatch.setattr(time, "time_ns", lambda: now["wall"])
    return now


def passes(machine, ms):
    machine["monotonic"] += ms * 1_000_000
    machine["wall"] += ms * 1_000_000


def test_it_tells_monotonic_and_wall_time(machine):
    clock = Clock()
    assert (clock.now_ms(), clock.wall_ms()) == (5_000, 1_700_000_000_000)
    passes(machine, 250)
    assert (clock.now_ms(), clock.wall_ms()) == (5_250, 1_700_000_000_250)


def test_time_that_passes_is_no_jump(machine):
    clock = Clock()
    passes(machine, 10_000)
    assert not clock.jumped()


@pytest.mark.parametrize("by_ms", [-3_600_000, 3_600_000, JUMP_MS, -JUMP_MS])
def test_a_clock_that_was_set_is_followed_and_told_once(machine, by_ms):
    clock = Clock()
    machine["wall"] += by_ms * 1_000_000
    assert clock.wall_ms() == 1_700_000_000_000, "wall time follows when somebody looks, not before"
    assert clock.jumped() and not clock.jumped()
    assert (clock.now_ms(), clock.wall_ms()) == (5_000, 1_700_000_000_000 + by_ms)


def test_a_small_drift_is_left_alone(machine):
    clock = Clock()
    machine["wall"] += (JUMP_MS - 1) * 1_000_000
    assert not clock.jumped()
    assert clock.wall_ms() == 1_700_000_000_000
