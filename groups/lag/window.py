"""Lag judged over a window of commits: does a group keep up, fall behind, stand still, or go back?

Job: the status of one partition with its reason, the rates at which records come in and are read, the time to clear.
Rules: pure functions of what was seen at regular ticks. A window that is not full has no status, because two moments tell
nothing about a trend. The first rule that holds decides: an offset that went back; no lag at some tick; no commit in the
window; commits that do not move; lag that never fell and grew. An offset outside its log is none of its matter: the moment
says that (groups.lag.states).
Must not know: where ticks and offsets come from.
Source of the rules: Burrow's evaluation of consumer lag, https://github.com/linkedin/Burrow/wiki/Consumer-Lag-Evaluation-Rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from groups.choices import LagStatus

WINDOW_MS = 120_000
"""How far back a verdict looks: many commits of any client that commits every few seconds, as all do by default."""

TICK_MS = 20_000
"""The distance of the ticks. Lag that grew at each of six of them is a trend."""

TICKS = WINDOW_MS // TICK_MS + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewound:
    """An offset that went back: when, from where, to where."""

    at: int
    before: int
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the windows say of a group: its worst partition, the rule that decided there as a sentence with its numbers, and
    how many other partitions have the same status."""

    status: LagStatus
    text: str
    topic: str
    partition: int
    others: int = 0


SEVERITY = (LagStatus.OK, LagStatus.WARN, LagStatus.STALLED, LagStatus.STOPPED, LagStatus.REWIND)
"""The statuses that a window gives, the worst last."""


def window_ticks(now_ms: int) -> list[int]:
    """The ticks of a window that ends now, the oldest first."""
    return list(range(now_ms - WINDOW_MS, now_ms + 1, TICK_MS))


def status_of(lags: Sequence[int], *, read: int, has_commit: bool, went_back: bool) -> LagStatus:
    """The status of one partition over a full window: its lag at each tick, the oldest first and the last one now, the
    records between its offset then and now, whether it was committed and whether it went back in that time."""
    if went_back:
        return LagStatus.REWIND
    if min(lags) <= 0:
        return LagStatus.OK
    if not has_commit:
        return LagStatus.STOPPED
    if read <= 0:
        return LagStatus.STALLED
    return LagStatus.WARN if lags[-1] > lags[0] and _never_fell(lags) else LagStatus.OK


def is_plainly_ok(*, read: int, lag_before: int, lag_now: int) -> bool:
    """Whether a partition whose offset did not go back is OK by the two ends of its window alone: a short way to what
    `status_of` would say."""
    return lag_now <= 0 or (read > 0 and lag_now <= lag_before)


def text_of(
    status: LagStatus, lags: Sequence[int], *, committed: int, silent_ms: int, rewound: Rewound | None = None
) -> str:
    """Why a partition has that status, as a sentence; `silent_ms` is the time since its last commit."""
    if status == LagStatus.REWIND and rewound is not None:
        return f"The offset went back from {rewound.before} to {rewound.after}."
    if status == LagStatus.STOPPED:
        return f"Nothing was committed for {span(silent_ms)} while {lags[-1]} records wait."
    if status == LagStatus.STALLED:
        return f"Commits go on at {committed} while {lags[-1]} records wait."
    if status == LagStatus.WARN:
        return f"The lag grew from {lags[0]} to {lags[-1]} records in two minutes."
    if min(lags) <= 0:
        return "Everything was read at some moment of the last two minutes."
    return "Offsets move on and the lag does not keep growing."


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """Records that came into the partitions of a group and that the group read, over some time."""

    produced: int
    consumed: int
    over_ms: int

    @property
    def produced_per_s(self) -> float:
        return _per_second(self.produced, self.over_ms)

    @property
    def consumed_per_s(self) -> float:
        return _per_second(self.consumed, self.over_ms)


NEVER = "Never at this rate: records come in as fast as they are read, or faster."


def time_to_clear_ms(lag: int, flow: Flow) -> int | None:
    """How long until nothing waits if both rates stay; null for never."""
    gained = flow.consumed - flow.produced
    if lag <= 0:
        return 0
    return None if gained <= 0 or flow.over_ms <= 0 else round(lag * flow.over_ms / gained)


def time_to_clear_text(lag: int | None, flow: Flow | None) -> str:
    """The same as a sentence; what is not known is said."""
    if lag is None:
        return "Not known: the lag is not known."
    if lag == 0:
        return "Nothing waits."
    if flow is None:
        return "Not known yet: the rates are measured over two minutes."
    ms = time_to_clear_ms(lag, flow)
    return NEVER if ms is None else f"In about {span(ms)} at this rate."


def span(ms: int) -> str:
    """A duration in one unit, for a sentence: 40 s, 12 min, 5 h, 3 days."""
    seconds = max(0, ms) // 1_000
    for limit, size, unit in ((120, 1, "s"), (7_200, 60, "min"), (172_800, 3_600, "h")):
        if seconds < limit:
            return f"{seconds // size} {unit}"
    return f"{seconds // 86_400} days"


def _never_fell(lags: Sequence[int]) -> bool:
    return all(after >= before for before, after in pairwise(lags))


def _per_second(records: int, over_ms: int) -> float:
    return records * 1_000 / over_ms if over_ms > 0 else 0.0
