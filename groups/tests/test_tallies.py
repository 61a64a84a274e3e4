"""groups.tallies."""

from __future__ import annotations

import pytest

from groups.tallies import BOUNDS_S, Tallies
from groups.testing.feed import rebalance_record
from kaas.feed.types import Event


def event(kind, at=1_000, **more):
    return Event(kind=kind, cluster="local", group_id="g", at=at, coordinator=1, coordinator_epoch=1, version=1, **more)


@pytest.mark.parametrize(("took_ms", "place"), [(0, 0), (50, 0), (51, 1), (300_000, 10), (300_001, 11)])
def test_a_rebalance_is_counted_by_cause_and_by_how_long_it_took(took_ms, place):
    tallies = Tallies()
    tallies.note(event("rebalance_completed", rebalance=rebalance_record(duration_ms=took_ms)), 1_000)
    assert tallies.rebalances == {"member_joined": 1} and tallies.took_s == took_ms / 1_000
    assert [number for number, count in enumerate(tallies.took) if count] == [place]
    assert len(tallies.took) == len(BOUNDS_S) + 1


def test_commits_that_were_told_together_are_counted_apart():
    tallies = Tallies()
    tallies.note(event("offsets_committed", count=7), 1_000)
    tallies.note(event("offsets_committed"), 1_000)
    assert tallies.commits == 8


def test_it_knows_how_late_the_last_event_came():
    tallies = Tallies()
    assert tallies.delay_s is None
    tallies.note(event("state_changed"), 1_250)
    assert tallies.delay_s == 0.25
    tallies.note(event("state_changed"), 900)  # clocks of two machines differ
    assert tallies.delay_s == 0
