"""The ends of the logs as this process knows them, and a group's committed offsets against them.

Job: per topic the newest log starts, ends and last stable offsets; per group and topic the bare offsets and their lag, now
and at the ticks of a window.
Rules: `groups.lag.states` decides what lag is; the sums here only shorten the way where they give the same. Arrays are
replaced, never changed, so that a reader in another thread sees whole ones. Trails are touched by the feed's thread alone.
Must not know: rows, Redis.
"""

from __future__ import annotations

import operator
from array import array
from collections.abc import Iterable, Mapping

from groups.choices import LagStatus
from groups.lag.states import NOTHING_COMMITTED, group_lag, lag_of
from groups.lag.trail import Trail
from groups.lag.window import Rewound
from kaas.feed.types import TopicView

NOT_KNOWN = -1
"""Stands in an array of log ends for an end that nobody told."""

Ends = tuple[int, int, int]
"""Log start, log end, last stable offset."""


class Moves:
    """How often any log moved, counted after each: who has seen all of them need look at no log again."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


MOVES = Moves()


class TopicLog:
    """The newest known log starts, ends and last stable offsets of one topic's partitions.

    `known` tells whether the cluster lists the topic. `epoch` moves when anything but growth of the ends happened: until
    then a group whose offsets all lay inside their logs needs one subtraction for its lag. `trail` remembers the ends.
    """

    __slots__ = (
        "at",
        "end_sum",
        "ends",
        "epoch",
        "internal",
        "known",
        "name",
        "stables",
        "starts",
        "topic_id",
        "trail",
        "version",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.known = False
        self.internal = False
        self.topic_id: str | None = None
        self.at = 0
        self.starts = array("q")
        self.ends = array("q")
        self.stables = array("q")
        self.end_sum = 0
        self.version = 0
        self.epoch = 0
        self.trail = Trail()

    def told(self, view: TopicView) -> None:
        """Takes over a TopicView whole; one that is older than a snapshot's ends takes no end back, unless the topic is
        another one of the same name."""
        starts, ends, stables = (
            array("q", (NOT_KNOWN if row is None else row[place] for row in view.partitions)) for place in range(3)
        )
        if view.topic_id != self.topic_id:
            self.trail = Trail()
        elif view.at < self.at:
            ends = array("q", (max(end, _or_not_known(self.ends, p)) for p, end in enumerate(ends)))
            stables = array("q", (max(end, _or_not_known(self.stables, p)) for p, end in enumerate(stables)))
        self.known, self.internal, self.topic_id, self.at = True, view.internal, view.topic_id, max(self.at, view.at)
        self._replace(starts, ends, stables)

    def seen(self, at: int, told: Mapping[int, Ends]) -> None:
        """Takes over the ends that a snapshot carries, where it is newer than what is known."""
        news = {
            partition: ends
            for partition, ends in told.items()
            if (at >= self.at or _or_not_known(self.ends, partition) == NOT_KNOWN)
            and ends[1] > _or_not_known(self.ends, partition)
        }
        if not news:
            return
        missing = [NOT_KNOWN] * (max(news) + 1 - len(self.ends))
        starts, ends, stables = (array("q", [*held, *missing]) for held in (self.starts, self.ends, self.stables))
        for partition, (start, end, stable) in news.items():
            starts[partition], ends[partition] = max(starts[partition], start), end
            stables[partition] = max(stables[partition], stable)
        self.at = max(self.at, at)
        self._replace(starts, ends, stables)

    def forgotten(self) -> None:
        """The cluster lists the topic no longer; the last ends stay, for those who committed there."""
        self.known = False
        self.at = 0
        self.version += 1
        MOVES.count += 1

    def view(self) -> TopicView:
        """The ends in the feed's own shape."""
        rows = [
            None if end == NOT_KNOWN else (start, end, stable)
            for start, end, stable in zip(self.starts, self.ends, self.stables, strict=True)
        ]
        return TopicView(topic=self.name, topic_id=self.topic_id, at=self.at, internal=self.internal, partitions=rows)

    def known_ends(self, partition: int) -> tuple[int | None, int | None]:
        """Log start and end of a partition, null where nobody told."""
        return _known(self.starts, partition), _known(self.ends, partition)

    def _replace(self, starts: array[int], ends: array[int], stables: array[int]) -> None:
        only_grew = (
            starts == self.starts
            and len(ends) == len(self.ends)
            and all(new >= old != NOT_KNOWN for new, old in zip(ends, self.ends, strict=True))
        )
        self.starts, self.ends, self.stables, self.end_sum = starts, ends, stables, sum(ends)
        self.version += 1
        if not only_grew:
            self.epoch += 1
        MOVES.count += 1


