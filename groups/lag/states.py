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
from groups.lag.window import Verdict

NOTHING_COMMITTED = -1
"""What Kafka answers in place of an offset where none is committed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lag:
    """One partition's lag. `records` counts to the log's end, `stable` to its last stable offset: that is what waits for a
    consumer with isolation.level=read_committed, and no broker knows which of the two a group is. Both are null where no
    number is true. `lost` counts the records between the commit and the log's start that nobody can read any more."""

    state: LagState
    records: int | None
    stable: int | None = None
    lost: int = 0


_NONE_COMMITTED = Lag(state=LagState.NONE_COMMITTED, records=None)
_UNKNOWN = Lag(state=LagState.UNKNOWN, records=None)
_PAST_LOG_END = Lag(state=LagState.PAST_LOG_END, records=None)


def lag_of(*, committed: int | None, log_start: int | None, log_end: int | None, last_stable: int | None = None) -> Lag:
    """The lag of one partition. Offsets are Kafka's; null stands for what is not known or not there.

    A commit beyond the last stable offset comes from a consumer that reads everything; for one that does not, nothing waits.
    """
    if committed is None or committed == NOTHING_COMMITTED:
        return _NONE_COMMITTED
    if log_start is None or log_end is None:
        return _UNKNOWN
    if committed > log_end:
        return _PAST_LOG_END
    return Lag(
        state=_state(committed, log_start, log_end),
        records=log_end - committed,
        stable=None if last_stable is None else max(0, last_stable - committed),
        lost=max(0, log_start - committed),
    )


def _state(committed: int, log_start: int, log_end: int) -> LagState:
    if committed < log_start:
        return LagState.BEFORE_LOG_START
    if committed < log_end:
        return LagState.LAGGING
    return LagState.EMPTY if log_start == log_end else LagState.CAUGHT_UP


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLag:
    """A group's lag: `total` and `stable` are null where no partition has a number."""

    total: int | None
    stable: int | None
    status: LagStatus


def group_lag(partitions: Iterable[Lag], *, has_members: bool) -> GroupLag:
    """The sum over a group's partitions, and what it says of the group."""
    lags = list(partitions)
    states = {lag.state for lag in lags}
    total = _sum(lag.records for lag in lags)
    out_of_range = not states.isdisjoint({LagState.BEFORE_LOG_START, LagState.PAST_LOG_END})
    committed = bool(states - {LagState.NONE_COMMITTED})
    return GroupLag(
        total=total,
        stable=_sum(lag.stable for lag in lags),
        status=lag_status(committed=committed, total=total, out_of_range=out_of_range, has_members=has_members),
    )


def _sum(numbers: Iterable[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None


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


_STATUS_TEXTS = {
    LagStatus.NONE_COMMITTED: "Nothing is committed.",
    LagStatus.OK: "Everything was read.",
    LagStatus.LAGGING: "Records wait. Whether the group keeps up shows when two minutes of its commits were seen.",
    LagStatus.STOPPED: "Records wait, and the group has no members.",
    LagStatus.OUT_OF_RANGE: "A committed offset lies outside its log.",
    LagStatus.UNKNOWN: "The ends of the logs are not known.",
}


def status_text(status: LagStatus) -> str:
    """Why a group has a status that this moment alone gives, as a sentence."""
    return _STATUS_TEXTS[status]


def judged(status: LagStatus, verdict: Verdict | None) -> LagStatus:
    """The status that stands where a window's verdict is known: it only ever says more of a group that lags."""
    return verdict.status if status == LagStatus.LAGGING and verdict is not None else status
