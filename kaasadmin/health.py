"""Is this process alive, and can it do its work.

Job: /healthz and /readyz.
Rules: healthz asks nobody. readyz is 200 as long as the console can show and tell what it knows: database, Redis and a feed
that was read and is not cut off. A broker that cannot write is said (`degraded`), but takes the console away from nobody.
Must not know: groups one by one.
"""

from __future__ import annotations

from typing import Any

from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from redis.exceptions import RedisError

from groups.clusters import clusters
from groups.feeds import ClusterFeed, feed_of
from groups.redis_store import redis_client

Check = dict[str, Any]


def healthz(request: HttpRequest) -> JsonResponse:
    """200 as long as the process answers."""
    return JsonResponse({"status": "ok"})


def readyz(request: HttpRequest) -> JsonResponse:
    """200 when the console can do its work, else 503; the body says what is missing."""
    checks = {"database": _database(), "redis": _redis()}
    brokers: dict[str, Check] = {}
    for name in clusters():
        feed = feed_of(name)
        checks[f"feed_{name}"] = _feed(feed)
        brokers.update({f"{name}/{broker.id}": _broker(broker) for broker in feed.index.brokers.copy().values()})
    ready = all(check["ok"] for check in checks.values())
    whole = ready and all(broker["ok"] for broker in brokers.values())
    status = "ok" if whole else "degraded" if ready else "not_ready"
    return JsonResponse({"status": status, "checks": checks, "brokers": brokers}, status=200 if ready else 503)


def _database() -> Check:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as problem:
        return {"ok": False, "why": str(problem)}
    return {"ok": True}


def _redis() -> Check:
    try:
        redis_client().ping()
    except RedisError as problem:
        return {"ok": False, "why": str(problem)}
    return {"ok": True}


def _feed(feed: ClusterFeed) -> Check:
    told = bool(feed.index.brokers)
    cut_off = feed.reader.is_cut_off()
    return {
        "ok": feed.loaded and told and not cut_off,
        "loaded": feed.loaded,
        "cut_off": cut_off,
        "age_ms": feed.age_ms(),
        "skipped": feed.reader.skipped,
    }


def _broker(broker) -> Check:
    return {"ok": broker.state == "alive", "state": broker.state, "error": broker.error}
