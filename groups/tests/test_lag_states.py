"""groups.lag.states."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groups.choices import LagState, LagStatus
from groups.lag.states import group_lag, lag_of

OFFSET = st.integers(min_value=0, max_value=2**62)


@pytest.mark.parametrize(
    ("committed", "start", "end", "state", "records", "lost"),
    [
        (None, 0, 10, "none_committed", None, 0),
        (-1, 0, 10, "none_committed", None, 0),
        (None, None, None, "none_committed", None, 0),
        (4, None, 10, "unknown", None, 0),
        (4, 0, None, "unknown", None, 0),
        (10, 0, 10, "caught_up", 0, 0),
        (4, 0, 10, "lagging", 6, 0),
        (0, 0, 10, "lagging", 10, 0),
        (2, 5, 10, "before_log_start", 8, 3),
        (15, 0, 10, "past_log_end", None, 0),
        (0, 0, 0, "empty", 0, 0),
        (7, 7, 7, "empty", 0, 0),
        (3, 7, 7, "before_log_start", 4, 4),
        (8, 7, 7, "past_log_end", None, 0),
        (-5, 0, 10, "before_log_start", 15, 5),
    ],
)
def test_each_place_of_a_commit_has_its_own_word(committed, start, end, state, records, lost):
    """What was committed nowhere (-1) was subtracted like an offset.

    https://github.com/danielqsj/kafka_exporter/issues/17
    """
    lag = lag_of(committed=committed, log_start=start, log_end=end)
    assert (lag.state, lag.records, lag.lost) == (state, records, lost)


@given(OFFSET, OFFSET, OFFSET)
def test_lag_is_never_negative_and_zero_only_at_the_end(committed, one, two):
    """Lists showed negative lag, of commits past the end or of ends that were read before the commit.

    https://github.com/provectus/kafka-ui/issues/4143
    https://github.com/redpanda-data/redpanda/issues/4589
    """
    start, end = sorted((one, two))
    lag = lag_of(committed=committed, log_start=start, log_end=end)
    assert lag.records is None or lag.records >= 0
    assert (lag.records == 0) == (committed == end)
    assert (lag.state == LagState.PAST_LOG_END) == (committed > end)


@pytest.mark.parametrize(
    ("end", "last_stable", "records", "stable"),
    [
        (11, 11, 1, 1),  # a transaction's marker behind the last record
        (15, 10, 5, 0),  # a transaction that is still open
        (15, 8, 5, 0),  # one that a reader of everything has read into
    ],
)
def test_transactions_leave_two_numbers_and_neither_is_hidden(end, last_stable, records, stable):
    """A marker looked like a record that nobody reads, an open transaction like a consumer that stands still.

    https://github.com/spring-projects/spring-kafka/issues/1587
    https://github.com/confluentinc/librdkafka/issues/2539
    https://github.com/softwaremill/klag-exporter/issues/104
    """
    lag = lag_of(committed=10, log_start=0, log_end=end, last_stable=last_stable)
    assert (lag.records, lag.stable) == (records, stable)


def states(*places):
    return [lag_of(committed=c, log_start=s, log_end=e) for c, s, e in places]


@pytest.mark.parametrize(
    ("places", "members", "total", "status"),
    [
        ([], True, None, LagStatus.NONE_COMMITTED),
        ([(None, 0, 9)], True, None, LagStatus.NONE_COMMITTED),
        ([(9, 0, 9), (0, 0, 0)], True, 0, LagStatus.OK),
        ([(9, 0, 9), (None, 0, 9)], True, 0, LagStatus.OK),
        ([(9, 0, 9), (4, 0, 9)], True, 5, LagStatus.LAGGING),
        ([(9, 0, 9), (4, 0, 9)], False, 5, LagStatus.STOPPED),
        ([(4, None, None)], True, None, LagStatus.UNKNOWN),
        ([(4, None, None), (4, 0, 9)], True, 5, LagStatus.LAGGING),
        ([(12, 0, 9), (4, 0, 9)], True, 5, LagStatus.OUT_OF_RANGE),
        ([(12, 0, 9)], True, None, LagStatus.OUT_OF_RANGE),
        ([(1, 3, 9)], False, 8, LagStatus.OUT_OF_RANGE),
    ],
)
def test_a_group_has_the_sum_of_what_is_known_and_one_status(places, members, total, status):
    """A partition without a commit counted as its whole log, and spoiled every sum.

    https://github.com/seglo/kafka-lag-exporter/issues/37
    https://github.com/seglo/kafka-lag-exporter/issues/45
    """
    whole = group_lag(states(*places), has_members=members)
    assert (whole.total, whole.status) == (total, status)
