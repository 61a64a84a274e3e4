"""What stands around the rows of the groups list: counters, columns, filters, pages.

Job: from the checked parameters and the list's answer to what the template walks over.
Rules: every link keeps the rest of the address, so that each state of the list can be sent to somebody.
Must not know: requests, selectors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

from groups.choices import STATE_TONES, GroupState

Asked = Mapping[str, Any]

LISTS = ("state", "type")
"""The parameters that may be given more than once."""

FILTERS = ("search", "regex", "state", "type", "topic", "min_lag", "coordinator")

REBALANCING = tuple(state.value for state in GroupState if STATE_TONES[state] == "busy")
"""States that a strip of counters shows as one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter:
    """How many groups are in one state, or in one of several; `states` is null for all of them."""

    label: str
    tone: str
    count: int
    states: list[str] | None
    current: bool


def counters(counts: Mapping[str, int], asked: Asked) -> list[Counter]:
    """The strip: everything, then each state; one that Kafka adds one day stands at the end under its own name."""
    chosen = set(asked.get("state", ()))
    known = {GroupState.STABLE: ["Stable"], "Rebalancing": list(REBALANCING), "Empty": ["Empty"], "Dead": ["Dead"]}
    strange = {state: [state] for state in counts if state not in set(GroupState)}
    found = [Counter(label="All", tone="", count=sum(counts.values()), states=None, current=not chosen)]
    for label, states in {**known, **strange}.items():
        count = sum(counts.get(state, 0) for state in states)
        tone = STATE_TONES.get(states[0], "quiet")
        current = bool(chosen) and chosen == set(states)
        found.append(Counter(label=str(label), tone=tone, count=count, states=states, current=current))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column head: `ordering` is what a click asks for, `aria_sort` how it is sorted now (empty: it is not)."""

    name: str
    label: str
    ordering: str
    aria_sort: str
    numeric: bool


_COLUMNS = (
    ("group_id", "Group", False),
    ("state", "State", False),
    ("type", "Type", False),
    ("protocol", "Protocol", False),
    ("member_count", "Members", True),
    ("topics", "Topics", False),
    ("total_lag", "Lag", True),
    ("lag_status", "Lag status", False),
    ("last_rebalance", "Last rebalance", False),
    ("coordinator", "Broker", True),
)

_LARGEST_FIRST = ("member_count", "topics", "total_lag", "last_rebalance")


def columns(ordering: str) -> list[Column]:
    """The heads of the list; the sorted one turns round, any other starts with what one looks for first."""
    sorted_by, descending = ordering.removeprefix("-"), ordering.startswith("-")
    heads = []
    for name, label, numeric in _COLUMNS:
        first = f"-{name}" if name in _LARGEST_FIRST else name
        turned = name if descending else f"-{name}"
        aria_sort = ("descending" if descending else "ascending") if name == sorted_by else ""
        ask = turned if name == sorted_by else first
        heads.append(Column(name=name, label=label, ordering=ask, aria_sort=aria_sort, numeric=numeric))
    return heads


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages:
    """Where a page stands: `first` to `last` of `total` rows; null neighbours at the ends."""

    page: int
    count: int
    first: int
    last: int
    total: int
    previous: int | None
    next: int | None


def pages(*, page: int, page_size: int, total: int) -> Pages:
    """The place of one page of a list."""
    count = max(1, ceil(total / page_size))
    first = (page - 1) * page_size + 1
    return Pages(
        page=page,
        count=count,
        first=min(first, total),
        last=min(page * page_size, total),
        total=total,
        previous=min(page - 1, count) if page > 1 else None,
        next=page + 1 if page < count else None,
    )


def is_filtered(asked: Asked) -> bool:
    """Whether the list shows less than everything."""
    return any(asked.get(name) not in (None, "", set(), []) for name in FILTERS)
