"""Follows a cluster's feed in Redis and hands on what it finds.

Job: load every snapshot, then follow the event stream from the id taken before the load, so that nothing is missed;
read the topics and brokers hashes each second; hear the pulses; come back by itself after a lost connection; tell its
own age.
Rules:
- One reader per process and cluster. All callbacks run on the reader's event loop and must be short.
- With a batch of events come the present snapshots of the groups they name, read from the hash after the events: the
  writer puts a snapshot into the hash no later than its event into the stream, so no listener needs the patches.
- Whatever cannot prove that it missed nothing loads again: a stream trimmed past the last id, a stream that began anew.
- A value that cannot be read is logged, counted and skipped; it stops nothing.
Must not know: what listeners make of it, Django.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec
from redis.asyncio import Redis, from_url
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from kaas.feed import keys
from kaas.feed.types import Event

log = logging.getLogger(__name__)

BEGINNING = "0-0"
"""The stream id before every other."""

CUT_OFF_AFTER_MS = 3_000
"""A reader that heard nothing for so long says that it is cut off; an idle stream still answers each second."""

_BLOCK_MS = 1_000
_ANSWER_WITHIN_S = 5.0
_BATCH = 1_000
_SCAN = 500
_VIEWS_EVERY_S = 1.0
_BACKOFF_S = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0)

_event_decoder = msgspec.json.Decoder(Event)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One event of the stream, with the stream id under which a reader may resume."""

    id: str
    event: Event


class Listener(Protocol):
    """What a reader tells. Values stay encoded (JSON bytes), so that each listener decodes only what it keeps.

    `load_began`, then `group_loaded` for each group, then `load_ended` with the stream id that the load stands for;
    groups that were not named between the two are gone. `events_came` carries the snapshots that the hash holds after
    these events, null for a group that is no longer there. `topics_changed` and `brokers_changed` name what is new or
    different, null for what is gone.
    """

    def load_began(self) -> None: ...

    def group_loaded(self, group_id: str, snapshot: bytes) -> None: ...

    def load_ended(self, stream_id: str) -> None: ...

    def events_came(self, entries: Sequence[Entry], snapshots: Mapping[str, bytes | None]) -> None: ...

    def topics_changed(self, views: Mapping[str, bytes | None]) -> None: ...

    def brokers_changed(self, views: Mapping[str, bytes | None]) -> None: ...

    def pulse_came(self, pulse: bytes) -> None: ...


def stream_order(stream_id: str) -> tuple[int, int]:
    """Orders stream ids: `<milliseconds>-<sequence>`; the sequence may be missing, as in Redis itself.

    Raises ValueError for what is no stream id.
    """
    milliseconds, _, sequence = stream_id.partition("-")
    if not milliseconds.isdecimal() or not (sequence or "0").isdecimal():
        raise ValueError(f"{stream_id!r} is not a stream id")
    return int(milliseconds), int(sequence or 0)


