"""How far behind a group is in time: from when is the record that it reads next?

Job: an offset to the time at which it was the end of the log, between two samples of that end.
Rules: nothing is guessed. The answer comes with its resolution, the distance of the two samples around it; an offset that the
log had passed before the first sample gives "more than"; without samples of the past there is no answer.
Must not know: where samples come from.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from groups.lag.window import span


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """The end of a log at a moment, both in Kafka's units."""

    at: int
    log_end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Behind:
    """The age of the oldest record that waits. `resolution_ms` is how far off it may be; `at_least`: it is older than what
    is kept, and `ms` is how far that reaches."""

    ms: int
    resolution_ms: int = 0
    at_least: bool = False


CAUGHT_UP = Behind(ms=0)


def behind(ends: Sequence[End], committed: int) -> Behind | None:
    """How old the record at an offset is, null where nothing tells. `ends` are in order of time, and the last one is now."""
    ends = _since_it_last_fell(ends)
    if not ends:
        return None
    now = ends[-1]
    if committed >= now.log_end:
        return CAUGHT_UP
    after = bisect_right(ends, committed, key=lambda one: one.log_end)
    if after == 0:
        if len(ends) == 1:
            return None
        return Behind(ms=now.at - ends[0].at, at_least=True)
    before, passed = ends[after - 1], ends[after]
    share = (committed - before.log_end) / (passed.log_end - before.log_end)
    written_at = before.at + share * (passed.at - before.at)
    return Behind(ms=round(now.at - written_at), resolution_ms=passed.at - before.at)


def longest(several: Iterable[Behind | None]) -> Behind | None:
    """The longest of several; null when one of them is not known, because that one might be longer."""
    found = list(several)
    if not found or None in found:
        return None
    return max((one for one in found if one is not None), key=lambda one: (one.ms, one.at_least))


def behind_text(one: Behind | None) -> str:
    """The same as a sentence."""
    if one is None:
        return "Not known: too few samples of the logs' ends are kept."
    if one.ms == 0 and not one.at_least:
        return "Nothing waits."
    if one.at_least:
        return f"The oldest record that waits is more than {span(one.ms)} old, which is as far as samples reach."
    return f"The oldest record that waits is {span(one.ms)} old, give or take {span(one.resolution_ms)}."


def _since_it_last_fell(ends: Sequence[End]) -> Sequence[End]:
    """The samples since the log's end last went back: a topic that was made anew has another past."""
    for place in range(len(ends) - 1, 0, -1):
        if ends[place].log_end < ends[place - 1].log_end:
            return ends[place:]
    return ends
