"""Fetch (key 1), versions 4-18: reads records, and waits for them.

Versions: 5 log start offset; 7 sessions (KIP-227); 9 leader epochs; 10 zstd (older versions get it all the same, as
on an Apache broker); 11 rack id; 12 flexible; 13 topics by id; 15 the replica's state in a tag; 16 other leaders'
addresses, which are never needed here; 17 the replica's folder; 18 the replica's high watermark.
An answer comes when `min_bytes` are there, at `max_wait`, or at once with an error; at least one batch comes
whatever the byte limits. A read_committed reader gets records below the last stable offset, and the aborted
transactions among them. Left out: fetches of replicas, which are answered as those of consumers; truncation by the
last fetched epoch (clients use OffsetForLeaderEpoch); a nearer replica to read from.
"""

from __future__ import annotations

from typing import Any

from kaas.broker.broker import Broker
from kaas.broker.connection import FAULT
from kaas.broker.fetch_sessions import Continuation, FetchedPartition, PartitionKey
from kaas.broker.fetching import Limits, Row, Wanted, read_partitions
from kaas.broker.partitions import partition_of, topic_named, topic_with_id
from kaas.broker.request import Request
from kaas.broker.security.guard import may
from kaas.broker.security.metering import is_held_back
from kaas.broker.security.operations import Kind, Operation
from kaas.broker.security.quotas import Measure
from kaas.errors import ErrorCode, KafkaError
from kaas.wire.apis import FETCH

API = FETCH
SESSIONS_SINCE = 7
BY_ID_SINCE = 13
COMMITTED = 1


def handle(broker: Broker, request: Request) -> None:
    """Serve a Fetch."""
    message, by_id = request.decode(), request.version >= BY_ID_SINCE
    try:
        continuation = take(broker, message, request.version)
    except KafkaError as error:
        request.answer({"error_code": error.code})
        return
    if is_held_back(request, Measure.FETCHED_BYTES):
        request.answer({"session_id": continuation.session_id if continuation.is_incremental else 0, "responses": ()})
        return
    wanted = [find(broker, request, asked, by_id=by_id) for asked in continuation.partitions]
    limits = Limits(
        max_bytes=min(message.max_bytes, broker.settings["fetch.max.bytes"]),
        committed=message.isolation_level == COMMITTED,
    )
    Fetch(broker, request, continuation, wanted, limits, message).begin()


def take(broker: Broker, message: Any, version: int) -> Continuation:
    """What the request and its session ask for. Raises: KafkaError."""
    name = "topic_id" if version >= BY_ID_SINCE else "topic"
    has_session = version >= SESSIONS_SINCE
    asked: dict[PartitionKey, Any] = {
        (getattr(topic, name), row.partition): row for topic in message.topics for row in topic.partitions
    }
    forgotten: list[PartitionKey] = [
        (getattr(topic, name), partition)
        for topic in (message.forgotten_topics_data if has_session else ())
        for partition in topic.partitions
    ]
    session_id, epoch = (message.session_id, message.session_epoch) if has_session else (0, -1)
    now_ms = broker.clock.now_ms()
    by_id = version >= BY_ID_SINCE
    return broker.topics.fetch_sessions.take(session_id, epoch, asked, forgotten, now_ms, by_id=by_id)


def find(broker: Broker, request: Request, asked: FetchedPartition, *, by_id: bool) -> Wanted:
    """The log of a partition, or why it cannot be read."""
    topic, number = asked.key
    registry = broker.topics.registry
    try:
        name = topic_with_id(registry, topic).name if by_id else topic  # type: ignore[arg-type]
        if not may(request, Operation.READ, Kind.TOPIC, name):  # type: ignore[arg-type]
            raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        found = topic_named(registry, name)  # type: ignore[arg-type]
        return Wanted(asked=asked, log=partition_of(found, number))
    except KafkaError as error:
        return Wanted(asked=asked, log=None, refusal=error.code)


