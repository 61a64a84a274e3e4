"""A question to the groups list, and its answer from the index.

Job: search, regular expression, filters, order and page as one frozen value; the rows that it gives.
Rules: regular expressions run on RE2, whose time is linear in the text whatever the pattern; a row without a value sorts
last in both directions; equal rows stand in the order of their ids, so that pages never overlap.
Must not know: requests (the API parses them), Redis.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial, reduce
from heapq import nlargest, nsmallest
from itertools import compress
from operator import and_, attrgetter, eq, methodcaller
from typing import Any

import re2

from groups.index import GroupIndex, GroupRow, Names, encoded, folded
from groups.problems import invalid

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False
_OPTIONS.max_mem = 1 << 20


class Regex:
    """A compiled regular expression that says whether it is found in an id, given as bytes.

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

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Regex) and self.pattern == other.pattern

    def __hash__(self) -> int:
        return hash(self.pattern)

    def found_in(self, encoded: bytes) -> bool:
        return self._set.Match(encoded) is not None


FEW = 50
"""A page that ends within this part of all rows is picked out of them; further back it is quicker to sort them all."""

STATE = attrgetter("state")

Test = tuple[Callable[[GroupRow], Any], Callable[[Any], Any]]
"""A column of a row, and what its value has to pass: true or false in any form."""

SORTED_BY: dict[str, Callable[[GroupRow], Any]] = {
    "group_id": attrgetter("group_id"),
    "state": STATE,
    "type": attrgetter("type"),
    "protocol": lambda row: row.protocol or None,
    "member_count": attrgetter("member_count"),
    "topics": lambda row: len(row.topics),
    "total_lag": GroupRow.total_lag,
    "lag_status": GroupRow.lag_status,
    "last_rebalance": attrgetter("rebalanced_at"),
    "coordinator": attrgetter("coordinator"),
}
"""The columns that a list may be sorted by."""

ORDERINGS = tuple(sign + name for name in SORTED_BY for sign in ("", "-"))


def everything(group_id: str) -> bool:
    """The eyes of somebody who sees every group: nobody need ask them for each."""
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupQuery:
    """What a list shows. Empty texts and sets filter nothing, but `group_ids` that name no group let none pass; `ordering` is
    one of ORDERINGS; pages count from 1."""

    search: str = ""
    regex: Regex | None = None
    states: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()
    topic: str = ""
    min_lag: int | None = None
    coordinator: int | None = None
    group_ids: frozenset[str] | None = None
    ordering: str = "group_id"
    page: int = 1
    page_size: int = 50
    visible: Callable[[str], bool] = everything

    def seen_by(self, visible: Callable[[str], bool]) -> GroupQuery:
        """The same question, asked by somebody who may not see every group."""
        return replace(self, visible=visible)

    def without_page(self) -> GroupQuery:
        """The same filters, whatever page and order: equal for lists that show the same groups."""
        return replace(self, ordering="group_id", page=1, page_size=50)

    def matcher(self) -> Callable[[GroupRow], bool]:
        """The question "does this row belong to the list", made once for many rows."""
        tests = [*self._tests(), *self._name_tests(), *self._state_tests()]
        return lambda row: self.visible(row.group_id) and all(test(column(row)) for column, test in tests)

    def _tests(self) -> list[Test]:
        """All filters but those of names and states. The cheap ones first: each sees only what the ones before it let pass."""
        tests: list[Test] = []
        if self.group_ids is not None:
            tests.append((attrgetter("group_id"), self.group_ids.__contains__))
        if self.types:
            tests.append((attrgetter("type"), self.types.__contains__))
        if self.coordinator is not None:
            tests.append((attrgetter("coordinator"), partial(eq, self.coordinator)))
        if self.topic:
            tests.append((attrgetter("topics"), methodcaller("__contains__", self.topic)))
        if self.min_lag is not None:
            tests.append((GroupRow.total_lag, lambda lag: (lag or 0) >= self.min_lag))
        return tests

    def _name_tests(self) -> list[Test]:
        """The filters of names, for the rows of a list that is short."""
        tests: list[Test] = []
        if self.search:
            tests.append((lambda row: folded(row.group_id), methodcaller("__contains__", folded(self.search))))
        if self.regex is not None:
            tests.append((lambda row: encoded(row.group_id), self.regex.found_in))
        return tests

    def named(self, names: Names) -> Iterable[str]:
        """The ids that pass the filters of names: most rows of a long list need not be looked at."""
        found: list[Iterable[bool]] = []
        if self.search:
            searched = folded(self.search)
            found.append([searched in name for name in names.folded])
        if self.regex is not None:
            found.append(map(self.regex.found_in, names.encoded))
        return compress(names.ids, reduce(partial(map, and_), found)) if found else names.ids

    def _state_tests(self) -> list[Test]:
        return [(STATE, self.states.__contains__)] if self.states else []

    @property
    def is_plain(self) -> bool:
        """Whether the list shows every group in the order of its id: then most of them need not be looked at."""
        by_id = self.ordering in ("group_id", "-group_id")
        return by_id and self.visible is everything and not (self.states or self._tests() or self._name_tests())


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
    return GroupPage(rows=_in_order(rows, query.ordering, last)[first:], total=len(rows), counters=counters)


def group_rows(index: GroupIndex, query: GroupQuery) -> list[GroupRow]:
    """Every row of the list in its order, whatever the page: what an export writes."""
    rows, _ = _matching(index, query)
    return _in_order(rows, query.ordering, len(rows))


def _matching(index: GroupIndex, query: GroupQuery) -> tuple[list[GroupRow], dict[str, int]]:
    if query.topic:
        rows = _passing(index.readers_of(query.topic), query._name_tests())
    else:
        rows = index.there(query.named(index.names()))
    if query.visible is not everything:
        rows = [row for row in rows if query.visible(row.group_id)]
    rows = _passing(rows, query._tests())
    counters = _counted(Counter(map(STATE, rows)))
    return _passing(rows, query._state_tests()), counters


def _passing(rows: list[GroupRow], tests: list[Test]) -> list[GroupRow]:
    """The rows that pass. Columns and most tests are C's, so that no frame of Python is made for each of so many rows."""
    for column, test in tests:
        rows = list(compress(rows, map(test, map(column, rows))))
    return rows


def _counted(states: Mapping[str, int]) -> dict[str, int]:
    return {state: count for state, count in sorted(states.items()) if count}


def _in_order(by_id: list[GroupRow], ordering: str, count: int) -> list[GroupRow]:
    """The first so many of rows that come in the order of their ids, in the order that was asked for."""
    column, descending = ordering.removeprefix("-"), ordering.startswith("-")
    if column == "group_id":
        return (by_id[::-1] if descending else by_id)[:count]
    values = list(map(SORTED_BY[column], by_id))
    known: Iterable[int] = range(len(values))
    if unknown := [place for place, value in enumerate(values) if value is None]:
        known = [place for place, value in enumerate(values) if value is not None]
    if count * FEW < len(values):
        places = (nlargest if descending else nsmallest)(count, known, key=values.__getitem__)
    else:
        places = sorted(known, key=values.__getitem__, reverse=descending)
    return list(map(by_id.__getitem__, (places + unknown)[:count]))
