"""Lag: the one function that says how far a committed offset is from the end of its log.

Job: one partition's lag state and number, and a group's status made from its partitions.
Rules: what is not known is never a number. A commit past the end or none at all has no lag; a commit before the log's
start has the distance to the end, as Kafka's own tool counts it, and the records that are gone are said beside it.
Must not know: where offsets and log ends come from.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from groups.choices import LagState, LagStatus

NOTHING_COMMITTED = -1
"""What Kafka answers in place of an offset where none is committed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lag:
    """One partition's lag: `records` is null where no number is true; `lost` counts the records between the commit and
    the log's start that nobody can read any more."""

    state: LagState
    records: int | None
    lost: int = 0


_NONE_COMMITTED = Lag(state=LagState.NONE_COMMITTED, records=None)
_UNKNOWN = Lag(state=LagState.UNKNOWN, records=None)
_PAST_LOG_END = Lag(state=LagState.PAST_LOG_END, records=None)
_CAUGHT_UP = Lag(state=LagState.CAUGHT_UP, records=0)
_EMPTY = Lag(state=LagState.EMPTY, records=0)


def lag_of(*, committed: int | None, log_start: int | None, log_end: int | None) -> Lag:
    """The lag of one partition. Offsets are Kafka's; null stands for what is not known or not there."""
    if committed is None or committed == NOTHING_COMMITTED:
        return _NONE_COMMITTED
    if log_start is None or log_end is None:
        return _UNKNOWN
    if committed > log_end:
        return _PAST_LOG_END
    if committed < log_start:
        return Lag(state=LagState.BEFORE_LOG_START, records=log_end - committed, lost=log_start - committed)
    if committed == log_end:
        return _EMPTY if log_start == log_end else _CAUGHT_UP
    return Lag(state=LagState.LAGGING, records=log_end - committed)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLag:
    """A group's lag: `total` is null where no partition has a number."""

    total: int | None
    status: LagStatus


def group_lag(partitions: Iterable[Lag], *, has_members: bool) -> GroupLag:
    """The sum over a group's partitions, and what it says of the group."""
    states, numbers = set(), []
    for lag in partitions:
        states.add(lag.state)
        if lag.records is not None:
            numbers.append(lag.records)
    total = sum(numbers) if numbers else None
    out_of_range = not states.isdisjoint({LagState.BEFORE_LOG_START, LagState.PAST_LOG_END})
    committed = bool(states - {LagState.NONE_COMMITTED})
    return GroupLag(
        total=total,
        status=lag_status(committed=committed, total=total, out_of_range=out_of_range, has_members=has_members),
    )


def lag_status(*, committed: bool, total: int | None, out_of_range: bool, has_members: bool) -> LagStatus:
    """The status that these facts allow. Lag without anybody who could read it is `stopped`."""
    if not committed:
        return LagStatus.NONE_COMMITTED
    if out_of_range:
        return LagStatus.OUT_OF_RANGE
    if total is None:
        return LagStatus.UNKNOWN
    if total == 0:
        return LagStatus.OK
    return LagStatus.LAGGING if has_members else LagStatus.STOPPED
