"""kaasadmin.health."""

from __future__ import annotations

import pytest
from django.db import DatabaseError
from django.test import Client

from groups.feeds import feed_of
from groups.times import now_ms
from kaasadmin import health

pytestmark = pytest.mark.django_db


def ready(expect):
    response = Client().get("/readyz")
    assert response.status_code == expect, response.content
    return response.json()


def test_healthz_asks_nobody(settings):
    settings.KAAS_REDIS_URL = "unix:///nowhere/valkey.sock"
    assert Client().get("/healthz").json() == {"status": "ok"}


def test_readyz_works(world):
    world.read()
    told = ready(200)
    assert told["status"] == "ok" and all(check["ok"] for check in told["checks"].values())
    assert set(told["checks"]) == {"database", "redis", "feed_local"}
    assert told["brokers"] == {"local/1": {"ok": True, "state": "alive", "error": None}}


def test_a_feed_that_was_not_read_or_has_no_broker_is_not_ready(world):
    assert ready(503)["status"] == "not_ready"
    world.feed.redis.flushall()
    world.read()
    assert ready(503)["checks"]["feed_local"]["loaded"] is True


def test_a_feed_that_is_cut_off_is_not_ready(world, monkeypatch):
    world.read()
    monkeypatch.setattr(feed_of("local").reader, "is_cut_off", lambda: True)
    assert ready(503)["checks"]["feed_local"]["cut_off"] is True


def test_a_broker_that_cannot_write_is_said_but_takes_the_console_away_from_nobody(world):
    world.feed.broker(2, state="read_only", error="no space left", at=now_ms())
    world.read()
    told = ready(200)
    assert told["status"] == "degraded"
    assert told["brokers"]["local/2"] == {"ok": False, "state": "read_only", "error": "no space left"}


def test_redis_and_database_are_asked(world, settings, monkeypatch):
    world.read()

    class Broken:
        def cursor(self):
            raise DatabaseError("gone")

    monkeypatch.setattr(health, "connection", Broken())
    settings.KAAS_REDIS_URL = "unix:///nowhere/valkey.sock"
    checks = ready(503)["checks"]
    assert checks["database"] == {"ok": False, "why": "gone"} and checks["redis"]["ok"] is False
