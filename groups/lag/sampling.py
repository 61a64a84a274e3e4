"""Taking samples: from this process's index into the database, only where something changed.

Job: one small step: claim the moment, write what differs from the newest sample, note that the moment was sampled.
Rules:
- Of several workers one takes each sample, because the claim is a conditional update. The moment is noted last, so that a
  worker that dies halfway leaves a moment of which nothing is claimed.
- A sample is stored once, in the coarsest due step that does not say the same already. So a step together with all coarser
  ones tells its whole story, and what changed for a moment only is forgotten with the fine step.
- What this process remembers only saves questions; the newest sample in the database decides whether something changed.
Must not know: Celery, who reads the samples.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Max

from groups.feeds import ClusterFeed, feed_of
from groups.fields import id_digest
from groups.index import GroupIndex
from groups.lag.samples import Sample, Step, Values, packed, unpacked
from groups.models import LagChunk, LagClock, LagTick
from groups.times import now_ms

SUBJECTS_PER_BATCH = 500
"""Groups or topics that one transaction writes: other writers wait no longer than for these."""

_ROWS_PER_DELETION = 1_000
_DELETIONS_PER_SWEEP = 50

GROUP, TOPIC = LagChunk.Kind.GROUP.value, LagChunk.Kind.TOPIC.value
Subject = tuple[str, str]
"""Kind of what is sampled, and the digest of its name."""

_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Book:
    """What this process knows of a cluster: when it took the last sample itself; per step the newest sample of each subject at
    that step or a coarser one, and the subjects whose newest sample somebody else wrote."""

    sampled_at: int = 0
    known: dict[int, dict[Subject, Sample]] = field(default_factory=lambda: defaultdict(dict))
    doubtful: dict[int, set[Subject]] = field(default_factory=lambda: defaultdict(set))
    writing: threading.Lock = field(default_factory=threading.Lock)

    def remember(self, step: Step, samples: Mapping[Subject, Sample]) -> None:
        """Takes over the newest samples at a step; one without values is of something that is gone."""
        known = self.known[step.step_ms]
        known.update(samples)
        for subject in [one for one, sample in samples.items() if not sample.values]:
            del known[subject]

    def doubt(self, subjects: Collection[Subject], steps: Iterable[Step]) -> None:
        """Somebody else wrote of these: what was known of them need not be the newest any more."""
        for step in steps:
            self.doubtful[step.step_ms].update(subjects)
            for subject in subjects:
                self.known[step.step_ms].pop(subject, None)


_books: dict[str, _Book] = {}


def lag_sample(cluster: str) -> int:
    """Takes the sample that is due, if one is and nobody else took it; how many chunks were written.

    A cluster whose feed is not read at the moment is not sampled: what is not known is no sample.
    """
    feed, book = feed_of(cluster), _books.setdefault(cluster, _Book())
    if not _is_known(feed) or not book.writing.acquire(blocking=False):
        return 0
    try:
        return _sample(cluster, feed.index, book, now_ms())
    finally:
        book.writing.release()


def forget_samples() -> None:
    """Begins anew, as a new process does: for tests."""
    _books.clear()


def lag_sweep() -> int:
    """Deletes samples whose time is over, and the ones whose time is over next when there are more than KAAS_LAG_ROWS; how
    many."""
    now = now_ms()
    deleted = _delete(LagTick.objects.filter(kept_until__lt=now))
    deleted += _delete(LagChunk.objects.filter(kept_until__lt=now))
    surplus = LagChunk.objects.count() - settings.KAAS_LAG_ROWS
    if surplus > 0:
        _log.warning("lag_history_shortened", rows=settings.KAAS_LAG_ROWS, surplus=surplus)
        deleted += _delete(LagChunk.objects.all(), most=surplus)
    return deleted


def _is_known(feed: ClusterFeed) -> bool:
    return feed.loaded and not feed.reader.is_cut_off()


def _sample(cluster: str, index: GroupIndex, book: _Book, now: int) -> int:
    due, sampled_at = _claim(cluster, now)
    if not due:
        return 0
    if sampled_at != book.sampled_at:
        book.doubt(_written_since(cluster, book.sampled_at), settings.KAAS_LAG_STEPS)
    found = _subjects(index)
    written = sum(_write_step(cluster, step, found, book, now) for step in reversed(due))
    kept_until = max(now + step.kept_ms for step in due)
    LagTick.objects.create(cluster=cluster, at=now, step_ms=due[-1].step_ms, kept_until=kept_until)
    book.sampled_at = now
    return written


def _claim(cluster: str, now: int) -> tuple[list[Step], int]:
    """The steps of which a sample is due, if this caller is the one who takes it, and when the last one was taken."""
    clock, _ = LagClock.objects.get_or_create(cluster=cluster)
    due = [step for step in settings.KAAS_LAG_STEPS if now // step.step_ms != clock.ticked_at // step.step_ms]
    if not due or not LagClock.objects.filter(cluster=cluster, ticked_at=clock.ticked_at).update(ticked_at=now):
        return [], clock.ticked_at
    return due, clock.ticked_at


def _written_since(cluster: str, at: int) -> set[Subject]:
    rows = LagChunk.objects.filter(cluster=cluster, last_at__gt=at).order_by()
    return set(rows.values_list("kind", "digest").distinct())


def _subjects(index: GroupIndex) -> dict[Subject, Values]:
    """The present values of every group with offsets, and of every topic that somebody reads."""
    found: dict[Subject, Values] = {}
    for row in index.all():
        if row.committed:
            found[GROUP, _digest(row.group_id)] = {part.log.name: part.offsets for part in row.committed}
    for name in tuple(index.readers):
        if (log := index.topics.get(name)) is not None and log.ends:
            found[TOPIC, _digest(name)] = log.ends
    return found


_digest = lru_cache(maxsize=200_000)(id_digest)


def _write_step(cluster: str, step: Step, found: Mapping[Subject, Values], book: _Book, now: int) -> int:
    known, doubtful = book.known[step.step_ms], book.doubtful[step.step_ms]
    coarsest = step == settings.KAAS_LAG_STEPS[-1]
    stale = now - step.kept_ms // 2 if coarsest else 0  # written anew before the last one is too old to be found
    gone = (known.keys() | doubtful) - found.keys()
    changed = [
        subject
        for subject, values in found.items()
        if (last := known.get(subject)) is None or last.values != values or last.at < stale
    ]
    written = 0
    for some in _batches([*changed, *sorted(gone)]):
        samples = {subject: Sample(now, found.get(subject, _NOTHING[subject[0]])) for subject in some}
        with transaction.atomic():
            fresh = _new_to_the_database(cluster, step, samples, known.keys(), stale)
            written += _append(cluster, step, fresh, now)
        book.remember(step, samples)
        for finer in (one for one in settings.KAAS_LAG_STEPS if one.step_ms < step.step_ms):
            book.remember(finer, fresh)
    doubtful.clear()
    return written


_NOTHING: dict[str, Values] = {GROUP: {}, TOPIC: []}


def _batches(subjects: Sequence[Subject]) -> Iterable[list[Subject]]:
    rest = iter(subjects)
    while some := list(islice(rest, SUBJECTS_PER_BATCH)):
        yield some


def _new_to_the_database(
    cluster: str, step: Step, samples: Mapping[Subject, Sample], known: Collection[Subject], stale: int
) -> dict[Subject, Sample]:
    """The samples that the newest one in the database does not say already; what this process knew was compared before."""
    newest = _newest(cluster, step, [subject for subject in samples if subject not in known])

    def is_new(subject: Subject, sample: Sample) -> bool:
        last = newest.get(subject)
        if subject in known:
            return True
        if last is None:
            return bool(sample.values)
        return last.values != _plain(sample.values) or last.at < stale

    return {subject: sample for subject, sample in samples.items() if is_new(subject, sample)}


def _newest(cluster: str, step: Step, subjects: Iterable[Subject]) -> dict[Subject, Sample]:
    """The newest sample of each of these at a step or a coarser one."""
    found = {}
    for kind, digests in _by_kind(subjects).items():
        chunks = LagChunk.objects.filter(cluster=cluster, kind=kind, digest__in=digests, step_ms__gte=step.step_ms)
        newest = dict(chunks.order_by().values_list("digest").annotate(Max("last_at")))
        for chunk in chunks.filter(last_at__in=set(newest.values())):
            if newest[chunk.digest] == chunk.last_at:
                found[kind, chunk.digest] = unpacked(chunk.samples)[-1]
    return found


def _append(cluster: str, step: Step, samples: Mapping[Subject, Sample], now: int) -> int:
    """Adds samples to the chunks of this moment; how many chunks that were."""
    begins_at = step.begins_at(now)
    held: dict[Subject, bytes] = {}
    for kind, digests in _by_kind(samples).items():
        rows = LagChunk.objects.filter(cluster=cluster, kind=kind, step_ms=step.step_ms, begins_at=begins_at)
        held.update({(kind, one.digest): one.samples for one in rows.filter(digest__in=digests).select_for_update()})
    chunks = [
        LagChunk(
            cluster=cluster,
            kind=subject[0],
            digest=subject[1],
            step_ms=step.step_ms,
            begins_at=begins_at,
            last_at=now,
            kept_until=step.kept_until(now),
            samples=packed([*_unpacked(held.get(subject)), Sample(now, _plain(sample.values))]),
        )
        for subject, sample in samples.items()
    ]
    LagChunk.objects.bulk_create(
        chunks,
        update_conflicts=True,
        unique_fields=["cluster", "kind", "digest", "step_ms", "begins_at"],
        update_fields=["last_at", "samples"],
    )
    return len(chunks)


def _unpacked(chunk: bytes | None) -> list[Sample]:
    return [] if chunk is None else unpacked(chunk)


def _by_kind(subjects: Iterable[Subject]) -> dict[str, list[str]]:
    """Digests by kind."""
    found: dict[str, list[str]] = {}
    for kind, digest in subjects:
        found.setdefault(kind, []).append(digest)
    return found


def _plain(values: Values) -> Values:
    if isinstance(values, dict):
        return {topic: list(offsets) for topic, offsets in values.items()}
    return list(values)


def _delete(rows, most: int | None = None) -> int:
    """Deletes rows in small portions, those first whose time is over first; what is left waits for the next sweep."""
    deleted = 0
    for _ in range(_DELETIONS_PER_SWEEP):
        limit = _ROWS_PER_DELETION if most is None else min(_ROWS_PER_DELETION, most - deleted)
        some = list(rows.order_by("kept_until").values_list("pk", flat=True)[:limit]) if limit > 0 else []
        if not some:
            break
        rows.model.objects.filter(pk__in=some).delete()
        deleted += len(some)
    return deleted
