"""groups.lag.series: sums; the rest is tested with the samples that it reads (test_lag_sampling)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from groups.lag.series import sums_of
from groups.lag.states import lag_of

ARRAYS = st.lists(st.integers(-1, 20), max_size=6)


@given(ARRAYS, ARRAYS, st.none() | st.integers(0, 6))
def test_sums_are_those_of_the_one_lag_function(offsets, ends, partition):
    lags = [
        lag_of(committed=offset, log_start=0, log_end=None if end < 0 else end).records
        for number, (offset, end) in enumerate(zip(offsets, ends, strict=False))
        if partition in (None, number)
    ]
    known = [lag for lag in lags if lag is not None]
    found = sums_of(offsets, ends, partition)
    assert (found is None) == (not known)
    if found is not None:
        assert found[1] - found[0] == sum(known)
