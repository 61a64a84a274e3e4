"""groups.changes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from groups.changes import changes, merged, stable

VALUES = st.one_of(st.none(), st.integers(0, 3), st.text(max_size=2))
MEMBERS = st.dictionaries(st.sampled_from("abcd"), VALUES, max_size=4).map(
    lambda members: [{"member_id": one, "state": members[one]} for one in sorted(members)]
)
DESCRIPTIONS = st.fixed_dictionaries({"state": VALUES, "lag": VALUES, "members": MEMBERS})


@given(st.one_of(st.none(), DESCRIPTIONS), st.lists(st.one_of(st.none(), DESCRIPTIONS), max_size=5))
def test_a_description_and_every_later_difference_give_the_newest(first, later):
    held, shown = first, first
    for now in later:
        shown = merged(shown, changes(held, now))
        held = now
        assert shown == now


@given(DESCRIPTIONS)
def test_nothing_changed_is_nothing_to_send(description):
    assert changes(description, description) == {}


@given(DESCRIPTIONS, DESCRIPTIONS, DESCRIPTIONS)
def test_a_difference_may_be_applied_to_what_is_newer_than_its_ground(one, two, three):
    assert merged(merged(two, changes(one, two)), changes(two, three)) == three


def test_a_twin_that_is_no_longer_needed_goes():
    before, after = {"lag": 2**60, "lag_str": "x", "members": []}, {"lag": 1, "members": []}
    assert changes(before, after) == {"lag": 1, "lag_str": None}
    assert merged(before, changes(before, after)) == after


def test_what_changes_all_the_time_is_left_out():
    member = {"member_id": "a", "last_heartbeat_at": "now", "last_heartbeat_ms_ago": 5, "state": "stable"}
    assert stable({"members": [member], "state": "Stable"}) == {
        "members": [{"member_id": "a", "state": "stable"}],
        "state": "Stable",
    }
