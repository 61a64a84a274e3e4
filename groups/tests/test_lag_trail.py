"""groups.lag.trail."""

from __future__ import annotations

from array import array

from hypothesis import given
from hypothesis import strategies as st

from groups.lag.trail import Trail

VALUES = st.lists(st.integers(min_value=0, max_value=3), max_size=2)


@given(st.lists(VALUES, min_size=1, max_size=20), st.integers(min_value=1, max_value=8))
def test_it_tells_every_tick_of_the_window(noted, window):
    trail = Trail()
    arrays = [array("q", values) for values in noted]
    for at, values in enumerate(arrays):
        trail.note(at, values, since=at - window)
        for moment in range(max(0, at - window), at + 1):
            assert trail.at(moment) == arrays[moment]
    assert trail.at(-1) is None or len(noted) > window


@given(st.lists(VALUES, min_size=1, max_size=50), st.integers(min_value=1, max_value=8))
def test_it_never_holds_more_than_the_window(noted, window):
    trail = Trail()
    for at, values in enumerate(noted):
        trail.note(at, array("q", values), since=at - window)
        assert len(trail._notes) <= window + 1


def test_what_stands_still_costs_one_entry():
    trail, values = Trail(), array("q", [1, 2])
    for at in range(100):
        trail.note(at, values if at % 2 else array("q", values), since=at - 10)
    assert len(trail._notes) == 1 and trail.at(95) == values


def test_several_ticks_are_told_at_once():
    trail, first, second = Trail(), array("q", [1]), array("q", [2])
    trail.note(10, first, since=0)
    trail.note(20, second, since=0)
    assert trail.over([5, 10, 15, 20, 25]) == [None, first, first, second, second]
