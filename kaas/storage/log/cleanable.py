"""What compaction may work on, and whether it is worth it.

Job: the full segments of a log that may be rewritten now, and the share of them that never was.
Rules: the segment that is written, whatever an open transaction may still change, and what is younger than
min.compaction.lag.ms are left alone.
Must not know: how records are dropped.
Source: KIP-58 (min.compaction.lag.ms), KIP-354 (max.compaction.lag.ms); Kafka's page "Log Compaction".
"""

from __future__ import annotations

from itertools import pairwise

import msgspec

from kaas.storage.log.config import LogConfig
from kaas.storage.log.segment import Segment
from kaas.storage.log.view import LogView


class CleanableRange(msgspec.Struct, frozen=True, kw_only=True):
    """Full segments, oldest first; from `first_dirty_offset` on they were never compacted. They end at `end_offset`."""

    segments: tuple[Segment, ...]
    first_dirty_offset: int
    end_offset: int

    @property
    def dirty_segments(self) -> tuple[Segment, ...]:
        """The segments with something that was never compacted."""
        followed = pairwise([*(one.base_offset for one in self.segments), self.end_offset])
        return tuple(
            one for one, (_, end) in zip(self.segments, followed, strict=True) if end > self.first_dirty_offset
        )

    @property
    def dirty_ratio(self) -> float:
        """Which share of the bytes was never compacted."""
        total = sum(segment.size for segment in self.segments)
        return sum(segment.size for segment in self.dirty_segments) / total if total else 0.0


def cleanable_range(view: LogView, cleaned_offset: int, config: LogConfig, now_ms: int) -> CleanableRange:
    """What may be compacted now; `cleaned_offset`: where the last pass ended. Raises: OSError."""
    taken: list[Segment] = []
    end_offset = 0
    for segment, following in pairwise(view.segments):
        young = now_ms - segment.max_timestamp < config.min_compaction_lag_ms > 0
        if following.base_offset > view.last_stable_offset or (young and following.base_offset > cleaned_offset):
            break
        taken.append(segment)
        end_offset = following.base_offset
    return CleanableRange(segments=tuple(taken), first_dirty_offset=cleaned_offset, end_offset=end_offset)


def is_due(cleanable: CleanableRange, config: LogConfig, now_ms: int) -> bool:
    """Whether so much, or something so old, was never compacted that a pass is worth its work. Raises: OSError."""
    dirty = [segment for segment in cleanable.dirty_segments if segment.size]
    if not dirty:
        return False
    waits_too_long = now_ms - dirty[0].first_timestamp > config.max_compaction_lag_ms
    return waits_too_long or cleanable.dirty_ratio > config.min_cleanable_dirty_ratio
