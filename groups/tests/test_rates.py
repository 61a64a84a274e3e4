"""groups.rates."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import structlog

from groups.rates import Rate, forgive, take

TWICE = Rate(name="test", count=2, window_s=60)


def test_an_allowance_is_spent_and_says_when_there_is_more(feed):
    assert [take(TWICE, "ann"), take(TWICE, "ann")] == [None, None]
    assert 0 < take(TWICE, "ann") <= 60
    assert take(TWICE, "bob") is None and take(Rate(name="other", count=1, window_s=60), "ann") is None


def test_it_comes_back_with_time(feed):
    brief = Rate(name="brief", count=1, window_s=1)
    assert (take(brief, "ann"), take(brief, "ann")) == (None, 1)
    deadline = time.monotonic() + 5
    while take(brief, "ann") is not None:
        assert time.monotonic() < deadline


def test_it_is_given_back(feed):
    take(TWICE, "ann"), take(TWICE, "ann")
    forgive(TWICE, "ann")
    assert take(TWICE, "ann") is None


def test_takers_at_the_same_moment_get_no_more_than_there_is(feed):
    rate = Rate(name="crowd", count=20, window_s=60)
    with ThreadPoolExecutor(8) as crowd:
        taken = list(crowd.map(lambda _: take(rate, "ann"), range(100)))
    assert taken.count(None) == 20


@pytest.mark.parametrize("parts", [(("a", "b"), ("a\x1fb",)), (("a", "bc"), ("ab", "c"))])
def test_whoever_is_named_differently_is_somebody_else(feed, parts):
    one, other = parts
    rate = Rate(name="apart", count=1, window_s=60)
    take(rate, *one)
    assert take(rate, *other) is None


def test_counts_stand_in_redis_for_every_process(feed):
    take(TWICE, "ann")
    (key,) = feed.redis.keys("kaas:rates*")
    assert feed.redis.get(key) == b"1" and 0 < feed.redis.ttl(key) <= 60


def test_without_redis_each_process_counts_alone(settings):
    settings.KAAS_REDIS_URL = "unix:///nowhere/rates.sock"
    rate = Rate(name="alone", count=1, window_s=60)
    with structlog.testing.capture_logs() as logs:
        assert take(rate, "ann") is None and take(rate, "ann") is not None
        forgive(rate, "ann")
        assert take(rate, "ann") is None
    assert [line["event"] for line in logs] == ["rates_counted_alone"]  # said once, not at every request
