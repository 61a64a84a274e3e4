"""Which segments of a log have had their time.

Job: count the oldest segments that may go, by age, by size, and because they lie before the log start offset.
Rules: segments go oldest first and whole; the one that is written goes last, and only when it holds something.
Must not know: files, how a segment is removed.
Source: Apache Kafka 4.2 (retention.ms, retention.bytes).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kaas.storage.log.config import LogConfig
from kaas.storage.log.segment import Segment
from kaas.storage.log.view import LogView
from kaas.wire.records.header import NO_TIMESTAMP


def expired_count(view: LogView, config: LogConfig, now_ms: int) -> int:
    """How many of the oldest segments may go. Raises: OSError, when the times of a segment cannot be read."""
    segments = view.segments
    counts = [count_before_start(view)]
    if config.delete and config.retention_ms >= 0:
        counts.append(_leading(segments, lambda segment: now_ms - _age_mark(segment) > config.retention_ms))
    if config.delete and config.retention_bytes >= 0:
        counts.append(_above_size(segments, config.retention_bytes))
    return max(counts)


def count_before_start(view: LogView) -> int:
    """How many of the oldest segments lie before the log start offset."""
    ends = [segment.base_offset for segment in view.segments[1:]]
    if view.segments and view.segments[-1].size:
        ends.append(view.high_watermark)
    return sum(end <= view.log_start_offset for end in ends)


def _above_size(segments: Sequence[Segment], retention_bytes: int) -> int:
    """Without the oldest ones that are counted, what is left is still as large as the limit."""
    surplus = sum(segment.size for segment in segments) - retention_bytes
    count = 0
    for segment in segments:
        surplus -= segment.size
        if surplus < 0 or segment.size == 0:
            break
        count += 1
    return count


def _leading(segments: Sequence[Segment], old: Callable[[Segment], bool]) -> int:
    count = 0
    for segment in segments:
        if not old(segment) or (segment is segments[-1] and segment.size == 0):
            break
        count += 1
    return count


def _age_mark(segment: Segment) -> int:
    """The time of the newest record; of a segment without timestamps the time of its last write."""
    newest = segment.max_timestamp
    return segment.changed_ms if newest == NO_TIMESTAMP else newest