class TopicOffsets:
    """A group's committed offsets in one topic, by partition; -1 where nothing is committed, and then the time of the
    commit is 0. `trail` remembers the offsets, `rewound` by partition the last time that one went back.

    `before` is what the group had in this topic until now.
    """

    __slots__ = ("log", "offsets", "regular_epoch", "rewound", "times", "total", "trail")

    def __init__(
        self,
        log: TopicLog,
        committed: Mapping[int, tuple[int, int]],
        *,
        at: int = 0,
        before: TopicOffsets | None = None,
    ) -> None:
        self.log = log
        size = max(committed) + 1
        self.offsets = array("q", [NOTHING_COMMITTED]) * size
        self.times = array("q", [0]) * size
        for partition, (offset, committed_at) in committed.items():
            self.offsets[partition], self.times[partition] = offset, committed_at
        self.total = sum(self.offsets)
        self.regular_epoch = NOT_KNOWN
        self.trail = Trail() if before is None else before.trail
        self.rewound: dict[int, Rewound] = {} if before is None else self._went_back(at, before)

    def committed(self) -> Iterable[tuple[int, int]]:
        """Partition and offset, where one is committed."""
        return ((p, offset) for p, offset in enumerate(self.offsets) if offset != NOTHING_COMMITTED)

    def lag(self) -> tuple[int | None, bool]:
        """The lag in this topic (null where no partition has one), and whether an offset lies outside its log.

        The sums give what `lag_of` gives partition by partition, as long as all are committed, known and inside.
        """
        log = self.log
        if self.regular_epoch == log.epoch:
            return log.end_sum - self.total, False
        if self._is_regular():
            self.regular_epoch = log.epoch
            return log.end_sum - self.total, False
        return self._lag_by_partition()

    def _went_back(self, at: int, before: TopicOffsets) -> dict[int, Rewound]:
        """Where offsets went back since `before`; a deleted offset went nowhere."""
        if not any(map(operator.gt, before.offsets, self.offsets)):
            return before.rewound
        pairs = enumerate(zip(before.offsets, self.offsets, strict=False))
        found = {p: Rewound(at=at, before=old, after=new) for p, (old, new) in pairs if NOTHING_COMMITTED < new < old}
        return {**before.rewound, **found}

    def _is_regular(self) -> bool:
        log, offsets = self.log, self.offsets
        return len(offsets) == len(log.ends) and all(
            0 <= start <= offset <= end for start, offset, end in zip(log.starts, offsets, log.ends, strict=True)
        )

    def _lag_by_partition(self) -> tuple[int | None, bool]:
        lags = []
        for partition, offset in self.committed():
            start, end = self.log.known_ends(partition)
            lags.append(lag_of(committed=offset, log_start=start, log_end=end))
        whole = group_lag(lags, has_members=True)
        return whole.total, whole.status == LagStatus.OUT_OF_RANGE


def _or_not_known(values: array[int], partition: int) -> int:
    return values[partition] if partition < len(values) else NOT_KNOWN


def _known(ends: array[int], partition: int) -> int | None:
    found = _or_not_known(ends, partition)
    return None if found == NOT_KNOWN else found