class Fetch:
    """One fetch until it is answered."""

    __slots__ = ("broker", "continuation", "deadline", "limits", "message", "request", "wanted")

    def __init__(
        self,
        broker: Broker,
        request: Request,
        continuation: Continuation,
        wanted: list[Wanted],
        limits: Limits,
        message: Any,
    ) -> None:
        self.broker = broker
        self.request = request
        self.continuation = continuation
        self.wanted = wanted
        self.limits = limits
        self.message = message
        self.deadline = 0.0

    def begin(self) -> None:
        """Answers at once, or waits."""
        self.deadline = self.broker.topics.now_s() + self.message.max_wait.total_seconds()
        lacking = self.attempt(self.message.max_wait.total_seconds() <= 0)
        if lacking:
            self.wait(lacking)

    def attempt(self, last_chance: bool) -> int:
        """Reads; 0: answered, or about to be; else how many bytes are lacking."""
        rows = read_partitions(self.wanted, self.limits, from_memory=True)
        if rows is None:
            self.broker.topics.read(self.read_files, self.take_rows)
            return 0
        lacking = 0 if last_chance else self.lacking(rows)
        if not lacking:
            self.answer(rows)
        return lacking

    def read_files(self) -> list[Row] | None:
        """In a reader thread."""
        return read_partitions(self.wanted, self.limits, from_memory=False)

    def take_rows(self, rows: list[Row] | KafkaError) -> None:
        """What the reader thread has read."""
        if isinstance(rows, KafkaError):
            self.request.refuse(f"{FAULT}: {rows.message}")
            return
        lacking = self.lacking(rows)
        if lacking and self.broker.topics.now_s() < self.deadline:
            self.wait(lacking)
        else:
            self.answer(rows)

    def lacking(self, rows: list[Row]) -> int:
        """How many bytes must come before the fetch is answered early.

        None when the limits keep back what there is already. For committed records any append may be the one that makes
        older ones readable.
        """
        size = sum(row.size for row in rows)
        if not rows or size >= self.message.min_bytes or any(row.code or row.has_more for row in rows):
            return 0
        return 1 if self.limits.committed else self.message.min_bytes - size

    def wait(self, lacking: int) -> None:
        """Until so many bytes came, or the time is up."""
        topics, connection = self.broker.topics, self.request.connection
        topics.purgatory.park(
            [one.log for one in self.wanted if one.log is not None],
            lacking,
            self.deadline - topics.now_s(),
            self.attempt,
            lambda: connection.transport is not None,
        )

    def answer(self, rows: list[Row]) -> None:
        """Tells what the session has not heard yet."""
        told: dict[Any, list[dict[str, Any]]] = {}
        for row in rows:
            asked = row.asked
            is_news = asked.tell(row.code, row.high_watermark, row.log_start_offset, has_records=row.size > 0)
            if is_news or not self.continuation.is_incremental:
                told.setdefault(asked.key[0], []).append(values(row))
            if row.size and self.continuation.session is not None:
                self.continuation.session.move_last(asked.key)
        name = "topic_id" if self.request.version >= BY_ID_SINCE else "topic"
        responses = [{name: topic, "partitions": partitions} for topic, partitions in told.items()]
        self.request.answer({"session_id": self.continuation.session_id, "responses": responses})


def values(row: Row) -> dict[str, Any]:
    """One partition of the answer."""
    aborted = row.aborted
    return {
        "partition_index": row.asked.key[1],
        "error_code": row.code,
        "high_watermark": row.high_watermark,
        "last_stable_offset": row.last_stable_offset,
        "log_start_offset": row.log_start_offset,
        "aborted_transactions": None
        if aborted is None
        else [{"producer_id": one.producer_id, "first_offset": one.first_offset} for one in aborted],
        "records": row.buffers[0] if len(row.buffers) == 1 else b"".join(row.buffers),
    }
