"""What stands around the rows of a page: counters, columns, pages; how numbers, ids and phases are written."""

from __future__ import annotations

import pytest
from django.utils.html import escape
from hypothesis import given
from hypothesis import strategies as st

from groups.choices import GroupState
from groups.templatetags import console
from groups.views.listing import columns, counters, is_filtered, pages


def test_rebalancing_states_are_counted_as_one():
    counts = {"Stable": 3, "PreparingRebalance": 1, "CompletingRebalance": 2, "Reconciling": 4}
    found = {counter.label: counter.count for counter in counters(counts, {})}
    assert found == {"All": 10, "Stable": 3, "Rebalancing": 7, "Empty": 0, "Dead": 0}


def test_a_state_of_a_later_kafka_is_counted_under_its_own_name():
    found = {counter.label: counter.states for counter in counters({"Pondering": 2}, {"state": {"Pondering"}})}
    assert found["Pondering"] == ["Pondering"]


def test_the_counter_of_the_chosen_states_is_the_current_one():
    chosen = {"state": {"PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling"}}
    assert [counter.label for counter in counters({}, chosen) if counter.current] == ["Rebalancing"]
    assert [counter.label for counter in counters({}, {}) if counter.current] == ["All"]


def test_a_sorted_column_turns_round_and_numbers_begin_with_the_largest():
    heads = {column.name: column for column in columns("-total_lag")}
    assert heads["total_lag"].ordering == "total_lag" and heads["total_lag"].aria_sort == "descending"
    assert heads["member_count"].ordering == "-member_count" and heads["state"].ordering == "state"
    assert [column.aria_sort for column in columns("state") if column.aria_sort] == ["ascending"]


@given(st.integers(1, 50), st.integers(1, 1_000), st.integers(0, 5_000))
def test_pages_stay_inside_the_list(page, page_size, total):
    place = pages(page=page, page_size=page_size, total=total)
    assert 0 <= place.first <= total and 0 <= place.last <= total
    assert (place.next is None) == (page >= place.count) and (place.previous is None) == (page == 1)


def test_a_list_is_filtered_by_any_filter_but_not_by_its_order():
    assert not is_filtered({"ordering": "state", "page": 3, "search": "", "state": set(), "min_lag": None})
    assert is_filtered({"min_lag": 0}) and is_filtered({"state": {"Empty"}})


@given(st.text())
def test_a_visible_id_has_nothing_hidden(id_):
    shown = console.visible(id_)
    assert shown and shown == shown.strip(" ") and not any(ord(mark) < 0x20 for mark in shown)
    assert "\u202e" not in shown and "\u200b" not in shown


def test_two_ids_that_look_alike_are_told_apart():
    assert console.visible("orders") != console.visible("orders\u200b") != console.visible("orders ")


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        *((None, "–"), ("", "–"), (0, "0 ms"), (999, "999 ms"), (1_900, "1.9 s"), (45_000, "45 s")),
        *((720_000, "12 min"), (9 * 3_600_000, "9 h"), (3 * 86_400_000, "3 d")),
    ],
)
def test_durations_take_their_largest_sensible_unit(milliseconds, text):
    assert console.duration(milliseconds) == text


def test_what_is_not_known_is_a_dash():
    assert console.number(None) == console.UNKNOWN == console.moment(None) and console.number(0) == "0"


def test_a_member_is_named_without_its_random_end():
    assert console.member_name("checkout-1-6f1f6d5e-1c1f-4a43-8f0a-0123456789ab") == "checkout-1"
    assert console.member_name("plain") == "plain" and console.member_name(None) == "nobody"


def test_every_state_has_a_word_and_a_tone_that_has_a_shape():
    tones = {word["tone"] for kind in console.WORDS.values() for word in kind.values()}
    assert tones <= {"good", "busy", "warning", "bad", "quiet"}
    assert set(console.WORDS["state"]) == {state.value for state in GroupState}
    for state, tone in (("Stable", "good"), ("Pondering", "quiet"), ("<b>", "quiet")):
        shown = console.word("state", state)
        assert f'data-tone="{tone}"' in shown and f"<span>{escape(state)}</span>" in shown
