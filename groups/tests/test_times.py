"""groups.times."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from groups.times import iso, moment, now_ms, with_twins


def test_times_carry_their_zone():
    assert iso(0) == "1970-01-01T00:00:00.000+00:00" and iso(1_790_000_000_123).endswith(".123+00:00")
    assert iso(None) is None and now_ms() > 1_700_000_000_000


@given(st.integers(min_value=-(2**63), max_value=2**63))
def test_no_time_is_beyond_showing(at_ms):
    assert moment(at_ms).tzinfo is not None and iso(at_ms).endswith("+00:00")


def test_numbers_that_a_double_cannot_hold_have_a_twin():
    assert with_twins({"a": 2**53, "b": 2**53 + 1, "c": -(2**60), "d": None, "e": True, "f": "x"}) == {
        "a": 2**53,
        "b": 2**53 + 1,
        "b_str": str(2**53 + 1),
        "c": -(2**60),
        "c_str": str(-(2**60)),
        "d": None,
        "e": True,
        "f": "x",
    }
