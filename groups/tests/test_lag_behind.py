"""groups.lag.behind."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groups.lag.behind import CAUGHT_UP, Behind, End, behind, behind_text, longest

MINUTE = 60_000


def ends(*rows):
    return [End(at=at, log_end=log_end) for at, log_end in rows]


GROWING = ends((0, 100), (10_000, 200), (20_000, 200), (30_000, 500))


@pytest.mark.parametrize(
    ("committed", "found"),
    [
        (500, CAUGHT_UP),
        (600, CAUGHT_UP),
        (150, Behind(ms=25_000, resolution_ms=10_000)),
        (100, Behind(ms=30_000, resolution_ms=10_000)),
        (200, Behind(ms=10_000, resolution_ms=10_000)),
        (350, Behind(ms=5_000, resolution_ms=10_000)),
        (99, Behind(ms=30_000, at_least=True)),
    ],
)
def test_an_offset_has_the_time_at_which_it_was_the_end(committed, found):
    assert behind(GROWING, committed) == found


def test_without_samples_of_the_past_nothing_is_known():
    assert behind([], 5) is None
    assert behind(ends((0, 10)), 5) is None
    assert behind(ends((0, 10)), 10) == CAUGHT_UP


def test_a_log_that_began_anew_has_no_older_past():
    anew = ends((0, 1_000), (10_000, 5), (20_000, 9))
    assert behind(anew, 3) == Behind(ms=10_000, at_least=True)
    assert behind(anew, 7) == Behind(ms=5_000, resolution_ms=10_000)


LOGS = st.lists(st.tuples(st.integers(1, 5_000), st.integers(0, 50)), min_size=2, max_size=12)


def grown(steps):
    at = log_end = 0
    rows = []
    for passed, came in steps:
        at, log_end = at + passed, log_end + came
        rows.append((at, log_end))
    return ends(*rows)


@given(LOGS, st.integers(0, 700))
def test_the_answer_lies_between_the_samples_around_it(steps, committed):
    log = grown(steps)
    found = behind(log, committed)
    if found is None or found == CAUGHT_UP:
        return
    written_at = log[-1].at - found.ms
    if found.at_least:
        assert committed < log[0].log_end and written_at == log[0].at
        return
    before = max(one.at for one in log if one.log_end <= committed)
    after = min(one.at for one in log if one.log_end > committed)
    assert before - 1 <= written_at <= after + 1 and found.resolution_ms == after - before


@given(LOGS, st.integers(0, 700), st.integers(1, 50))
def test_who_read_more_is_never_further_behind(steps, committed, by):
    log = grown(steps)
    one, two = behind(log, committed), behind(log, committed + by)
    assert one.ms >= two.ms


@given(st.integers(1, 100), st.integers(0, 1_000))
def test_an_even_flow_gives_the_exact_time(per_s, offset):
    log = ends(*((second * 1_000, second * per_s) for second in range(60)))
    found = behind(log, offset)
    if found is not None and found.ms and not found.at_least:
        assert found.ms == pytest.approx(59_000 - offset * 1_000 / per_s, abs=1)


def test_the_longest_counts_and_one_unknown_makes_all_unknown():
    short, long = Behind(ms=5, resolution_ms=1), Behind(ms=9, resolution_ms=1)
    assert longest([short, long, CAUGHT_UP]) == long
    assert longest([short, Behind(ms=5, at_least=True)]) == Behind(ms=5, at_least=True)
    assert longest([short, None]) is None and longest([]) is None


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (None, "Not known: too few samples of the logs' ends are kept."),
        (CAUGHT_UP, "Nothing waits."),
        (
            Behind(ms=3 * MINUTE, resolution_ms=10_000),
            "The oldest record that waits is 3 min old, give or take 10 s.",
        ),
        (
            Behind(ms=14 * 24 * 60 * MINUTE, at_least=True),
            "The oldest record that waits is more than 14 days old, which is as far as samples reach.",
        ),
    ],
)
def test_it_is_said_with_its_resolution(one, text):
    """A time was told more finely than it was measured.

    https://github.com/seglo/kafka-lag-exporter/issues/353
    """
    assert behind_text(one) == text
