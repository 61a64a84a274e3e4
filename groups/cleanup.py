"""Sweeps: what nobody needs any more, taken away a little at a time.

Job: feed entries whose group the cluster does not know, and database rows whose time is over.
Rules: a sweep is small, resumable and safe against a twin: it takes a thing away only as long as it is what it was when it
was judged. An answer that may be incomplete is no reason to take anything away.
Must not know: Celery. The broker's files are the broker's.
"""

from __future__ import annotations

from datetime import timedelta

import msgspec
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db.models import QuerySet
from django.utils import timezone

from groups.audit import audited
from groups.choices import JobState
from groups.clusters import Cluster
from groups.gateways import gateway_of
from groups.idempotency import KEPT
from groups.models import Alert, Delivery, IdempotentRequest, Job, OffsetBackup, Rebalance, Token
from groups.redis_store import redis_client
from groups.times import now_ms
from kaas.feed import keys
from kaas.feed.types import Event, Snapshot

QUIET_MS = 60_000
"""A group published so recently may be too new for the list it is compared with."""

TOKENS_KEPT = timedelta(days=30)
"""A token that is over stays in the list for a while, so that its owner sees why a script stopped."""

_ROWS_PER_STEP = 1_000
_SCAN = 500

_TAKE_AWAY = """
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[5], '*', ARGV[3], ARGV[4])
return 1
"""
"""Takes a feed entry away if it is still the one that was judged, and tells the readers, as one step."""

_decode_snapshot = msgspec.json.Decoder(Snapshot).decode


def feed_sweep(cluster: Cluster) -> int:
    """Takes feed entries away whose group the cluster does not know; how many.

    Raises Problem (503, 504) when a broker did not answer: then nothing is taken away. Raises
    redis.exceptions.RedisError when Redis does not answer.
    """
    known = gateway_of(cluster).group_ids()
    taken = 0
    for field, value in redis_client().hscan_iter(keys.groups(cluster.name), count=_SCAN):
        group_id = field.decode()
        if group_id not in known:
            taken += _take_away(cluster.name, group_id, value)
    return taken


def _take_away(cluster: str, group_id: str, value: bytes) -> int:
    snapshot = _decode_snapshot(value)
    if now_ms() - snapshot.at < QUIET_MS:
        return 0
    gone = Event(
        kind="group_expired",
        cluster=cluster,
        group_id=group_id,
        at=now_ms(),
        coordinator=snapshot.coordinator,
        coordinator_epoch=snapshot.coordinator_epoch,
        version=snapshot.version + 1,
    )
    places = (keys.groups(cluster), keys.events(cluster))
    told = (group_id, value, keys.EVENT_FIELD, msgspec.json.encode(gone), keys.EVENTS_KEPT)
    with audited(
        actor="sweep", action="feed_entry_drop", cluster=cluster, group_id=group_id, before={"state": snapshot.state}
    ) as row:
        taken = int(redis_client().eval(_TAKE_AWAY, len(places), *places, *told))
        row.after = {"dropped": bool(taken)}
    return taken


def expiry_sweep() -> int:
    """Deletes database rows whose time is over, at most a thousand of each kind; how many."""
    now = timezone.now()
    history = now - timedelta(days=settings.KAAS_HISTORY_DAYS)
    over = (
        Token.objects.filter(expires_at__lt=now - TOKENS_KEPT),
        IdempotentRequest.objects.filter(created_at__lt=now - KEPT),
        Session.objects.filter(expire_date__lt=now),
        Rebalance.objects.filter(ended_at__lt=history),
        OffsetBackup.objects.filter(taken_at__lt=history),
        Alert.objects.filter(resolved_at__lt=history),
        Delivery.objects.filter(ended_at__lt=history),
        Job.objects.filter(created_at__lt=history).exclude(state=JobState.RUNNING),
    )
    return sum(_delete_some(rows) for rows in over)


def _delete_some(rows: QuerySet) -> int:
    some = list(rows.order_by("pk").values_list("pk", flat=True)[:_ROWS_PER_STEP])
    deleted, _ = rows.model._default_manager.filter(pk__in=some).delete()
    return deleted
