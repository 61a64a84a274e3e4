"""What a reset would do: from a request and a cluster to one row per partition. Nothing is written.

Job: which partitions are meant, where the strategy takes each, and what that skips or replays.
Rules: an offset lies inside its log or is moved to its nearest end, and the row says so; Kafka's sentinels (-1, -2) never
become offsets; a partition that cannot be judged gets no target and a reason, and the others are planned all the same.
Must not know: who asks, what is stored.
Source: kafka-consumer-groups --reset-offsets, whose strategies these are.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from groups.gateway import EARLIEST, LATEST, Committed, Gateway, Partition
from groups.problems import error_row, invalid, not_found
from groups.times import with_twins
from kaas.errors import ErrorCode
from offsets.choices import Strategy
from offsets.requests import ResetRequest, Scope

Offsets = Mapping[Partition, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a strategy takes a partition before its log is looked at: an offset with an optional note, or only a reason
    why there is none."""

    offset: int | None
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanItem:
    """One partition. `after` is null when nothing will be written, and then `note` says why; `code` is Kafka's, where a
    broker would not answer."""

    topic: str
    partition: int
    before: int | None
    after: int | None
    note: str | None = None
    skipped: int = 0
    replayed: int = 0
    code: ErrorCode | None = None

    def place(self) -> Partition:
        return self.topic, self.partition

    def row(self) -> dict[str, Any]:
        """The item as the API shows and the database keeps it."""
        return with_twins(
            {
                "topic": self.topic,
                "partition": self.partition,
                "before": self.before,
                "after": self.after,
                "note": self.note,
                "skipped": self.skipped,
                "replayed": self.replayed,
            }
        )

    def error(self) -> dict[str, Any] | None:
        """What a broker would not answer, as a row of `errors`."""
        return None if self.code is None else error_row(self.code, f"{self.topic} {self.partition}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What a plan stands on: the group's committed offsets, and those of the strategy's source (CSV or another group)."""

    held: Mapping[Partition, Committed]
    source: Offsets


def plan_items(gateway: Gateway, request: ResetRequest, ground: Ground) -> list[PlanItem]:
    """The rows of a plan, sorted by partition.

    Raises Problem: 404 for a topic or partition that is not there, 502 to 504 from the cluster.
    """
    places = _places(gateway, request, ground)
    starts = gateway.log_offsets(dict.fromkeys(places, EARLIEST))
    ends = gateway.log_offsets(dict.fromkeys(places, LATEST))
    targets = _targets(gateway, request, ground, places, starts, ends)
    return [_item(place, ground.held.get(place), targets, starts, ends) for place in places]


def _places(gateway: Gateway, request: ResetRequest, ground: Ground) -> list[Partition]:
    """The partitions that are meant."""
    from_source = request.strategy in (Strategy.CSV, Strategy.GROUP)
    if request.scope is None:
        return sorted(ground.source if from_source else ground.held)
    named = _named(gateway, request.scope, ground) if request.scope else []
    return [place for place in named if place in ground.source] if from_source else named


def _named(gateway: Gateway, scope: Scope, ground: Ground) -> list[Partition]:
    """The partitions that a scope names: those that exist, and those that the group committed though they are gone."""
    existing = gateway.partitions(topic for topic, _ in scope or ())
    places = []
    for topic, partitions in scope or ():
        held = [partition for name, partition in ground.held if name == topic]
        there = {*existing.get(topic, ()), *held}
        if not there:
            raise not_found(f"topic {topic}")
        wanted = there if partitions is None else set(partitions)
        if strange := wanted - there:
            raise not_found(f"partition {min(strange)} of topic {topic}")
        places += [(topic, partition) for partition in sorted(wanted)]
    return places


LogOffsets = Mapping[Partition, int | ErrorCode]


def _targets(
    gateway: Gateway,
    request: ResetRequest,
    ground: Ground,
    places: Iterable[Partition],
    starts: LogOffsets,
    ends: LogOffsets,
) -> dict[Partition, Target | ErrorCode]:
    if request.strategy in (Strategy.TIMESTAMP, Strategy.DURATION):
        return _targets_in_time(gateway, _asked_ms(request), places, ends)
    return {place: _target(request, ground, place, starts[place], ends[place]) for place in places}


def _target(
    request: ResetRequest, ground: Ground, place: Partition, start: int | ErrorCode, end: int | ErrorCode
) -> Target | ErrorCode:
    held = ground.held.get(place)
    if request.strategy == Strategy.EARLIEST:
        return _at(start)
    if request.strategy == Strategy.LATEST:
        return _at(end)
    if request.strategy == Strategy.OFFSET:
        return Target(offset=int(request.value))
    if request.strategy == Strategy.SHIFT:
        if held is None:
            return Target(offset=None, note="Nothing is committed here, so nothing can be shifted.")
        return Target(offset=held.offset + int(request.value))
    if request.strategy == Strategy.CURRENT:
        if held is None:
            return _at(end, "Nothing is committed here: the log's end.")
        return Target(offset=held.offset)
    return Target(offset=ground.source[place])


def _at(offset: int | ErrorCode, note: str | None = None) -> Target | ErrorCode:
    return offset if isinstance(offset, ErrorCode) else Target(offset=offset, note=note)


def _asked_ms(request: ResetRequest) -> int:
    """The moment in milliseconds. One before 1970 means the beginning: below zero lie Kafka's sentinels."""
    if isinstance(request.value, datetime):
        return max(0, int(request.value.timestamp() * 1_000))
    return max(0, int((time.time() - request.value.total_seconds()) * 1_000))


def _targets_in_time(
    gateway: Gateway, at_ms: int, places: Iterable[Partition], ends: LogOffsets
) -> dict[Partition, Target | ErrorCode]:
    found = gateway.log_offsets(dict.fromkeys(places, at_ms))
    targets: dict[Partition, Target | ErrorCode] = {}
    for place, offset in found.items():
        if isinstance(offset, ErrorCode):
            targets[place] = offset
        elif offset < 0:
            targets[place] = _at(ends[place], "There is no record at or after that time: the log's end.")
        else:
            targets[place] = Target(offset=offset)
    return targets


def _item(
    place: Partition,
    held: Committed | None,
    targets: Mapping[Partition, Target | ErrorCode],
    starts: LogOffsets,
    ends: LogOffsets,
) -> PlanItem:
    before = None if held is None else held.offset
    start, end, target = starts[place], ends[place], targets[place]
    for answer in (target, start, end):
        if isinstance(answer, ErrorCode):
            note = f"The partition cannot be judged: {answer.meaning}."
            return PlanItem(topic=place[0], partition=place[1], before=before, after=None, note=note, code=answer)
    if target.offset is None:
        return PlanItem(topic=place[0], partition=place[1], before=before, after=None, note=target.note)
    after = min(max(target.offset, start), end)
    note = target.note or _clamped(target.offset, start, end)
    skipped, replayed = _distance(before, after, start, end)
    return PlanItem(
        topic=place[0],
        partition=place[1],
        before=before,
        after=after,
        note=note,
        skipped=skipped,
        replayed=replayed,
    )


def _clamped(offset: int, start: int, end: int) -> str | None:
    if offset > end:
        return f"Offset {offset} lies past the log's end: {end} instead."
    if offset < start:
        return f"Offset {offset} lies before the log's start: {start} instead."
    return None


def _distance(before: int | None, after: int, start: int, end: int) -> tuple[int, int]:
    """How many offsets are passed over, and how many are read again; what the log does not hold counts for neither."""
    if before is None:
        return 0, 0
    was = min(max(before, start), end)
    return max(after - was, 0), max(was - after, 0)


def require_group_known(request: ResetRequest, ground: Ground, group_id: str, is_listed: bool) -> None:
    """Raises Problem (404) for a plan over "all" of a group that neither exists nor gets offsets from a source."""
    sourced = request.strategy in (Strategy.CSV, Strategy.GROUP)
    if request.scope is None and not sourced and not ground.held and not is_listed:
        raise not_found(f"group {group_id}")


def require_source(request: ResetRequest, ground: Ground) -> None:
    """Raises Problem (400) for a source that holds nothing."""
    if request.strategy == Strategy.CSV and not ground.source:
        raise invalid("The CSV has no lines.", resource="plan", value=["has no lines"])
