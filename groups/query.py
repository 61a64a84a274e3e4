"""A question to the groups list, and its answer from the index.

Job: search, regular expression, filters, order and page as one frozen value; the rows that it gives.
Rules: regular expressions run on RE2, whose time is linear in the text whatever the pattern; a row without a value sorts
last in both directions; equal rows stand in the order of their ids, so that pages never overlap.
Must not know: requests (the API parses them), Redis.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import re2

from groups.index import GroupIndex, GroupRow
from groups.problems import invalid

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False
_OPTIONS.max_mem = 1 << 20


class Regex:
    """A compiled regular expression that says whether it is found in a text.

    Raises Problem (400) for a pattern that RE2 does not take; back references and look-around are among those.
    """

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        # A set of one pattern answers from C++ at once; the other calls build a match object in Python for each id.
        self._set = re2.Set.SearchSet(_OPTIONS)
        try:
            self._set.Add(pattern)
            self._set.Compile()
        except re2.error as problem:
            raise invalid(
                f"The regular expression {pattern!r} does not compile.", regex=["not RE2 syntax"]
            ) from problem

    def found_in(self, text: str) -> bool:
        return bool(self._set.Match(text))


_STATE = attrgetter("state")

SORTED_BY: dict[str, Callable[[GroupRow], Any]] = {
    "group_id": lambda row: row.group_id,
    "state": lambda row: row.state,
    "type": lambda row: row.type,
    "protocol": lambda row: row.protocol or None,
    "member_count": lambda row: row.member_count,
    "topics": lambda row: len(row.topics),
    "total_lag": GroupRow.total_lag,
    "lag_status": GroupRow.lag_status,
    "last_rebalance": lambda row: row.last_rebalance.at if row.last_rebalance else None,
    "coordinator": lambda row: row.coordinator,
}
"""The columns that a list may be sorted by."""

ORDERINGS = tuple(sign + name for name in SORTED_BY for sign in ("", "-"))


def everything(group_id: str) -> bool:
    """The eyes of somebody who sees every group: nobody need ask them for each."""
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupQuery:
    """What a list shows. Empty texts and sets filter nothing; `ordering` is one of ORDERINGS; pages count from 1."""

    search: str = ""
    regex: Regex | None = None
    states: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()
    topic: str = ""
    min_lag: int | None = None
    coordinator: int | None = None
    ordering: str = "group_id"
    page: int = 1
    page_size: int = 50
    visible: Callable[[str], bool] = everything

    def seen_by(self, visible: Callable[[str], bool]) -> GroupQuery:
        """The same question, asked by somebody who may not see every group."""
        return replace(self, visible=visible)

    def matcher(self) -> Callable[[GroupRow], bool]:
        """The question "does this row belong to the list", made once for many rows."""
        tests = self._tests_but_state()
        if self.states:
            tests.append(self._in_state)
        return lambda row: self.visible(row.group_id) and all(test(row) for test in tests)

    def _tests_but_state(self) -> list[Callable[[GroupRow], bool]]:
        """The cheap tests first: each sees only what the ones before it let pass."""
        tests: list[Callable[[GroupRow], bool]] = []
        if self.types:
            tests.append(lambda row: row.type in self.types)
        if self.coordinator is not None:
            tests.append(lambda row: row.coordinator == self.coordinator)
        if self.topic:
            tests.append(lambda row: self.topic in row.topics)
        if self.search:
            needle = self.search.lower()
            tests.append(lambda row: needle in row.folded)
        if self.regex is not None:
            tests.append(lambda row: self.regex.found_in(row.group_id))
        if self.min_lag is not None:
            tests.append(lambda row: (row.total_lag() or 0) >= self.min_lag)
        return tests

    @property
    def is_plain(self) -> bool:
        """Whether the list shows every group in the order of its id: then most of them need not be looked at."""
        by_id = self.ordering in ("group_id", "-group_id")
        return by_id and self.visible is everything and not self.states and not self._tests_but_state()

    def _in_state(self, row: GroupRow) -> bool:
        return row.state in self.states


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPage:
    """The answer: the rows of one page, how many there are on all, and how many of each state without the state filter."""

    rows: list[GroupRow]
    total: int
    counters: dict[str, int]


def group_page(index: GroupIndex, query: GroupQuery) -> GroupPage:
    """One page of the list. Takes some ten milliseconds with 50,000 groups, and no call to anybody."""
    first = (query.page - 1) * query.page_size
    last = first + query.page_size
    if query.is_plain:
        rows = index.page(first, last, descending=query.ordering.startswith("-"))
        return GroupPage(rows=rows, total=len(index.rows), counters=_counted(dict(index.states)))
    rows, counters = _matching(index, query)
    return GroupPage(rows=_in_order(rows, query.ordering)[first:last], total=len(rows), counters=counters)


def group_rows(index: GroupIndex, query: GroupQuery) -> list[GroupRow]:
    """Every row of the list in its order, whatever the page: what an export writes."""
    rows, _ = _matching(index, query)
    return _in_order(rows, query.ordering)


def _matching(index: GroupIndex, query: GroupQuery) -> tuple[list[GroupRow], dict[str, int]]:
    rows = index.readers_of(query.topic) if query.topic else index.all()
    if query.visible is not everything:
        rows = [row for row in rows if query.visible(row.group_id)]
    for test in query._tests_but_state():
        rows = list(filter(test, rows))
    counters = _counted(Counter(map(_STATE, rows)))
    return list(filter(query._in_state, rows)) if query.states else rows, counters


def _counted(states: Mapping[str, int]) -> dict[str, int]:
    return {state: count for state, count in sorted(states.items()) if count}


def _in_order(by_id: list[GroupRow], ordering: str) -> list[GroupRow]:
    """Rows that come in the order of their ids, in the order that was asked for."""
    column, descending = ordering.removeprefix("-"), ordering.startswith("-")
    if column == "group_id":
        return by_id[::-1] if descending else by_id
    values = [SORTED_BY[column](row) for row in by_id]
    places = [place for place, value in enumerate(values) if value is not None]
    places.sort(key=values.__getitem__, reverse=descending)
    return [by_id[place] for place in places] + [row for row, value in zip(by_id, values, strict=True) if value is None]
