"""groups.feeds, fed by a real reader."""

from __future__ import annotations

import asyncio

import pytest
import structlog

from groups import feeds
from groups.extension import group_emptied
from groups.feeds import feed_of, running_feeds
from groups.hub import Subscription
from groups.query import GroupQuery
from groups.testing.feed import member_view, rebalance_record, snapshot
from groups.times import now_ms
from groups.watches import GroupWatch, ListWatch

EVERYTHING, SHOP = ListWatch(GroupQuery()), GroupWatch("shop", None)


async def until(condition, within_s=10.0):
    async with asyncio.timeout(within_s):
        while not condition():
            await asyncio.sleep(0.005)


async def taken(subscription):
    return [told for batch in await subscription.take(5) for told in batch.told]


@pytest.fixture
def local(feed):
    return feed_of("local")


async def test_it_loads_and_follows(feed, local):
    feed.group(snapshot("one"))
    async with running_feeds():
        await until(lambda: local.loaded)
        assert list(local.index.rows) == ["one"] and local.index.brokers
        feed.group(snapshot("two"))
        await until(lambda: "two" in local.index.rows)
        feed.gone("one")
        await until(lambda: list(local.index.rows) == ["two"])
    local.require_loaded()


async def test_a_load_drops_what_is_gone(feed, local):
    feed.group(snapshot("one"))
    await local.reader.load()
    feed.redis.flushall()
    feed.group(snapshot("two"))
    await local.reader.load()
    assert list(local.index.rows) == ["two"]


async def test_sockets_are_told_events_with_what_changed(feed, local):
    feed.topic("orders", (0, 10))
    feed.group(snapshot("shop", state_since=1, offsets={("orders", 0): 4}))
    async with running_feeds():
        await until(lambda: local.loaded)
        everything, watching = Subscription(), Subscription()
        local.hub.join(everything, EVERYTHING)
        local.hub.join(watching, SHOP)
        feed.group(
            snapshot("shop", state_since=1, offsets={("orders", 0): 6}), "offsets_committed", topics=["orders"], count=2
        )
        (told,) = await taken(everything)
        assert (told.before.total_lag(), told.after.total_lag()) == (6, 4)
        (told,) = await taken(watching)
        assert told.event["kind"] == "offsets_committed" and told.event["at"].endswith("+00:00")
        assert told.changes["total_lag"] == 4 and told.changes["group_id"] == "shop"
        feed.group(snapshot("shop", state_since=1, offsets={("orders", 0): 7}), "offsets_committed")
        (told,) = await taken(watching)
        assert told.changes == {"total_lag": 3, "total_lag_stable": 3}
        feed.gone("shop")
        (told,) = await taken(watching)
        assert told.changes is None and told.after is None


async def test_of_several_events_in_a_batch_the_last_one_carries_the_change(feed, local):
    feed.group(snapshot("shop"))
    await local.reader.load()
    watching = Subscription()
    local.hub.join(watching, SHOP)
    for kind in ("member_joined", "rebalance_started", "state_changed"):
        feed.group(snapshot("shop", members=[member_view("one-1")]), kind)
    async with running_feeds():
        told = await taken(watching)
    assert [one.event["kind"] for one in told] == ["member_joined", "rebalance_started", "state_changed"]
    assert [bool(one.changes) for one in told] == [False, False, True]


async def test_a_new_load_makes_sockets_start_anew(feed, local):
    await local.reader.load()
    watching = Subscription()
    local.hub.join(watching, EVERYTHING)
    await local.reader.load()
    assert watching.lost == "resync"


async def test_pulses_reach_index_and_sockets(feed, local):
    feed.group(snapshot("shop", members=[member_view("one-1")]))
    async with running_feeds():
        await until(lambda: local.loaded)
        watching = Subscription()
        local.hub.join(watching, SHOP)
        async with asyncio.timeout(5):
            while not watching.heartbeats:
                feed.pulse({"shop": {"one-1": 77}})
                await asyncio.sleep(0.01)
    assert local.index.heartbeats == {"shop": {"one-1": 77}}


async def test_an_emptied_group_is_signalled_and_a_failing_receiver_stops_nobody(feed, local):
    emptied = []

    def good(sender, cluster, group_id, **_):
        emptied.append((cluster, group_id))

    def bad(sender, **_):
        raise ZeroDivisionError

    group_emptied.connect(bad)
    group_emptied.connect(good)
    try:
        async with running_feeds():
            await until(lambda: local.loaded)
            feed.group(snapshot("shop"), "state_changed", before="Stable", after="Stable")
            feed.group(snapshot("shop"), "state_changed", before="Stable", after="Empty")
            feed.group(snapshot("last"))
            await until(lambda: "last" in local.index.rows)
    finally:
        group_emptied.disconnect(bad)
        group_emptied.disconnect(good)
    assert emptied == [("local", "shop")]


async def test_rebalances_are_counted_by_cause(feed, local):
    async with running_feeds():
        await until(lambda: local.loaded)
        for cause in ("member_joined", "session_expired", "member_joined"):
            feed.event("shop", "rebalance_completed", rebalance=rebalance_record(cause=cause))
        await until(lambda: local.tallies.rebalances.total() == 3)
    assert local.tallies.rebalances == {"member_joined": 2, "session_expired": 1}


async def test_the_age_is_that_of_the_brokers_words(feed, local):
    """L11: a page had two ages, and each place that kept it added its own."""
    assert local.age_ms() is None
    feed.broker(1, at=now_ms() - 2_000)
    feed.broker(2, at=now_ms() - 60_000)
    await local.reader.load()
    assert 2_000 <= local.age_ms() < 5_000
    assert (
        local.age_ms(2) >= 60_000
        and local.age_ms(1) < 5_000
        and local.age_ms(9) == pytest.approx(local.age_ms(), abs=50)
    )
    assert [broker.id for broker in local.silent_brokers()] == [2]
    feed.broker(1, at=now_ms() - 30_000)
    await local.reader.load()
    assert 30_000 <= local.age_ms() < 40_000


async def test_a_clock_that_runs_ahead_makes_no_negative_age(feed, local):
    feed.broker(1, at=now_ms() + 60_000)
    await local.reader.load()
    assert local.age_ms() == 0 and local.age_ms(1) == 0


def test_what_was_never_read_says_so(local):
    assert [row["resource"] for row in local.problems()] == ["feed of local"]
    with pytest.raises(Exception, match="not read yet"):
        local.require_loaded()


async def test_lag_is_judged_while_the_feed_is_read_and_not_while_it_is_cut_off(feed, local, monkeypatch):
    monkeypatch.setattr(feeds, "TICK_MS", 5)
    async with running_feeds():
        await until(lambda: local.index.judged_at)
        asked = []
        monkeypatch.setattr(local.reader, "is_cut_off", lambda: asked.append(local.index.judged_at) or True)
        await until(lambda: len(asked) > 5)
    assert len(set(asked)) == 1


async def test_a_judgement_that_fails_is_logged_and_tried_again(feed, local, monkeypatch):
    monkeypatch.setattr(feeds, "TICK_MS", 5)
    turns = []

    def fails_once(index, now):
        turns.append(now)
        if len(turns) == 1:
            raise ZeroDivisionError
        return iter(())

    monkeypatch.setattr(feeds, "judge", fails_once)
    with structlog.testing.capture_logs() as logs:
        async with running_feeds():
            await until(lambda: len(turns) > 1)
    assert [line["event"] for line in logs] == ["judging_failed"]
