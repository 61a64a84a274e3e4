"""The logs' shell: topics and their partitions for the event loop.

Job: hand work on logs to the threads that may do it, and bring the results back to the loop.
Rules:
- The loop touches no file. What changes a log goes through the appender thread; what reads a file goes to reader
  threads; what is in memory (views of logs, recent batches, names) is read at once.
- Work is given a callable that gets its result, in the loop. An error is a result: a KafkaError.
- After each round of appends the producers are answered first, then the fetches that waited are woken.
- Time's work on logs (retention, compaction, flushes) comes in small steps between appends.
Must not know: requests.
"""

from __future__ import annotations

import asyncio
import shutil
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import structlog

from kaas.broker.clock import Clock
from kaas.broker.fetch_sessions import FetchSessions
from kaas.broker.producer_ids import ProducerIds
from kaas.broker.purgatory import Purgatory
from kaas.broker.settings import Settings
from kaas.errors import ErrorCode, KafkaError
from kaas.feed.types import TopicView
from kaas.storage.files import CLUSTER_FOLDER
from kaas.storage.log.admission import Append
from kaas.storage.log.appender import Appender, Finished
from kaas.storage.log.files import OpenFiles
from kaas.storage.log.housekeeping import Housekeeping
from kaas.storage.log.partition import PartitionLog
from kaas.storage.log.recent import RecentBatches
from kaas.storage.log.writer import LogResources
from kaas.storage.topics import Topic, TopicRegistry

log = structlog.get_logger("kaas.broker.topics")

READER_THREADS = 4
HOUSEKEEPING_MS = 15_000  # the greatest pause between two rounds: so often compaction looks for work in Apache
FLUSH_CHECK_S = 1.0

Done = Callable[[Any], None]
"""Gets a result, or the KafkaError that came in its place."""


class _Appending(NamedTuple):
    log: PartitionLog
    topic: str
    size: int
    done: Done


