"""groups.lag.window."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groups.choices import LagStatus
from groups.lag.window import (
    NEVER,
    SEVERITY,
    TICK_MS,
    TICKS,
    WINDOW_MS,
    Flow,
    Rewound,
    is_plainly_ok,
    span,
    status_of,
    text_of,
    time_to_clear_ms,
    time_to_clear_text,
    window_ticks,
)

MIN = 60_000


def judged(*lags, read=5, silent_ms=1_000, rewound=None):
    """Status and sentence of a window with these lags."""
    status = status_of(lags, read=read, has_commit=silent_ms <= WINDOW_MS, went_back=rewound is not None)
    return status, text_of(status, lags, committed=100, silent_ms=silent_ms, rewound=rewound)


def test_a_window_has_seven_ticks():
    ticks = window_ticks(1_000_000)
    assert len(ticks) == TICKS == 7 and ticks[-1] == 1_000_000 and ticks[0] == 1_000_000 - WINDOW_MS
    assert {after - before for before, after in pairwise(ticks)} == {TICK_MS}


@pytest.mark.parametrize(
    ("window", "status", "text"),
    [
        (judged(10, 10, 10, 10), "ok", "Offsets move on and the lag does not keep growing."),
        (judged(10, 8, 6, 4), "ok", "Offsets move on and the lag does not keep growing."),
        (judged(10, 12, 14, 22), "warn", "The lag grew from 10 to 22 records in two minutes."),
        (judged(10, 12, 11, 22), "ok", "Offsets move on and the lag does not keep growing."),
        (judged(10, 30, 40, 52, read=0), "stalled", "Commits go on at 100 while 52 records wait."),
        (judged(10, 10, 10, 10, read=0), "stalled", "Commits go on at 100 while 10 records wait."),
        (
            judged(10, 30, 40, 52, read=0, silent_ms=12 * MIN),
            "stopped",
            "Nothing was committed for 12 min while 52 records wait.",
        ),
        (
            judged(0, 0, 0, 0, read=0, silent_ms=12 * MIN),
            "ok",
            "Everything was read at some moment of the last two minutes.",
        ),
        (judged(0, 9, 19, 29, read=0), "ok", "Everything was read at some moment of the last two minutes."),
        (
            judged(0, 0, 0, 0, rewound=Rewound(at=1, before=9, after=4)),
            "rewind",
            "The offset went back from 9 to 4.",
        ),
    ],
)
def test_each_rule_says_itself(window, status, text):
    assert window == (status, text)


LAGS = st.lists(st.integers(0, 6), min_size=TICKS, max_size=TICKS)


@given(LAGS, st.integers(0, 5), st.booleans())
def test_the_short_way_gives_what_the_rules_give(lags, read, has_commit):
    if is_plainly_ok(read=read, lag_before=lags[0], lag_now=lags[-1]):
        assert status_of(lags, read=read, has_commit=has_commit or read > 0, went_back=False) == LagStatus.OK


@given(LAGS, st.integers(0, 5), st.booleans())
def test_a_consumer_without_lag_at_some_tick_is_ok(lags, read, has_commit):
    status = status_of(lags, read=read, has_commit=has_commit, went_back=False)
    assert status in SEVERITY and (status == LagStatus.OK or min(lags) > 0)


@given(LAGS, st.integers(0, 5), st.booleans(), st.booleans())
def test_every_status_has_a_sentence(lags, read, has_commit, went_back):
    status = status_of(lags, read=read, has_commit=has_commit, went_back=went_back)
    rewound = Rewound(at=1, before=5, after=4) if went_back else None
    text = text_of(status, lags, committed=9, silent_ms=5, rewound=rewound)
    assert text.endswith(".") and "None" not in text


@given(LAGS, st.integers(0, 5), st.booleans(), st.integers(1, 3))
def test_more_lag_never_looks_better(lags, read, has_commit, by):
    worse = [*lags[:-1], lags[-1] + by]
    before, after = (status_of(one, read=read, has_commit=has_commit, went_back=False) for one in (lags, worse))
    assert SEVERITY.index(after) >= SEVERITY.index(before)


@given(LAGS, st.booleans())
def test_reading_never_looks_worse(lags, has_commit):
    stuck, moving = (status_of(lags, read=read, has_commit=has_commit, went_back=False) for read in (0, 1))
    assert SEVERITY.index(moving) <= SEVERITY.index(stuck)


@pytest.mark.parametrize(
    ("lag", "flow", "ms", "text"),
    [
        (600, Flow(produced=100, consumed=700, over_ms=120_000), 120_000, "In about 2 min at this rate."),
        (600, Flow(produced=700, consumed=700, over_ms=120_000), None, NEVER),
        (600, Flow(produced=701, consumed=700, over_ms=120_000), None, NEVER),
        (600, Flow(produced=0, consumed=0, over_ms=120_000), None, NEVER),
        (0, Flow(produced=9, consumed=1, over_ms=120_000), 0, "Nothing waits."),
        (1, Flow(produced=0, consumed=120, over_ms=120_000), 1_000, "In about 1 s at this rate."),
    ],
)
def test_the_time_to_clear_follows_from_two_rates(lag, flow, ms, text):
    assert time_to_clear_ms(lag, flow) == ms and time_to_clear_text(lag, flow) == text


def test_what_is_not_known_is_said():
    assert time_to_clear_text(None, None).startswith("Not known:")
    assert time_to_clear_text(5, None).startswith("Not known yet")


@given(st.integers(1, 10**9), st.integers(0, 10**6), st.integers(0, 10**6), st.integers(1, 10**7))
def test_lag_is_gone_when_its_time_is_over(lag, produced, consumed, over_ms):
    flow = Flow(produced=produced, consumed=consumed, over_ms=over_ms)
    ms = time_to_clear_ms(lag, flow)
    if ms is None:
        assert flow.consumed_per_s <= flow.produced_per_s
    else:
        left = lag - ms * (consumed - produced) / over_ms
        assert abs(left) <= (consumed - produced) / over_ms


def test_rates_are_per_second():
    flow = Flow(produced=240, consumed=120, over_ms=120_000)
    assert (flow.produced_per_s, flow.consumed_per_s) == (2.0, 1.0)
    assert Flow(produced=1, consumed=1, over_ms=0).produced_per_s == 0.0


@pytest.mark.parametrize(
    ("ms", "text"),
    [(0, "0 s"), (-5, "0 s"), (119_999, "119 s"), (720_000, "12 min"), (18_000_000, "5 h"), (259_200_000, "3 days")],
)
def test_durations_have_one_unit(ms, text):
    assert span(ms) == text