class FeedReader:
    """Reads the feed of one cluster and tells a listener, until it is cancelled.

    `position` is the id of the last event handed on, null before the first load.
    """

    def __init__(self, *, cluster: str, url: str, listener: Listener, clock: Callable[[], float] = time.time) -> None:
        self.cluster = cluster
        self.position: str | None = None
        self.connected = False
        self.skipped = 0
        self._url = url
        self._listener = listener
        self._clock = clock
        self._heard_at: float | None = None
        self._failures = 0
        self._seen: dict[str, dict[str, int]] = {"topics": {}, "brokers": {}}

    def age_ms(self) -> int | None:
        """How long ago Redis last answered, in milliseconds; null when it never did."""
        return None if self._heard_at is None else max(0, int((self._clock() - self._heard_at) * 1000))

    def is_cut_off(self) -> bool:
        """Whether what the listener holds may be out of date because Redis does not answer."""
        age = self.age_ms()
        return not self.connected and (age is None or age > CUT_OFF_AFTER_MS)

    async def run(self) -> None:
        """Follows the feed for ever; a lost connection is tried again with growing pauses of at most two seconds."""
        while True:
            try:
                await self._session()
            except (RedisError, OSError, TimeoutError) as lost:
                self._lost(lost)
            pause = _BACKOFF_S[min(self._failures, len(_BACKOFF_S)) - 1]
            await asyncio.sleep(pause)

    async def load(self) -> None:
        """One whole load without following: what a command line or a test wants.

        Raises redis.exceptions.RedisError when Redis does not answer.
        """
        async with self._connect() as redis:
            await self._load(redis)
        self._heard_at = self._clock()

    def _connect(self) -> Redis:
        # The reader's own loop decides about another try: a client that tries in silence would hide the cut.
        # Its socket_timeout rests on asyncio.wait_for, which in Python 3.11 can lose a cancellation: `_answer` stands in.
        return from_url(
            self._url, socket_timeout=None, socket_connect_timeout=_ANSWER_WITHIN_S, retry=Retry(NoBackoff(), 0)
        )

    def _lost(self, lost: Exception) -> None:
        self._failures += 1
        if self.connected or self._failures == 1:
            log.warning("the feed of %s is cut off: %r", self.cluster, lost)
        self.connected = False

    async def _session(self) -> None:
        async with self._connect() as redis, self._connect() as hearing:
            if self.position is None or await self._has_trimmed(redis, self.position):
                await self._load(redis)
            self._heard()
            if self._failures:
                log.warning("the feed of %s is back", self.cluster)
                self._failures = 0
            await _first_to_fail(self._follow(redis), self._poll_views(redis), self._hear_pulses(hearing))

    def _heard(self) -> None:
        self._heard_at = self._clock()
        self.connected = True

    async def _has_trimmed(self, redis: Redis, position: str) -> bool:
        """Whether the stream no longer reaches back to `position`, so that events may be lost."""
        oldest = await _answer(redis.xrange(keys.events(self.cluster), count=1))
        return not oldest or stream_order(oldest[0][0].decode()) > stream_order(position)

    async def _load(self, redis: Redis) -> None:
        newest = await _answer(redis.xrevrange(keys.events(self.cluster), count=1))
        position = newest[0][0].decode() if newest else BEGINNING
        self._listener.load_began()
        for read in (self._read_topics, self._read_brokers):
            await read(redis)
        async for field, value in _scan(redis, keys.groups(self.cluster)):
            self._tell(self._listener.group_loaded, field, value)
        self._listener.load_ended(position)
        self.position = position

    async def _follow(self, redis: Redis) -> None:
        stream = keys.events(self.cluster)
        while True:
            position = self.position or BEGINNING
            answer = await _answer(redis.xread({stream: position}, count=_BATCH, block=_BLOCK_MS))
            self._heard()
            raw = answer[0][1] if answer else []
            if len(raw) == _BATCH and position != BEGINNING and await self._has_trimmed(redis, position):
                # A full batch means that the reader is behind: the writer may have trimmed what it had not read.
                await self._load(redis)
            elif raw:
                await self._hand_on(redis, raw)

    async def _hand_on(self, redis: Redis, raw: list[tuple[bytes, dict[bytes, bytes]]]) -> None:
        entries = [entry for entry in map(self._entry, raw) if entry is not None]
        snapshots = await self._present(redis, sorted({entry.event.group_id for entry in entries}))
        self.position = raw[-1][0].decode()
        self._tell(self._listener.events_came, entries, snapshots)

    def _entry(self, raw: tuple[bytes, dict[bytes, bytes]]) -> Entry | None:
        try:
            return Entry(id=raw[0].decode(), event=_event_decoder.decode(raw[1][keys.EVENT_FIELD]))
        except (msgspec.DecodeError, KeyError, UnicodeDecodeError):
            self.skipped += 1
            return None

    async def _present(self, redis: Redis, group_ids: list[str]) -> dict[str, bytes | None]:
        if not group_ids:
            return {}
        values = await _answer(redis.hmget(keys.groups(self.cluster), group_ids))
        return dict(zip(group_ids, values, strict=True))

    async def _poll_views(self, redis: Redis) -> None:
        while True:
            await asyncio.sleep(_VIEWS_EVERY_S)
            await self._read_topics(redis)
            await self._read_brokers(redis)

    async def _read_topics(self, redis: Redis) -> None:
        changed = await self._changed(redis, "topics", keys.topics(self.cluster))
        if changed:
            self._tell(self._listener.topics_changed, changed)

    async def _read_brokers(self, redis: Redis) -> None:
        changed = await self._changed(redis, "brokers", keys.brokers(self.cluster))
        if changed:
            self._tell(self._listener.brokers_changed, changed)

    async def _changed(self, redis: Redis, kind: str, key: str) -> dict[str, bytes | None]:
        """What is new or different in a hash since the last look; only a digest of each value is kept."""
        before = self._seen[kind]
        now: dict[str, int] = {}
        changed: dict[str, bytes | None] = {}
        async for field, value in _scan(redis, key):
            now[field] = digest = hash(value)
            if before.get(field) != digest:
                changed[field] = value
        changed.update(dict.fromkeys(before.keys() - now.keys()))
        self._seen[kind] = now
        return changed

    async def _hear_pulses(self, redis: Redis) -> None:
        async with redis.pubsub(ignore_subscribe_messages=True) as channel:
            await channel.subscribe(keys.pulse(self.cluster))
            while True:
                message = await channel.get_message(timeout=_BLOCK_MS / 1000)
                if message is not None:
                    self._tell(self._listener.pulse_came, message["data"])

    def _tell(self, callback: Callable[..., None], *values: Any) -> None:
        """One callback; what a listener cannot take is logged, counted and left out, and stops nothing."""
        try:
            callback(*values)
        except Exception:
            self.skipped += 1
            log.exception("the feed of %s holds what its listener cannot take", self.cluster)


async def _first_to_fail(*endless: Coroutine[Any, Any, None]) -> None:
    """Run these until one fails, and raise its error; or until this is cancelled.

    (Before Python 3.13 a task group whose parts fail in the moment in which it is cancelled tells of the failures alone.)
    """
    parts = [asyncio.create_task(one) for one in endless]
    try:
        done, _ = await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
        for part in done:
            part.result()
    finally:
        for part in parts:
            part.cancel()
        await asyncio.gather(*parts, return_exceptions=True)


async def _scan(redis: Redis, key: str) -> AsyncIterator[tuple[str, bytes]]:
    """The fields and values of a hash, a few hundred at a time; a field that is no UTF-8 is left out."""
    cursor = 0
    while True:
        cursor, part = await _answer(redis.hscan(key, cursor, count=_SCAN))
        for field, value in part.items():
            try:
                yield field.decode(), value
            except UnicodeDecodeError:
                log.warning("%s holds a field that is not UTF-8: %r", key, field)
        if not cursor:
            return


async def _answer(pending: Awaitable[Any] | Any) -> Any:
    """An answer of Redis, in time. (The client's types say "awaitable or not"; on an asyncio client it is the former.)

    Raises TimeoutError when none comes.
    """
    async with asyncio.timeout(_ANSWER_WITHIN_S):
        return await pending
