"""The verdicts of every group in an index: what the window says, worked out at each tick.

Job: note offsets and log ends at a tick, judge the groups that lag, keep the verdict on the row; a group's flow of records.
Rules: only groups with members have a window, because a lag that nobody can read needs none. The work is cut into small
portions, so that the loop that serves sockets is never held up. `groups.lag.window` decides; what is decided here at once
(most partitions are plainly fine) is what it would decide.
Must not know: Redis, sockets, who asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count, islice

from groups.choices import LagStatus
from groups.index import GroupIndex, GroupRow
from groups.lag.ends import TopicOffsets
from groups.lag.trail import Values
from groups.lag.window import SEVERITY, Flow, Verdict, is_plainly_ok, status_of, text_of, window_ticks

ROWS_PER_PORTION = 200


def judge(index: GroupIndex, now_ms: int) -> Iterator[None]:
    """A tick over the whole index, in portions: the caller does something else between two of them."""
    ticks = window_ticks(now_ms)
    index.judged_at = now_ms
    for log in index.topics.copy().values():
        log.trail.note(now_ms, log.ends, since=ticks[0])
    names = iter(list(index.rows))
    while portion := list(islice(names, ROWS_PER_PORTION)):
        for group_id in portion:
            if (row := index.rows.get(group_id)) is not None and row.member_count:
                _judge_row(row, ticks)
        yield


def judge_at_once(index: GroupIndex, now_ms: int) -> None:
    """A tick without pauses."""
    for _ in judge(index, now_ms):
        pass


def flow_of(index: GroupIndex, row: GroupRow, now_ms: int) -> Flow | None:
    """The records that came in and that a group read since its window began, null while the window is not full."""
    first_at = window_ticks(index.judged_at)[0]
    produced = consumed = 0
    known = False
    for part in row.committed:
        for _, was, committed, end_then, end in _partitions(part, first_at):
            known = True
            produced += max(0, end - end_then)
            consumed += max(0, committed - was)
    return Flow(produced=produced, consumed=consumed, over_ms=now_ms - first_at) if known else None


def _judge_row(row: GroupRow, ticks: Sequence[int]) -> None:
    for part in row.committed:
        part.trail.note(ticks[-1], part.offsets, since=ticks[0])
    row.verdict = _verdict(row, ticks) if row.total_lag() else None


def _verdict(row: GroupRow, ticks: Sequence[int]) -> Verdict | None:
    """The worst partition of a group, null while no partition's window is full."""
    found = [(status, part, partition) for part in row.committed for status, partition in _statuses(part, ticks)]
    if not found:
        return None
    status = max((one[0] for one in found), key=SEVERITY.index)
    alike = [one for one in found if one[0] == status]
    _, part, partition = alike[0]
    text = text_of(
        status,
        _lags(_past(part, ticks), partition),
        committed=part.offsets[partition],
        silent_ms=ticks[-1] - part.times[partition],
        rewound=part.rewound.get(partition),
    )
    return Verdict(status=status, text=text, topic=part.log.name, partition=partition, others=len(alike) - 1)


def _statuses(part: TopicOffsets, ticks: Sequence[int]) -> Iterator[tuple[LagStatus, int]]:
    past = None
    for partition, was, committed, end_then, end in _partitions(part, ticks[0]):
        read, rewound = committed - was, part.rewound.get(partition)
        if rewound is None and is_plainly_ok(read=read, lag_before=end_then - was, lag_now=end - committed):
            yield LagStatus.OK, partition
            continue
        past = past or _past(part, ticks)
        has_commit, went_back = part.times[partition] >= ticks[0], rewound is not None and rewound.at >= ticks[0]
        yield status_of(_lags(past, partition), read=read, has_commit=has_commit, went_back=went_back), partition


Past = list[tuple[Values, Values]]
"""A group's offsets in one topic, and the ends of its logs, at each tick of a window."""


def _past(part: TopicOffsets, ticks: Sequence[int]) -> Past:
    return list(zip(part.trail.over(ticks), part.log.trail.over(ticks), strict=True))


def _lags(past: Past, partition: int) -> list[int]:
    """The lag of one partition at each tick; one that was away for a moment had no lag then."""
    return [
        ends[partition] - offsets[partition] if partition < len(offsets) and partition < len(ends) else 0
        for offsets, ends in past
    ]


def _partitions(part: TopicOffsets, first_at: int) -> Iterable[tuple[int, int, int, int, int]]:
    """The partitions whose offset and log end are known since before a window began: partition, offset then and now, log
    end then and now."""
    offsets_then, ends_then = part.trail.at(first_at), part.log.trail.at(first_at)
    if offsets_then is None or ends_then is None:
        return ()
    # The shortest counts, because a partition may be new; what is not known is -1.
    both = zip(count(), offsets_then, part.offsets, ends_then, part.log.ends)
    return (one for one in both if min(one) >= 0)
