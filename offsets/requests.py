"""What a reset asks for: strategy, value and scope, checked and typed.

Job: from the API's body to one frozen request, and back to what is stored.
Rules: each strategy says what its value is; a value that makes no sense is refused, never read as something else. A moment
needs its zone. An empty scope means nothing.
Must not know: clusters, offsets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils.dateparse import parse_duration

from groups.gateway import Partition
from groups.problems import Problem, invalid
from offsets.choices import Strategy
from offsets.csv_format import LARGEST_OFFSET, offsets_from_csv

Value = int | datetime | timedelta | str | dict[Partition, int] | None
Scope = tuple[tuple[str, tuple[int, ...] | None], ...] | None
"""Topics with the partitions that are meant, null for all of them; null alone for everything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetRequest:
    """A checked request; `raw` is what came, to be stored and shown."""

    strategy: Strategy
    value: Value
    scope: Scope
    raw: dict[str, Any]


def reset_request(raw: Mapping[str, Any]) -> ResetRequest:
    """A request from the API's body: `{strategy, value, scope}`.

    Raises Problem (400).
    """
    strategy = Strategy(raw["strategy"])
    return ResetRequest(
        strategy=strategy,
        value=_value(strategy, raw.get("value")),
        scope=_scope(raw["scope"]),
        raw={"strategy": strategy.value, "value": raw.get("value"), "scope": raw["scope"]},
    )


def _value(strategy: Strategy, value: Any) -> Value:
    if strategy in (Strategy.EARLIEST, Strategy.LATEST, Strategy.CURRENT):
        if value is not None:
            raise _bad(strategy, "takes no value")
        return None
    if strategy == Strategy.OFFSET:
        return _integer(strategy, value, 0, LARGEST_OFFSET)
    if strategy == Strategy.SHIFT:
        return _integer(strategy, value, -LARGEST_OFFSET, LARGEST_OFFSET)
    if not isinstance(value, str):
        raise _bad(strategy, "takes a text")
    if strategy == Strategy.TIMESTAMP:
        return _moment(value)
    if strategy == Strategy.DURATION:
        return _duration(value)
    return offsets_from_csv(value) if strategy == Strategy.CSV else value


def _integer(strategy: Strategy, value: Any, lowest: int, highest: int) -> int:
    if type(value) is not int or not lowest <= value <= highest:
        raise _bad(strategy, f"takes a whole number from {lowest} to {highest}")
    return value


def _moment(value: str) -> datetime:
    try:
        return moment_of(value)
    except ValueError as problem:
        raise _bad(Strategy.TIMESTAMP, str(problem)) from problem


def moment_of(text: str) -> datetime:
    """A moment in ISO 8601 with its zone, in UTC.

    Raises ValueError, which says what is missing: a time without a zone would mean another moment to somebody else.
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as problem:
        raise ValueError(f"{text!r} is not ISO 8601") from problem
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no zone: add Z or an offset such as +02:00")
    try:
        return moment.astimezone(UTC)
    except OverflowError as problem:
        raise ValueError(f"{text!r} lies outside the years 1 to 9999") from problem


def _duration(value: str) -> timedelta:
    try:
        duration = parse_duration(value) if value.startswith("P") and value not in ("P", "PT") else None
    except OverflowError:
        duration = None
    if duration is None or duration < timedelta():
        raise _bad(Strategy.DURATION, f"{value!r} is no ISO 8601 duration such as PT1H or P2D")
    return duration


def _scope(scope: Mapping[str, Any]) -> Scope:
    if ("all" in scope) == ("topics" in scope):
        raise invalid("A scope is either all or a list of topics.", resource="plan", scope=["either all or topics"])
    if "all" in scope:
        if scope["all"] is not True:
            raise invalid("A scope of all is true.", resource="plan", scope=["all is true or left out"])
        return None
    return topic_scope(scope["topics"])


def topic_scope(rows: Iterable[Mapping[str, Any]]) -> tuple[tuple[str, tuple[int, ...] | None], ...]:
    """Rows of `{topic, partitions?}` as a scope: sorted, and each topic once."""
    merged: dict[str, set[int] | None] = {}
    for row in rows:
        topic, partitions = row["topic"], row.get("partitions")
        if partitions is None or merged.get(topic, set()) is None:
            merged[topic] = None
        else:
            merged.setdefault(topic, set()).update(partitions)
    return tuple((topic, None if some is None else tuple(sorted(some))) for topic, some in sorted(merged.items()))


def _bad(strategy: Strategy, why: str) -> Problem:
    return invalid(f"The strategy {strategy.value} {why}.", resource="plan", value=[why])
