"""groups.query."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groups.index import GroupIndex
from groups.problems import Problem
from groups.query import ORDERINGS, GroupQuery, Regex, group_page, group_rows
from groups.testing.feed import last_rebalance, snapshot

STATES = st.sampled_from(["Stable", "Empty", "PreparingRebalance"])
GROUPS = st.dictionaries(st.text(max_size=6), st.tuples(STATES, st.one_of(st.none(), st.integers(0, 9))), max_size=12)


def index_of(groups):
    index = GroupIndex()
    for group_id, (state, at) in groups.items():
        last = last_rebalance(at=at) if at is not None else None
        index.put(msgspec.json.encode(snapshot(group_id, state=state, last_rebalance=last)))
    return index


@given(GROUPS, st.sampled_from(ORDERINGS), st.integers(1, 5))
def test_pages_hold_every_row_once_and_in_order(groups, ordering, page_size):
    index = index_of(groups)
    query = GroupQuery(ordering=ordering, page_size=page_size)
    whole = [row.group_id for row in group_rows(index, query)]
    assert sorted(whole) == sorted(groups)
    pages = [group_page(index, GroupQuery(ordering=ordering, page_size=page_size, page=n)) for n in range(1, 14)]
    assert [row.group_id for page in pages for row in page.rows] == whole
    assert {page.total for page in pages} == {len(groups)}


@given(GROUPS, STATES)
def test_counters_are_those_of_the_list_without_its_state_filter(groups, state):
    page = group_page(index_of(groups), GroupQuery(states=frozenset({state})))
    assert sum(page.counters.values()) == len(groups) and page.total == page.counters.get(state, 0)


@given(GROUPS, st.text(max_size=2))
def test_the_matcher_says_what_the_list_shows(groups, search):
    index = index_of(groups)
    query = GroupQuery(search=search, states=frozenset({"Stable"})).seen_by(lambda group_id: len(group_id) != 3)
    shown = {row.group_id for row in group_rows(index, query)}
    assert shown == {row.group_id for row in index.all() if query.matcher()(row)}


def test_a_row_without_a_value_is_last_both_ways():
    index = index_of({"a": ("Empty", None), "b": ("Empty", 1), "c": ("Empty", 2)})
    for ordering, expected in (("last_rebalance", "bca"), ("-last_rebalance", "cba")):
        assert "".join(row.group_id for row in group_rows(index, GroupQuery(ordering=ordering))) == expected


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("b", "abc", True),
        ("^b", "abc", False),
        ("(?i)B", "abc", True),
        ("^(a+)+$", "a" * 48 + "!", False),
        ("é", "café", True),
    ],
)
def test_a_regex_is_found_anywhere(pattern, text, found):
    assert Regex(pattern).found_in(text.encode()) is found


@pytest.mark.parametrize("pattern", ["(", "(?=a)", r"(a)\1", "a{1001}", "["])
def test_a_regex_that_is_none_is_refused(pattern):
    with pytest.raises(Problem) as refused:
        Regex(pattern)
    assert refused.value.kind.status == 400 and refused.value.details == {"regex": ["not RE2 syntax"]}


def test_a_plain_page_is_the_same_as_one_for_somebody_who_is_asked_for_each_group():
    index = index_of({f"Group-{number}": (("Stable", "Empty")[number % 2], None) for number in range(9)})
    for ordering in ("group_id", "-group_id"):
        for page in (1, 2, 3, 9):
            query = GroupQuery(ordering=ordering, page=page, page_size=4)
            assert query.is_plain and group_page(index, query) == group_page(
                index, query.seen_by(lambda group_id: True)
            )
