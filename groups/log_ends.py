"""The ends of the logs as this process knows them, and a group's committed offsets against them.

Job: per topic the newest log starts and ends; per group and topic the bare offsets and their lag.
Rules: `groups.lag.lag_of` decides what lag is; the sums here only shorten the way where they give the same. Arrays are
replaced, never changed, so that a reader in another thread sees whole ones.
Must not know: rows, Redis.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping

from groups.choices import LagStatus
from groups.lag import NOTHING_COMMITTED, group_lag, lag_of
from kaas.feed.types import TopicView

NOT_KNOWN = -1
"""Stands in an array of log ends for an end that nobody told."""


class TopicLog:
    """The newest known log starts and ends of one topic's partitions.

    `known` tells whether the cluster lists the topic. `epoch` moves when anything but growth of the ends happened: until
    then a group whose offsets all lay inside their logs needs one subtraction for its lag.
    """

    __slots__ = ("at", "end_sum", "ends", "epoch", "internal", "known", "name", "starts", "topic_id", "version")

    def __init__(self, name: str) -> None:
        self.name = name
        self.known = False
        self.internal = False
        self.topic_id: str | None = None
        self.at = 0
        self.starts = array("q")
        self.ends = array("q")
        self.end_sum = 0
        self.version = 0
        self.epoch = 0

    def told(self, view: TopicView) -> None:
        """Takes over a TopicView whole; one that is older than a snapshot's ends takes no end back, unless the topic is
        another one of the same name."""
        starts = array("q", (NOT_KNOWN if row is None else row[0] for row in view.partitions))
        ends = array("q", (NOT_KNOWN if row is None else row[1] for row in view.partitions))
        if view.at < self.at and view.topic_id == self.topic_id:
            ends = array("q", (max(end, self._end(partition)) for partition, end in enumerate(ends)))
        self.known, self.internal, self.topic_id, self.at = True, view.internal, view.topic_id, max(self.at, view.at)
        self._replace(starts, ends)

    def seen(self, at: int, told: Mapping[int, tuple[int, int]]) -> None:
        """Takes over the starts and ends that a snapshot carries, where it is newer than what is known."""
        news = {
            partition: (start, end)
            for partition, (start, end) in told.items()
            if (at >= self.at or self._end(partition) == NOT_KNOWN) and end > self._end(partition)
        }
        if not news:
            return
        missing = [NOT_KNOWN] * (max(news) + 1 - len(self.ends))
        starts, ends = array("q", [*self.starts, *missing]), array("q", [*self.ends, *missing])
        for partition, (start, end) in news.items():
            starts[partition], ends[partition] = max(starts[partition], start), end
        self.at = max(self.at, at)
        self._replace(starts, ends)

    def forgotten(self) -> None:
        """The cluster lists the topic no longer; the last ends stay, for those who committed there."""
        self.known = False
        self.at = 0
        self.version += 1

    def view(self) -> TopicView:
        """The ends in the feed's own shape; the last stable offsets are not kept."""
        rows = [
            None if end == NOT_KNOWN else (start, end, end) for start, end in zip(self.starts, self.ends, strict=True)
        ]
        return TopicView(topic=self.name, topic_id=self.topic_id, at=self.at, internal=self.internal, partitions=rows)

    def known_ends(self, partition: int) -> tuple[int | None, int | None]:
        """Log start and end of a partition, null where nobody told."""
        return _known(self.starts, partition), _known(self.ends, partition)

    def _end(self, partition: int) -> int:
        return self.ends[partition] if partition < len(self.ends) else NOT_KNOWN

    def _replace(self, starts: array[int], ends: array[int]) -> None:
        only_grew = (
            starts == self.starts
            and len(ends) == len(self.ends)
            and all(new >= old != NOT_KNOWN for new, old in zip(ends, self.ends, strict=True))
        )
        self.starts, self.ends, self.end_sum = starts, ends, sum(ends)
        self.version += 1
        if not only_grew:
            self.epoch += 1


class TopicOffsets:
    """A group's committed offsets in one topic, by partition; -1 where nothing is committed."""

    __slots__ = ("log", "offsets", "regular_epoch", "total")

    def __init__(self, log: TopicLog, committed: dict[int, int]) -> None:
        self.log = log
        self.offsets = array("q", [NOTHING_COMMITTED]) * (max(committed) + 1)
        for partition, offset in committed.items():
            self.offsets[partition] = offset
        self.total = sum(self.offsets)
        self.regular_epoch = NOT_KNOWN

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


def _known(ends: array[int], partition: int) -> int | None:
    if partition >= len(ends) or ends[partition] == NOT_KNOWN:
        return None
    return ends[partition]
