"""DeleteRecords (key 21), versions 0-2: moves the start of logs.

Versions: 1 throttle time; 2 flexible. Offset -1 means the end of the log; one before the start changes nothing.
Left out: nothing.
"""

from __future__ import annotations

import functools
from typing import Any

from kaas.broker.broker import Broker
from kaas.broker.gathering import Gathering
from kaas.broker.partitions import partition_of, topic_named
from kaas.broker.request import Request
from kaas.broker.security.guard import may
from kaas.broker.security.operations import Kind, Operation
from kaas.errors import ErrorCode, KafkaError
from kaas.wire.apis import DELETE_RECORDS

API = DELETE_RECORDS

Place = tuple[int, int]


def handle(broker: Broker, request: Request) -> None:
    """Serve a DeleteRecords."""
    message = request.decode()
    rows = {
        (i, j): (topic.name, row) for i, topic in enumerate(message.topics) for j, row in enumerate(topic.partitions)
    }
    gathering: Gathering[Place, int | KafkaError] = Gathering(rows, functools.partial(reply, request, message))
    for place, (topic, row) in rows.items():
        put = functools.partial(gathering.put, place)
        try:
            if not may(request, Operation.DELETE, Kind.TOPIC, topic):
                raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            log = partition_of(topic_named(broker.topics.registry, topic), row.partition_index)
            broker.topics.delete_records(log, row.offset, put)
        except KafkaError as error:
            put(error)


def reply(request: Request, message: Any, results: dict[Place, int | KafkaError]) -> None:
    """Answer with all rows."""
    topics = []
    for i, topic in enumerate(message.topics):
        rows = [values(row.partition_index, results[i, j]) for j, row in enumerate(topic.partitions)]
        topics.append({"name": topic.name, "partitions": rows})
    request.answer({"topics": topics})


def values(partition: int, result: int | KafkaError) -> dict[str, Any]:
    if isinstance(result, KafkaError):
        return {"partition_index": partition, "low_watermark": -1, "error_code": result.code}
    return {"partition_index": partition, "low_watermark": result, "error_code": ErrorCode.NONE}
