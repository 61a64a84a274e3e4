"""groups.redis_store."""

from __future__ import annotations

import pytest

from groups.problems import Problem
from groups.redis_store import redis_client, snapshot_of, topic_views
from groups.testing.feed import snapshot
from kaas.feed import keys


def test_single_looks_find_what_the_feed_holds(feed):
    feed.group(snapshot("a/b"))
    feed.topic("orders", (0, 5), None)
    assert snapshot_of("local", "a/b").group_id == "a/b" and snapshot_of("local", "none") is None
    assert topic_views("local", ["orders", "none"])["orders"].partitions == [(0, 5, 5), None]
    assert topic_views("local", []) == {}


def test_what_cannot_be_read_is_a_problem(feed):
    feed.redis.hset(keys.groups("local"), "torn", b"{")
    feed.redis.hset(keys.topics("local"), "torn", b"{")
    for ask in (
        lambda: snapshot_of("local", "torn"),
        lambda: topic_views("local", ["torn"]),
    ):
        with pytest.raises(Problem) as torn:
            ask()
        assert torn.value.kind.status == 503


def test_a_server_that_is_away_is_a_problem(settings):
    settings.KAAS_REDIS_URL = "unix:///nowhere/valkey.sock"
    for ask in (lambda: snapshot_of("local", "x"), lambda: topic_views("local", ["t"])):
        with pytest.raises(Problem) as away:
            ask()
        assert away.value.kind.retriable


def test_a_process_has_one_client_per_server(feed):
    assert redis_client() is redis_client()
