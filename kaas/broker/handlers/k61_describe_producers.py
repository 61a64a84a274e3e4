"""DescribeProducers (key 61), version 0: producers that write to a partition, for `kafka-transactions.sh` (KIP-664).

A partition that is not there is 3, a name that no topic may have 17; both stand on their rows.
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
from kaas.storage.log.producers import Snapshot
from kaas.storage.topics import check_topic_name
from kaas.wire.apis import DESCRIBE_PRODUCERS

API = DESCRIBE_PRODUCERS
NO_TRANSACTION = -1

Result = Snapshot | KafkaError


def handle(broker: Broker, request: Request) -> None:
    """Serve a DescribeProducers."""
    message = request.decode()
    keys = [(topic.name, p) for topic in message.topics for p in topic.partition_indexes]
    gathering: Gathering[tuple[str, int], Result] = Gathering(
        dict.fromkeys(keys), functools.partial(reply, request, message)
    )
    for name, partition in dict.fromkeys(keys):
        put = functools.partial(gathering.put, (name, partition))
        try:
            if not may(request, Operation.READ, Kind.TOPIC, name):
                raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            check_topic_name(name)
            log = partition_of(topic_named(broker.topics.registry, name), partition)
        except KafkaError as error:
            put(error)
        else:
            broker.topics.producers(log, put)


def reply(request: Request, message: Any, found: dict[tuple[str, int], Result]) -> None:
    topics = [
        {"name": topic.name, "partitions": [values(p, found[topic.name, p]) for p in topic.partition_indexes]}
        for topic in message.topics
    ]
    request.answer({"topics": topics})


def values(partition: int, result: Result) -> dict[str, Any]:
    if isinstance(result, KafkaError):
        return {"partition_index": partition, "error_code": result.code, "error_message": result.message}
    producers = [
        {
            "producer_id": producer_id,
            "producer_epoch": producer.epoch,
            "last_sequence": producer.last_sequence,
            "last_timestamp": producer.updated_ms,
            "coordinator_epoch": producer.coordinator_epoch,
            "current_txn_start_offset": result.open_transactions.get(producer_id, NO_TRANSACTION),
        }
        for producer_id, producer in result.producers.items()
    ]
    return {"partition_index": partition, "error_code": ErrorCode.NONE, "active_producers": producers}
