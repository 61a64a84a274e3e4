"""Lag over time, read back: samples of a group and of its topics put together at the moments that were sampled.

Job: the points of a chart; how far behind in time partitions are.
Rules: a point stands at a moment at which everything was looked at, and nowhere else. What was not written again since an
earlier sample is what it was then. A long time is shown at the finest step that reaches back so far, with one point per
stretch: the last one in it.
Must not know: requests, who may see what.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.conf import settings

from groups.fields import id_digest
from groups.lag.behind import Behind, End, behind
from groups.lag.samples import Sample, Step, unpacked
from groups.models import LagChunk, LagTick

Place = tuple[str, int]
"""Topic and partition."""

Standing = tuple[int, int]
"""Committed offset, and the end of the log."""

GROUP, TOPIC = LagChunk.Kind.GROUP.value, LagChunk.Kind.TOPIC.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which partitions count: all of a group, those of one topic, or one of them."""

    topic: str | None = None
    partition: int | None = None

    def holds(self, topic: str, partition: int) -> bool:
        return self.topic in (None, topic) and self.partition in (None, partition)


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """Lag at a moment, in records, with what it is the difference of: sums over the partitions that have both. All are null
    where nothing was known."""

    at: int
    lag: int | None = None
    committed: int | None = None
    log_end: int | None = None


def step_for(now_ms: int, begin: int, end: int, points: int) -> Step:
    """The finest step that reaches back to `begin`, or a coarser one that still gives so many points."""
    steps: Sequence[Step] = settings.KAAS_LAG_STEPS
    reaching = [step for step in steps if now_ms - step.kept_ms < begin + step.step_ms] or [steps[-1]]
    enough = [step for step in reaching if step.step_ms * points <= end - begin]
    return enough[-1] if enough else reaching[0]


def points_of(cluster: str, group_id: str, scope: Scope, step: Step, begin: int, end: int, points: int) -> list[Point]:
    """The lag of a group between two moments (milliseconds since 1970), at most so many points."""
    moments = _thinned(_ticks(cluster, step, begin, end), begin, end, points)
    if not moments:
        return []
    group = _samples(cluster, GROUP, [group_id], step, begin, end).get(group_id, [])
    names = {name for sample in group for name in sample.values if scope.topic in (None, name)}
    topics = _samples(cluster, TOPIC, sorted(names), step, begin, end)
    return [
        _point(at, _latest(group, at), {name: _latest(topics[name], at) for name in topics}, scope) for at in moments
    ]


def behind_of(cluster: str, places: Mapping[Place, Standing], now_ms: int) -> dict[Place, Behind | None]:
    """How far behind in time each partition is, by its offset and its log's present end. The finest samples are asked first,
    the coarser ones only for what is older than those."""
    found: dict[Place, Behind | None] = dict.fromkeys(places)
    open_ = set(places)
    for step in settings.KAAS_LAG_STEPS:
        ends = _ends(cluster, sorted({topic for topic, _ in open_}), step, now_ms - step.kept_ms, now_ms)
        for place in sorted(open_):
            committed, log_end = places[place]
            past = _of_partition(ends.get(place[0], ()), place[1])
            answer = behind([*past, End(at=now_ms, log_end=log_end)], committed)
            found[place] = answer or found[place]
            if answer is not None and not answer.at_least:
                open_.remove(place)
    return found


def _ends(cluster: str, topics: Sequence[str], step: Step, begin: int, end: int) -> dict[str, list[tuple[int, Sample]]]:
    """The log ends of each topic at the moments that were sampled."""
    if not topics:
        return {}
    ticks = _ticks(cluster, step, begin, end)
    samples = _samples(cluster, TOPIC, topics, step, begin, end)
    return {
        topic: [(at, sample) for at in ticks if (sample := _latest(some, at)) is not None]
        for topic, some in samples.items()
    }


def _of_partition(ends: Iterable[tuple[int, Sample]], partition: int) -> list[End]:
    return [End(at=at, log_end=told.values[partition]) for at, told in ends if _known(told.values, partition)]


def _ticks(cluster: str, step: Step, begin: int, end: int) -> list[int]:
    rows = LagTick.objects.filter(cluster=cluster, step_ms__gte=step.step_ms, at__gte=begin, at__lte=end)
    return list(rows.order_by("at").values_list("at", flat=True))


def _thinned(ticks: Sequence[int], begin: int, end: int, points: int) -> list[int]:
    """At most so many moments: the last one of each of so many equal stretches of time."""
    if len(ticks) <= points:
        return list(ticks)
    last = {(at - begin) * points // (end - begin + 1): at for at in ticks}
    return list(last.values())


def _samples(
    cluster: str, kind: str, names: Sequence[str], step: Step, begin: int, end: int
) -> dict[str, list[Sample]]:
    """The samples of each name in order of time, from the last one before `begin` on."""
    digests = {id_digest(name): name for name in names}
    chunks = LagChunk.objects.filter(cluster=cluster, kind=kind, digest__in=digests, step_ms__gte=step.step_ms)
    inside = chunks.filter(begins_at__lte=end, last_at__gte=begin)
    found: dict[str, dict[int, Sample]] = {}
    for digest, data in [*_last_before(chunks, begin), *inside.values_list("digest", "samples")]:
        samples = found.setdefault(digests[digest], {})
        samples.update((sample.at, sample) for sample in unpacked(data))
    return {name: [samples[at] for at in sorted(samples)] for name, samples in found.items()}


def _last_before(chunks, begin: int) -> Iterable[tuple[str, bytes]]:
    """The newest chunk of each digest that ended before a moment."""
    newest: dict[str, tuple[int, int]] = {}
    for digest, last_at, pk in (
        chunks.filter(last_at__lt=begin).order_by("last_at").values_list("digest", "last_at", "pk")
    ):
        newest[digest] = (last_at, pk)
    return LagChunk.objects.filter(pk__in=[pk for _, pk in newest.values()]).values_list("digest", "samples")


def _latest(samples: Sequence[Sample], at: int) -> Sample | None:
    """The newest sample of a moment or before it."""
    place = bisect_right(samples, at, key=lambda sample: sample.at)
    return samples[place - 1] if place else None


def _point(at: int, group: Sample | None, topics: Mapping[str, Sample | None], scope: Scope) -> Point:
    found = [
        sums
        for topic, offsets in (group.values.items() if group is not None else ())
        if (told := topics.get(topic)) is not None
        and (sums := sums_of(offsets, told.values, scope.partition)) is not None
    ]
    if not found:
        return Point(at=at)
    committed, log_end = (sum(one[place] for one in found) for place in range(2))
    return Point(at=at, lag=log_end - committed, committed=committed, log_end=log_end)


def sums_of(offsets: Sequence[int], ends: Sequence[int], partition: int | None = None) -> tuple[int, int] | None:
    """Committed offsets and log ends of one topic, summed over the partitions (or for one of them) whose lag
    `groups.lag.states` gives a number; null where there is none. A chart asks this some hundred thousand times."""
    committed = log_end = counted = 0
    for number, (offset, end) in enumerate(zip(offsets, ends, strict=False)):
        # What is not committed or not known is -1, and an offset past the end has no lag.
        if 0 <= offset <= end and partition in (None, number):
            committed, log_end, counted = committed + offset, log_end + end, counted + 1
    return (committed, log_end) if counted else None


def _known(values: Sequence[int], partition: int) -> bool:
    return partition < len(values) and values[partition] >= 0
