"""The broker's end of the feed: a task that writes snapshots and events to Redis.

Job: hear announcements, gather them, publish; say once a second who this broker is, where logs end, and who has been heard.
Rules
- The request path pays one dict entry and one append. Encoding and sending are this task's.
- Membership, phases and states go out at once; commits at most every `commits_interval_ms` per group. A publication that was
  dear (a group of thousands) makes its group wait longer before the next one, so that a storm cannot starve requests.
- A snapshot and its events travel in one transaction, so that a reader never sees one without the other.
- Redis away: nothing but a mark per group is kept. When it is back every marked group is published whole with a `resync` event.
  A Redis that has forgotten everything (it does not know this life of this broker) gets everything again.
Must not know: what groups do.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterable
from typing import Any, Protocol

import msgspec
import redis.asyncio
import structlog
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from kaas.coordinator.announcements import Announcement
from kaas.coordinator.timers import TimerKey
from kaas.feed import keys
from kaas.feed.backlog import Backlog, Changes
from kaas.feed.publication import Press, Publication
from kaas.feed.types import BrokerView, Pulse, TopicView
from kaas.feed.views import heard_ms

log = structlog.get_logger("kaas.feed")

GROUPS_PER_PIPELINE = 100
RESYNC_PER_PIPELINE = 500
RETRY_S = (0.1, 0.2, 0.5, 1.0, 2.0)
PULSE_S = 0.2
BROKER_S = 1.0
REST_FACTOR = 10
"""After a publication that took t the group rests for so many times t."""
DEAR_S = 0.002
"""Cheaper publications need no rest."""

_encode = msgspec.json.Encoder().encode


class Source(Protocol):
    """What the publisher asks of the broker."""

    def now_ms(self) -> int: ...

    def wall_offset_ms(self) -> int: ...

    def broker_view(self) -> BrokerView:
        """This broker as it is now."""

    def topic_views(self, *, everything: bool) -> Iterable[TopicView]:
        """Topics whose log ends moved since the last question, or all of them."""


class Publisher:
    """Publishes one broker's part of one cluster's feed."""

    def __init__(
        self,
        url: str,
        press: Press,
        source: Source,
        *,
        events_kept: int,
        commits_interval_ms: int,
        topics_interval_ms: int,
    ) -> None:
        # Trying again is ours to decide; and with a timeout of its own redis-py can lose a cancellation (asyncio.wait_for).
        self._redis: Any = redis.asyncio.Redis.from_url(url, retry=Retry(NoBackoff(), 0), socket_timeout=None)
        self._press = press
        self._source = source
        self._events_kept = events_kept
        self._commits_s = commits_interval_ms / 1_000
        self._topics_s = topics_interval_ms / 1_000
        self._backlog = Backlog()
        self._heard: dict[TimerKey, None] = {}
        self._wake = asyncio.Event()
        self._connected = False
        self._said = False
        self._task: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()

    # the request path

    def heard(self, group_id: str, what: Announcement) -> None:
        """Something happened to a group."""
        if not self._connected:
            self._backlog.marks[group_id] = None
            return
        if self._backlog.add(group_id, self._source.now_ms() + self._source.wall_offset_ms(), what):
            self._wake.set()

    def beat(self, key: TimerKey) -> None:
        """A session timer was set again: a member was heard."""
        self._heard[key] = None

    # life

    def start(self, group_ids: Iterable[str]) -> None:
        """Begin; every group that is there is published whole first."""
        self._backlog.marks.update(dict.fromkeys(group_ids))
        self._task = self._loop.create_task(self._run(), name="feed")

    async def stop(self) -> None:
        """Publish what waits if Redis is there, then end."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        if self._connected:
            with contextlib.suppress(RedisError, OSError, asyncio.TimeoutError):
                async with asyncio.timeout(2):
                    await self._publish(lazy=True)
                    await self._say_broker()
        await self._redis.aclose()

    async def _run(self) -> None:
        attempt = 0
        while True:
            try:
                await self._connect()
                attempt = 0
                await self._follow()
            except (RedisError, OSError) as problem:
                if self._connected or attempt == 0:
                    log.warning("the feed is cut off", error=str(problem))
                self._connected = False
                self._backlog.forget()
                await asyncio.sleep(RETRY_S[min(attempt, len(RETRY_S) - 1)])
                attempt += 1

    async def _connect(self) -> None:
        """Everything that readers may have missed."""
        view = self._source.broker_view()
        stored = await self._redis.hget(keys.brokers(self._press.cluster), str(view.id))
        knows_us = stored is not None and msgspec.json.decode(stored, type=BrokerView).incarnation == view.incarnation
        self._said = knows_us
        if not knows_us:
            self._backlog.marks.update(dict.fromkeys(self._press.groups))
            self._backlog.marks.update(dict.fromkeys(await self._stale()))
        self._press.known.clear()
        await self._say_topics(everything=True)
        self._connected = True
        await self._resync()
        await self._say_broker()
        log.info("the feed is connected", groups=len(self._press.groups))

    async def _stale(self) -> list[str]:
        """Groups that the feed has as this broker's and that are not there."""
        listed = await self._redis.hkeys(keys.groups(self._press.cluster))
        return [name for raw in listed if (name := raw.decode()) not in self._press.groups]

    async def _resync(self) -> None:
        while self._backlog.marks:
            group_ids = list(self._backlog.marks)[:RESYNC_PER_PIPELINE]
            now_ms, offset_ms = self._source.now_ms(), self._source.wall_offset_ms()
            await self._send([self._press.resync(group_id, now_ms, offset_ms) for group_id in group_ids])
            for group_id in group_ids:
                self._backlog.marks.pop(group_id, None)

    async def _follow(self) -> None:
        """Publish what comes, until Redis fails."""
        loop = self._loop
        lazy_at = broker_at = topics_at = pulse_at = loop.time()
        while True:
            now = loop.time()
            if self._backlog.urgent or now >= lazy_at:
                await self._publish(lazy=now >= lazy_at)
                lazy_at = now + self._commits_s if now >= lazy_at else lazy_at
            if now >= pulse_at:
                await self._say_pulse()
                pulse_at = now + PULSE_S
            if now >= topics_at:
                await self._say_topics(everything=False)
                topics_at = now + self._topics_s
            if now >= broker_at:
                await self._say_broker()
                broker_at = now + BROKER_S
            self._wake.clear()
            if not self._backlog.urgent:
                with contextlib.suppress(asyncio.TimeoutError):
                    wait_s = min(lazy_at, pulse_at, topics_at, broker_at) - loop.time()
                    await asyncio.wait_for(self._wake.wait(), max(wait_s, 0.001))

    async def _publish(self, *, lazy: bool) -> None:
        """Publish groups that are due, a pipeline at a time."""
        while taken := self._backlog.take(GROUPS_PER_PIPELINE, lazy=lazy):
            try:
                await self._send([self._made(group_id, changes) for group_id, changes in taken])
            except (RedisError, OSError):
                self._backlog.forget(taken)
                raise

    def _made(self, group_id: str, changes: Changes) -> Publication:
        """A publication; a dear one makes its group rest."""
        begun = time.perf_counter()
        made = self._press.publish(group_id, changes, self._source.now_ms(), self._source.wall_offset_ms())
        took_s = time.perf_counter() - begun
        if took_s > DEAR_S:
            self._backlog.resting[group_id] = None
            self._loop.call_later(took_s * REST_FACTOR, self._rested, group_id)
        return made

    def _rested(self, group_id: str) -> None:
        if self._backlog.rested(group_id):
            self._wake.set()

    async def _send(self, publications: list[Publication]) -> None:
        """One transaction for all of them."""
        if not publications:
            return
        hash_key, stream_key = keys.groups(self._press.cluster), keys.events(self._press.cluster)
        pipeline = self._redis.pipeline(transaction=True)
        for one in publications:
            if one.snapshot is None:
                pipeline.hdel(hash_key, one.group_id)
            else:
                pipeline.hset(hash_key, one.group_id, one.snapshot)
            for event in one.events:
                pipeline.xadd(stream_key, {keys.EVENT_FIELD: event}, maxlen=self._events_kept, approximate=True)
        await pipeline.execute()

    async def _say_broker(self) -> None:
        """This broker's line. If it was not there any more, Redis has forgotten everything while we were connected."""
        view = self._source.broker_view()
        is_new = await self._redis.hset(keys.brokers(self._press.cluster), str(view.id), _encode(view))
        if is_new and self._said:
            log.warning("the feed was emptied: everything is told again")
            self._backlog.marks.update(dict.fromkeys(self._press.groups))
            self._press.known.clear()
            await self._say_topics(everything=True)
            await self._resync()
        self._said = True

    async def _say_topics(self, *, everything: bool) -> None:
        views: dict[str, Any] = {view.topic: _encode(view) for view in self._source.topic_views(everything=everything)}
        key = keys.topics(self._press.cluster)
        if everything:
            listed = {name.decode() for name in await self._redis.hkeys(key)}
            if gone := listed - views.keys():
                await self._redis.hdel(key, *gone)
        if views:
            await self._redis.hset(key, mapping=views)

    async def _say_pulse(self) -> None:
        """Who was heard since the last pulse."""
        if not self._heard:
            return
        beats, self._heard = self._heard, {}
        offset_ms = self._source.wall_offset_ms()
        groups: dict[str, dict[str, int]] = {}
        for _, group_id, member_id in beats:
            heard = heard_ms(self._press.groups.get(group_id), member_id)
            if heard is not None:
                groups.setdefault(group_id, {})[member_id] = heard + offset_ms
        message = _encode(Pulse(at=self._source.now_ms() + offset_ms, groups=groups))
        await self._redis.publish(keys.pulse(self._press.cluster), message)