class TopicService:
    """All topics of this broker.

    `registry` may be asked for topics and for checks of what may be created; changes go through the methods here.
    `purgatory` is where fetches wait, `fetch_sessions` what their clients named before. `listener` is told of each topic that
    came, grew or was changed, before whoever asked for that.
    """

    def __init__(self, data: Path, settings: Settings, clock: Clock) -> None:
        self._data = data
        self._settings = settings
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self.registry = TopicRegistry(data, settings, LogResources(OpenFiles(), RecentBatches()))
        self.purgatory = Purgatory(self._loop)
        self.fetch_sessions = FetchSessions(settings["max.incremental.fetch.session.cache.slots"])
        self._appender = Appender(self._hand_back, clock.wall_ms)
        self._housekeeping = Housekeeping(
            self.registry.logs,
            retention_interval_ms=settings["log.retention.check.interval.ms"],
            producer_expiration_ms=settings["producer.id.expiration.ms"],
        )
        self._readers = ThreadPoolExecutor(READER_THREADS, thread_name_prefix="reader")
        self.listener: Callable[[Topic], None] = lambda topic: None
        self._producer_ids: ProducerIds | None = None
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._moved: set[str] = set()  # topics whose log ends the feed has not heard of

    async def start(self) -> None:
        """Serves the topics that are stored. Raises: KafkaError KAFKA_STORAGE_ERROR."""
        await self._loop.run_in_executor(None, self.registry.load, self._clock.wall_ms())
        self._appender.start()
        self._later("housekeeping", self._housekeep, self._housekeeping_pause_s)
        self._later("flush", self._flush, FLUSH_CHECK_S)

    async def stop(self) -> None:
        """Does what was handed in, brings every log onto the disk, ends the threads."""
        for timer in self._timers.values():
            timer.cancel()
        self.purgatory.stop()
        await self._loop.run_in_executor(None, self._appender.stop)
        await asyncio.sleep(0)  # what the appender handed back is settled by callbacks that are due now
        await self._loop.run_in_executor(None, self._readers.shutdown)
        await self._loop.run_in_executor(None, self.registry.close)

    @property
    def disk_error(self) -> KafkaError | None:
        """What the last write to a log met; None while the disk takes writes."""
        return self._appender.last_storage_error

    def now_s(self) -> float:
        """Seconds on the loop's clock, which deadlines of waiting fetches are on."""
        return self._loop.time()

    # What groups and the feed ask

    def partitions_of(self, name: str) -> int:
        """How many partitions a topic has; 0: there is no such topic."""
        topic = self.registry.get(name)
        return 0 if topic is None else len(topic.partitions)

    def id_of(self, name: str) -> uuid.UUID | None:
        topic = self.registry.get(name)
        return None if topic is None else topic.topic_id

    def name_of(self, topic_id: uuid.UUID | None) -> str | None:
        topic = None if topic_id is None else self.registry.by_id(topic_id)
        return None if topic is None else topic.name

    def ends_of(self, name: str, partition: int) -> tuple[int, int, int] | None:
        """Log start, log end and last stable offset of a partition; None when they are not known."""
        found = self.registry.partition(name, partition)
        return None if found is None else _ends(found)

    def views(self, *, everything: bool) -> list[TopicView]:
        """The log ends of all topics, or of those that moved since the last question."""
        moved, self._moved = self._moved, set()
        at = self._clock.wall_ms()
        return [
            TopicView(
                topic=topic.name,
                topic_id=str(topic.topic_id),
                at=at,
                internal=topic.internal,
                partitions=[_ends(one) for one in topic.partitions],
            )
            for topic in self.registry
            if everything or topic.name in moved
        ]

    # Work; each `done` is called in the loop with the result, or the KafkaError that came in its place

    def append(
        self,
        topic: Topic,
        partition: PartitionLog,
        data: bytes,
        done: Done,
        *,
        verified: bool = True,
        marker: bool = False,
    ) -> None:
        """Appends a batch, or the marker that ends a transaction: `Appended`."""
        token = _Appending(partition, topic.name, len(data), done)
        self._appender.append(partition, Append(data=data, verified=verified, is_marker=marker, token=token))

    def read(self, function: Callable[[], Any], done: Done) -> None:
        """Runs a function that reads logs in a reader thread."""
        future = self._readers.submit(_result_of, function)
        future.add_done_callback(lambda one: self._in_loop(self._call, done, one.result()))

    def delete_records(self, partition: PartitionLog, offset: int, done: Done) -> None:
        """Lets a log begin at an offset: its log start offset afterwards."""
        self._appender.call(lambda: partition.delete_records(offset, self._clock.wall_ms()), done)

    def producers(self, partition: PartitionLog, done: Done) -> None:
        """Who writes to a partition: `Snapshot` of its producers."""
        self._appender.call(partition.producers, done)

    def create(
        self, name: str, partitions: int, configs: Mapping[str, str | None], done: Done, *, internal: bool = False
    ) -> None:
        """Makes a topic: `Topic`."""
        self._change(name, lambda: self.registry.create(name, partitions, configs, internal=internal), done)

    def grow(self, name: str, partitions: int, done: Done) -> None:
        """Adds partitions, up to a number: `Topic`."""
        self._change(name, lambda: self.registry.grow(name, partitions), done)

    def configure(self, name: str, changes: Mapping[str, str | None], done: Done) -> None:
        """Changes settings; null takes one back: `Topic`."""
        self._change(name, lambda: self.registry.configure(name, changes), done)

    def delete(self, topic: Topic, done: Done) -> None:
        """Removes a topic; its files go afterwards, and fetches that wait for it learn that it is gone."""

        def deleted(result: Any) -> None:
            if not isinstance(result, KafkaError):
                self._readers.submit(shutil.rmtree, result, ignore_errors=True)
                for partition in topic.partitions:
                    self.purgatory.wake_all(partition)
            done(result)

        self._appender.call(lambda: self.registry.delete(topic.name), deleted)

    def give_producer_id(self, broker_id: int, done: Done) -> None:
        """A producer id that was never given before: `int`."""
        if self._producer_ids is None:
            path = self._data / CLUSTER_FOLDER / f"producer-ids-{broker_id}.json"
            self._producer_ids = ProducerIds(path, broker_id, self.read)
        self._producer_ids.give(done)

    def _change(self, name: str, function: Callable[[], Topic], done: Done) -> None:
        def changed(result: Any) -> None:
            if not isinstance(result, KafkaError):
                self.listener(result)
            done(result)

        self._moved.add(name)
        self._appender.call(function, changed)

    # Results

    def _in_loop(self, function: Callable[..., None], *arguments: Any) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits for this any more
            self._loop.call_soon_threadsafe(function, *arguments)

    def _hand_back(self, finished: list[Finished]) -> None:
        """Called in the appender thread."""
        self._in_loop(self._settle, finished)

    def _settle(self, finished: list[Finished]) -> None:
        grown: dict[PartitionLog, int] = {}
        for token, result in finished:
            if not isinstance(token, _Appending):
                self._call(token, result)
                continue
            if not isinstance(result, KafkaError):
                grown[token.log] = grown.get(token.log, 0) + token.size
                self._moved.add(token.topic)
            self._call(token.done, result)
        for partition, size in grown.items():
            self.purgatory.wake(partition, size)

    @staticmethod
    def _call(done: Done, result: Any) -> None:
        try:
            done(result)
        except Exception:  # a fault of ours must not keep the other results back
            log.exception("a result was not taken")

    # Time

    @property
    def _housekeeping_pause_s(self) -> float:
        interval_ms: int = self._settings["log.retention.check.interval.ms"]
        return min(interval_ms, HOUSEKEEPING_MS) / 1000

    def _later(self, name: str, function: Callable[[], None], pause_s: float) -> None:
        self._timers[name] = self._loop.call_later(pause_s, function)

    def _housekeep(self) -> None:
        """One step; the next one at once while there is more to do."""

        def stepped(more: Any) -> None:
            if more is True:
                self._housekeep()
            else:
                self._later("housekeeping", self._housekeep, self._housekeeping_pause_s)

        self._appender.call(lambda: self._housekeeping.step(self._clock.wall_ms()), stepped)

    def _flush(self) -> None:
        self._appender.call(
            lambda: self._housekeeping.flush(self._clock.wall_ms()),
            lambda _: self._later("flush", self._flush, FLUSH_CHECK_S),
        )


def _ends(partition: PartitionLog) -> tuple[int, int, int] | None:
    try:
        view = partition.view
    except KafkaError:
        return None
    return view.log_start_offset, view.high_watermark, view.last_stable_offset


def _result_of(function: Callable[[], Any]) -> Any:
    try:
        return function()
    except KafkaError as error:
        return error
    except Exception as fault:
        log.exception("a read failed")
        return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, repr(fault))
