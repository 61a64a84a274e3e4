"""What happened in a cluster while this process listened, counted for /metrics.

Job: counters that only grow, and how late the last event came.
Rules: bounded: causes are few, and groups are not told apart.
Must not know: how counts are shown.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter

from kaas.feed.types import Event

BOUNDS_S = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Upper bounds of the buckets in which rebalances are counted by how long they took."""


class Tallies:
    """`rebalances` by cause; `took` holds a count for each of BOUNDS_S and one for what took longer, `took_s` their sum;
    `commits` of members; `delay_s` from the last event to its arrival here, null before the first."""

    def __init__(self) -> None:
        self.rebalances: Counter[str] = Counter()
        self.took = [0] * (len(BOUNDS_S) + 1)
        self.took_s = 0.0
        self.commits = 0
        self.delay_s: float | None = None

    def note(self, event: Event, now_ms: int) -> None:
        """Counts an event that arrived at `now_ms`."""
        self.delay_s = max(0, now_ms - event.at) / 1_000
        if event.kind == "offsets_committed":
            self.commits += event.count or 1
        elif event.kind == "rebalance_completed" and event.rebalance is not None:
            seconds = event.rebalance.duration_ms / 1_000
            self.rebalances[event.rebalance.cause] += 1
            self.took[bisect_left(BOUNDS_S, seconds)] += 1
            self.took_s += seconds
