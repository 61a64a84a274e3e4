"""The broker as a whole: every part wired together, listening, started and stopped in order.

Job: own the parts and their lives.
Rules: the port is open before the groups are read, so that clients find somebody who tells them to wait. At a stop the port
closes first, then groups and logs make durable what they were asked for. The lock on the data folder keeps a second broker with
the same id away from it. Users, rules and changed settings are read before the port is open: there is no moment without them.
Must not know: requests.
"""

from __future__ import annotations

import asyncio
import fcntl
import functools
import os
import uuid
from pathlib import Path
from typing import IO

import msgspec
import structlog

from kaas.broker import listeners
from kaas.broker.broker import Broker
from kaas.broker.clock import Clock
from kaas.broker.configs import FILE_NAME as CONFIGS_FILE
from kaas.broker.configs import Configs
from kaas.broker.connection import Connection
from kaas.broker.dispatch import Dispatcher
from kaas.broker.feed_source import start_feed
from kaas.broker.following import follow_groups, follow_topics, settings_changed
from kaas.broker.group_service import GroupService
from kaas.broker.markers import MarkerWriter
from kaas.broker.security.service import Security
from kaas.broker.security.tls import client_auth
from kaas.broker.settings import Settings
from kaas.broker.topic_service import TopicService
from kaas.cluster.alone import take_over
from kaas.cluster.assignment import BrokerEntry, Listener
from kaas.cluster.view import ClusterView
from kaas.feed.publisher import Publisher
from kaas.storage.files import CLUSTER_FOLDER, broker_lock

log = structlog.get_logger("kaas.broker")

BACKLOG = 1_024


class FolderTaken(Exception):
    """Another broker works in this data folder."""


class Server:
    """A broker that listens. `host` and `port` are where, if no setting says so; port 0 takes a free one.

    `broker` holds its parts, and the address that it came to listen on.
    """

    def __init__(
        self, *, data: Path, host: str, port: int, broker_id: int, settings: Settings, redis_url: str | None = None
    ) -> None:
        self.data = data
        self.redis_url = redis_url
        folder, clock = data / CLUSTER_FOLDER, Clock()
        self.broker = Broker(
            broker_id=broker_id,
            host=host,
            port=port,
            incarnation=str(uuid.uuid4()),
            started_at=clock.wall_ms(),
            settings=settings,
            configs=Configs(folder / CONFIGS_FILE, broker_id, settings, lambda: settings_changed(self.broker)),
            clock=clock,
        )
        self.dispatcher = Dispatcher(self.broker)
        self.security = Security(self.broker, self.dispatcher, folder)
        self.feed: Publisher | None = None
        self._servers: list[asyncio.Server] = []
        self._loading: asyncio.Task[None] | None = None
        self._lock: IO[str] | None = None

    async def start(self) -> None:
        """Open the port; groups load behind it. Raises FolderTaken, OSError, BadAssignment, BadFile, BadConfigs, BadSetting."""
        loop, broker = asyncio.get_running_loop(), self.broker
        settings, clock, folder = broker.settings, broker.clock, self.data / CLUSTER_FOLDER
        self._lock = await loop.run_in_executor(None, lock_folder, self.data, broker.broker_id)
        await loop.run_in_executor(None, broker.configs.load)
        await loop.run_in_executor(None, self.security.load)
        listening = [await self._listen(one) for one in listeners.bound(settings, broker.host, broker.port)]
        told = listeners.advertised(settings, listening)
        broker.host, broker.port = told[0].host, told[0].port
        entry = BrokerEntry(
            id=broker.broker_id,
            host=broker.host,
            listeners=tuple(told),
            state="alive",
            last_seen=clock.wall_ms(),
        )
        assignment = await loop.run_in_executor(None, take_over, folder, entry, clock.wall_ms())
        broker.cluster = ClusterView.of(broker.broker_id, assignment)
        broker.groups = GroupService(folder, broker.broker_id, assignment.assignment_version, settings, clock)
        broker.topics = TopicService(self.data, settings, clock)
        broker.groups.markers = MarkerWriter(broker)
        follow_groups(broker)
        await broker.topics.start()
        follow_topics(broker)
        self.security.start()
        for server in self._servers:
            await server.start_serving()
        log.info("listening", broker=broker.broker_id, **{one.name: f"{one.host}:{one.port}" for one in listening})
        self._loading = loop.create_task(self._load())

    async def loaded(self) -> None:
        """Until the groups are there."""
        assert self._loading is not None
        await self._loading

    async def _load(self) -> None:
        """Bring the groups back, then begin to tell of them."""
        await self.broker.groups.load()
        if self.redis_url is not None:
            self.feed = start_feed(self.broker, self.redis_url)

    async def _listen(self, listener: Listener) -> Listener:
        """Bind, without serving yet; the listener with the port that it got. Raises OSError, BadSetting."""
        settings = self.broker.settings
        protocol = listeners.protocol_of(settings, listener.name)
        max_bytes = settings["socket.request.max.bytes"]
        make = functools.partial(Connection, self.security.desk(listener.name, protocol), listener.name, max_bytes)
        loop = asyncio.get_running_loop()
        host = listener.host or "0.0.0.0"  # noqa: S104 - as asked for, and said aloud
        server = await loop.create_server(
            make,
            host,
            listener.port,
            backlog=BACKLOG,
            start_serving=False,
            ssl=self.security.context(listener.name, protocol),
        )
        self._servers.append(server)
        shown = client_auth(settings, listener.name, protocol)
        danger = listeners.danger(listener, protocol, shown, has_rules=self.security.has_rules)
        if danger is not None:
            log.warning(danger, listener=listener.name, host=host)
        return msgspec.structs.replace(listener, host=host, port=server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Stop serving and make everything durable."""
        for server in self._servers:
            server.close()
        self.dispatcher.close_all()
        self.security.stop()
        if self._loading is not None:
            await asyncio.wait([self._loading])
        await self.broker.groups.stop()
        if self.feed is not None:
            await self.feed.stop()
        await self.broker.topics.stop()
        if self._lock is not None:
            self._lock.close()
        log.info("stopped", broker=self.broker.broker_id)


def lock_folder(data: Path, broker_id: int) -> IO[str]:
    """Hold the folder for this broker; closing the file lets it go. Raises FolderTaken."""
    folder = data / CLUSTER_FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    file = broker_lock(folder, broker_id).open("a+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.seek(0)
        holder = file.read().strip()
        file.close()
        raise FolderTaken(
            f"{data} is used by another broker with id {broker_id} (process {holder or 'unknown'}); "
            "stop it, or give this one another --data or --broker-id"
        ) from None
    file.truncate(0)
    file.write(str(os.getpid()))
    file.flush()
    return file
