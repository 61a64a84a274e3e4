"""The history: rebalances from the feed's stream into the database.

Job: one small step: read on from the kept position, write what ended, keep the new position.
Rules: rows and position change in one transaction, and the position only from the value it was read at: a worker that dies
loses nothing, a twin that reads the same entries writes nothing.
Must not know: Celery, the index.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import structlog
from django.db import transaction
from django.db.models import Max

from groups.fields import id_digest
from groups.models import FeedPosition, Rebalance
from groups.redis_store import redis_client
from groups.times import moment
from kaas.feed import keys
from kaas.feed.reader import BEGINNING, stream_order
from kaas.feed.types import Event, RebalanceRecord

ENTRIES_PER_STEP = 1_000

_log = structlog.get_logger(__name__)
_decode_event = msgspec.json.Decoder(Event).decode

Ended = tuple[str, str, RebalanceRecord]
"""Stream id, group id, what ended."""


def history_write(cluster: str) -> int:
    """Takes up to 1,000 entries of a cluster's stream into the history; how many it read.

    Raises redis.exceptions.RedisError when Redis does not answer.
    """
    position, _ = FeedPosition.objects.get_or_create(cluster=cluster, defaults={"stream_id": BEGINNING})
    stream = keys.events(cluster)
    _warn_of_gap(stream, position)
    entries = redis_client().xrange(stream, min=f"({position.stream_id}", count=ENTRIES_PER_STEP)
    if not entries:
        return 0
    ended = list(_ended(entries))
    with transaction.atomic():
        moved = FeedPosition.objects.filter(cluster=cluster, stream_id=position.stream_id).update(
            stream_id=entries[-1][0].decode()
        )
        if moved:
            Rebalance.objects.bulk_create(_rows(cluster, ended))
    return len(entries) if moved else 0


def _warn_of_gap(stream: str, position: FeedPosition) -> None:
    """A stream that was trimmed past the position has lost events for good: that is said, not hidden."""
    oldest = redis_client().xrange(stream, count=1)
    reached = stream_order(position.stream_id)
    if oldest and position.stream_id != BEGINNING and stream_order(oldest[0][0].decode()) > reached:
        _log.warning("history_gap", cluster=position.cluster, kept=position.stream_id, oldest=oldest[0][0].decode())


def _ended(entries: Iterable[tuple[bytes, dict[bytes, bytes]]]) -> Iterable[Ended]:
    for stream_id, fields in entries:
        try:
            event = _decode_event(fields[keys.EVENT_FIELD])
        except (msgspec.DecodeError, KeyError) as problem:
            _log.warning("event_unreadable", stream_id=stream_id.decode(), problem=str(problem))
            continue
        if event.kind == "rebalance_completed" and event.rebalance is not None:
            yield stream_id.decode(), event.group_id, event.rebalance


def _rows(cluster: str, ended: list[Ended]) -> list[Rebalance]:
    digests = {group_id: id_digest(group_id) for _, group_id, _ in ended}
    newest = dict(
        Rebalance.objects.filter(cluster=cluster, group_digest__in=digests.values())
        .order_by()
        .values_list("group_digest")
        .annotate(Max("number"))
    )
    rows = []
    for stream_id, group_id, record in ended:
        digest = digests[group_id]
        newest[digest] = number = newest.get(digest, 0) + 1
        rows.append(
            Rebalance(
                cluster=cluster,
                group_id=group_id,
                group_digest=digest,
                number=number,
                stream_id=stream_id,
                started_at=moment(record.started_at),
                ended_at=moment(record.ended_at),
                cause=record.cause,
                record=msgspec.to_builtins(record),
            )
        )
    return rows
