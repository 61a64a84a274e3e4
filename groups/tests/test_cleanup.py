"""groups.cleanup and groups.tasks."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.contrib.sessions.models import Session
from django.utils import timezone

from groups import cleanup, tasks
from groups.clusters import clusters
from groups.feeds import feed_of
from groups.gateways import gateway_use
from groups.models import AuditRow, FeedPosition, IdempotentRequest, OffsetBackup, Rebalance, Token
from groups.problems import Problem, not_connected
from groups.testing.feed import rebalance_record, snapshot
from groups.times import now_ms
from kaas.feed import keys

pytestmark = pytest.mark.django_db

LONG_AGO = now_ms() - 3_600_000


@pytest.fixture
def local():
    return clusters()["local"]


def held(feed):
    return sorted(name.decode() for name in feed.redis.hkeys(keys.groups("local")))


def test_entries_without_a_group_are_taken_away_and_told(world, local):
    world.group("there", at=LONG_AGO)
    world.feed.group(snapshot("orphan", at=LONG_AGO))
    world.read()
    assert cleanup.feed_sweep(local) == 1
    assert held(world.feed) == ["there"]
    row = AuditRow.objects.get()
    assert (row.actor, row.action, row.group_id, row.outcome) == ("sweep", "feed_entry_drop", "orphan", "done")
    kinds = [entry[1][b"e"] for entry in world.feed.redis.xrange(keys.events("local"))]
    assert b'"kind":"group_expired"' in kinds[-1]
    assert "orphan" in feed_of("local").index.rows
    world.read()
    assert list(feed_of("local").index.rows) == ["there"]


def test_what_was_published_a_moment_ago_is_left_alone(world, local):
    world.feed.group(snapshot("fresh"))
    assert cleanup.feed_sweep(local) == 0 and held(world.feed) == ["fresh"]


def test_what_was_published_meanwhile_is_left_alone(world, local, monkeypatch):
    world.feed.group(snapshot("back", at=LONG_AGO))
    judged = cleanup._take_away

    def published_meanwhile(cluster, group_id, value):
        world.feed.group(snapshot("back"))
        return judged(cluster, group_id, value)

    monkeypatch.setattr(cleanup, "_take_away", published_meanwhile)
    assert cleanup.feed_sweep(local) == 0 and held(world.feed) == ["back"]
    assert AuditRow.objects.get().after == {"dropped": False}


def test_an_incomplete_answer_is_no_reason(world, local):
    world.feed.group(snapshot("orphan", at=LONG_AGO))
    world.gateway.failing = not_connected("cluster local", "one broker is away")
    with pytest.raises(Problem):
        cleanup.feed_sweep(local)
    assert held(world.feed) == ["orphan"]


def test_rows_whose_time_is_over_go_and_others_stay(db, settings):
    now = timezone.now()
    user = get_user_model().objects.create_user("ann")
    for age in (0, 45):
        at = now - timedelta(days=age)
        Token.objects.create(owner=user, name=f"t{age}", digest=f"d{age}", role="read", expires_at=at)
        IdempotentRequest.objects.create(actor="a", key_digest=f"{age}", request_digest="")
        Rebalance.objects.create(
            cluster="local",
            group_id="g",
            number=age,
            stream_id=f"{age}",
            started_at=at,
            ended_at=at,
            cause="c",
            record={},
        )
        OffsetBackup.objects.create(cluster="local", group_id="g", actor="a", action="b", offsets={})
        Session.objects.create(session_key=f"s{age}", session_data="", expire_date=at + timedelta(days=1))
    IdempotentRequest.objects.filter(key_digest="45").update(created_at=now - timedelta(days=45))
    OffsetBackup.objects.filter(pk=OffsetBackup.objects.last().pk).update(taken_at=now - timedelta(days=45))
    assert cleanup.expiry_sweep() == 5
    for model in (Token, IdempotentRequest, Rebalance, OffsetBackup, Session):
        assert model.objects.count() == 1
    assert cleanup.expiry_sweep() == 0


def test_a_sweep_is_done_in_steps(db, monkeypatch):
    monkeypatch.setattr(cleanup, "_ROWS_PER_STEP", 2)
    for number in range(3):
        IdempotentRequest.objects.create(actor="a", key_digest=f"{number}", request_digest="")
    IdempotentRequest.objects.update(created_at=timezone.now() - timedelta(days=45))
    assert [cleanup.expiry_sweep(), cleanup.expiry_sweep(), cleanup.expiry_sweep()] == [2, 1, 0]


def test_the_tasks_do_their_work(world):
    world.feed.event("shop", "rebalance_completed", rebalance=rebalance_record())
    world.feed.group(snapshot("orphan", at=LONG_AGO))
    tasks.history_write()
    tasks.feed_sweep()
    tasks.expiry_sweep()
    assert Rebalance.objects.count() == 1 and held(world.feed) == []


def test_a_cluster_that_is_away_stops_no_other(world, settings):
    local = clusters()["local"]
    settings.KAAS_CLUSTERS = {"away": type(local)(name="away", bootstrap="127.0.0.1:1"), "local": local}
    world.feed.group(snapshot("orphan", at=LONG_AGO))

    class Away:
        def group_ids(self):
            raise not_connected("cluster away", "refused")

    away = settings.KAAS_CLUSTERS["away"]
    gateway_use(away, Away())
    tasks.feed_sweep()
    gateway_use(away, None)
    assert held(world.feed) == []


def test_a_redis_that_is_away_is_left_to_the_next_turn(db, settings):
    settings.KAAS_REDIS_URL = "unix:///nowhere/valkey.sock"
    tasks.history_write()
    assert FeedPosition.objects.get().stream_id == "0-0"
