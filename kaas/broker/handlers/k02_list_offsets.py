"""ListOffsets (key 2), versions 1-11: finds offsets by time, and the ends of logs.

Versions: 2 isolation level; 4 leader epochs; 6 flexible; 7 the record with the greatest time (-3); 8 the earliest
local offset (-4), which is the earliest; 9 the last tiered offset (-5) and 11 the earliest that waits to be tiered
(-6), of which there are none; 10 a timeout. A kind that is newer than the version of the request is 35 on its row.
With isolation level 1 the end is the last stable offset, and no record at or after it is found.
Left out: version 0, which gave several offsets; tiered storage.
"""

from __future__ import annotations

import functools
from collections import Counter
from typing import Any

from kaas.broker.broker import Broker
from kaas.broker.gathering import Gathering
from kaas.broker.partitions import check_leader_epoch, partition_of, topic_named
from kaas.broker.request import Request
from kaas.broker.security.guard import may
from kaas.broker.security.operations import Kind, Operation
from kaas.errors import ErrorCode, KafkaError
from kaas.storage.log.lookup import FoundRecord
from kaas.storage.log.partition import PartitionLog
from kaas.wire.apis import LIST_OFFSETS

API = LIST_OFFSETS
COMMITTED = 1
LATEST, EARLIEST, NEWEST, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING = -1, -2, -3, -4, -5, -6
SINCE = {NEWEST: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING: 11}
"""The version from which on a kind may be asked for."""

NOTHING = {"error_code": ErrorCode.NONE, "timestamp": -1, "offset": -1, "leader_epoch": -1}

Place = tuple[int, int]


def handle(broker: Broker, request: Request) -> None:
    """Serve a ListOffsets."""
    message = request.decode()
    asked = Counter((topic.name, row.partition_index) for topic in message.topics for row in topic.partitions)
    rows = {
        (i, j): (topic.name, row) for i, topic in enumerate(message.topics) for j, row in enumerate(topic.partitions)
    }
    committed = request.version >= 2 and message.isolation_level == COMMITTED
    gathering: Gathering[Place, dict[str, Any]] = Gathering(rows, functools.partial(reply, request, message))
    for place, (topic, row) in rows.items():
        put = functools.partial(gathering.put, place)
        try:
            if not may(request, Operation.DESCRIBE, Kind.TOPIC, topic):
                raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            if asked[topic, row.partition_index] > 1:
                raise KafkaError(ErrorCode.INVALID_REQUEST)
            find(broker, topic, row, request.version, put, committed=committed)
        except KafkaError as error:
            put(refused(error))


def find(broker: Broker, topic: str, row: Any, version: int, put: Any, *, committed: bool) -> None:
    """Finds one offset: the ends at once, a time in a reader thread. Raises: KafkaError."""
    kind = row.timestamp
    if kind < EARLIEST_PENDING or version < SINCE.get(kind, 0):
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
    log = partition_of(topic_named(broker.topics.registry, topic), row.partition_index)
    check_leader_epoch(log, row.current_leader_epoch if version >= 4 else -1)
    view = log.view
    end_offset = view.last_stable_offset if committed else view.high_watermark
    if kind == LATEST:
        put(values(end_offset, log.leader_epoch))
    elif kind in (EARLIEST, EARLIEST_LOCAL):
        put(values(view.log_start_offset, log.epoch_of(view.log_start_offset)))
    elif kind in (LATEST_TIERED, EARLIEST_PENDING):
        put(NOTHING)
    else:
        question = log.newest if kind == NEWEST else functools.partial(log.first_at_or_after, kind)
        broker.topics.read(question, functools.partial(found, log, end_offset, put))


def found(log: PartitionLog, end_offset: int, put: Any, result: FoundRecord | KafkaError | None) -> None:
    """What the reader thread has found."""
    if isinstance(result, KafkaError):
        put(refused(result))
    elif result is None or result.offset >= end_offset:
        put(NOTHING)
    else:
        put(values(result.offset, log.epoch_of(result.offset), result.timestamp))


def values(offset: int, leader_epoch: int, timestamp: int = -1) -> dict[str, Any]:
    return {"error_code": ErrorCode.NONE, "offset": offset, "leader_epoch": leader_epoch, "timestamp": timestamp}


def refused(error: KafkaError) -> dict[str, Any]:
    return {**NOTHING, "error_code": error.code}


def reply(request: Request, message: Any, rows: dict[Place, dict[str, Any]]) -> None:
    """Answer with all rows, in the order of the request."""
    topics = []
    for i, topic in enumerate(message.topics):
        partitions = [{"partition_index": row.partition_index, **rows[i, j]} for j, row in enumerate(topic.partitions)]
        topics.append({"name": topic.name, "partitions": partitions})
    request.answer({"topics": topics})
