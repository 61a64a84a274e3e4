"""AddPartitionsToTxn (key 24), versions 0-5: says which partitions a transaction will write to, before it does.

Versions: 1 throttle time; 2 a fenced producer is told 90 (47 below); 3 flexible; 4 many transactions, and asking whether
partitions are in (120 for those that are not), for which brokers have a right of their own; 5 nothing on the wire. All
partitions of a transaction join it or none: beside one that is not there (3), or not to be written to (29), the others say 55.
Left out: nothing.
"""

from __future__ import annotations

import functools
from typing import Any

from kaas.broker.broker import Broker
from kaas.broker.gathering import Gathering
from kaas.broker.request import Request
from kaas.broker.security.guard import may
from kaas.broker.security.operations import Kind, Operation
from kaas.broker.transactional import fenced_code
from kaas.coordinator.offset_entry import OffsetKey
from kaas.coordinator.transactions.events import AddAnswer, AddToTransaction
from kaas.errors import ErrorCode
from kaas.wire.apis import ADD_PARTITIONS_TO_TXN

API = ADD_PARTITIONS_TO_TXN
FENCED_SINCE = 2
MANY_SINCE = 4

Codes = dict[OffsetKey, ErrorCode]


def handle(broker: Broker, request: Request) -> None:
    """Serve an AddPartitionsToTxn."""
    message, version = request.decode(), request.version
    if version < MANY_SINCE:
        event = {
            "transactional_id": message.v3_and_below_transactional_id,
            "producer_id": message.v3_and_below_producer_id,
            "epoch": message.v3_and_below_producer_epoch,
        }
        add(broker, request, event, message.v3_and_below_topics, functools.partial(reply_one, request, message))
        return
    if not may(request, Operation.CLUSTER_ACTION, Kind.CLUSTER):
        request.answer({"error_code": ErrorCode.CLUSTER_AUTHORIZATION_FAILED})
        return
    gathering: Gathering[int, Codes] = Gathering(
        range(len(message.transactions)), functools.partial(reply_many, request, message)
    )
    for number, one in enumerate(message.transactions):
        event = {
            "transactional_id": one.transactional_id,
            "producer_id": one.producer_id,
            "epoch": one.producer_epoch,
            "verify_only": one.verify_only,
        }
        add(broker, request, event, one.topics, functools.partial(gathering.put, number))


def add(broker: Broker, request: Request, event: dict[str, Any], topics: Any, done: Any) -> None:
    """Add the partitions of one transaction; `done` gets a code for each."""
    keys = [(topic.name, partition) for topic in topics for partition in topic.partitions]
    version = request.version
    if version < MANY_SINCE and not may(request, Operation.WRITE, Kind.TRANSACTIONAL_ID, event["transactional_id"]):
        done(dict.fromkeys(keys, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED))
        return
    refused = {key: code for key in keys if (code := refusal_of(broker, request, *key)) is not None}
    if refused:
        done({key: refused.get(key, ErrorCode.OPERATION_NOT_ATTEMPTED) for key in keys})
        return

    def answered(answer: AddAnswer) -> None:
        outside = ErrorCode.TRANSACTION_ABORTABLE
        done({key: outside if key in answer.missing else answer.code for key in keys})

    broker.groups.submit(
        AddToTransaction(
            reply_to=answered, partitions=tuple(keys), fenced_code=fenced_code(version, FENCED_SINCE), **event
        )
    )


def refusal_of(broker: Broker, request: Request, topic: str, partition: int) -> ErrorCode | None:
    """Why a partition cannot be in a transaction; a broker that asks has been told what it may do already."""
    if request.version < MANY_SINCE and not may(request, Operation.WRITE, Kind.TOPIC, topic):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    if not 0 <= partition < broker.topics.partitions_of(topic):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return None


def rows(topics: Any, codes: Codes) -> list[dict[str, Any]]:
    return [
        {
            "name": topic.name,
            "results_by_partition": [
                {"partition_index": p, "partition_error_code": codes[topic.name, p]} for p in topic.partitions
            ],
        }
        for topic in topics
    ]


def reply_one(request: Request, message: Any, codes: Codes) -> None:
    request.answer({"results_by_topic_v3_and_below": rows(message.v3_and_below_topics, codes)})


def reply_many(request: Request, message: Any, codes: dict[int, Codes]) -> None:
    results = [
        {"transactional_id": one.transactional_id, "topic_results": rows(one.topics, codes[number])}
        for number, one in enumerate(message.transactions)
    ]
    request.answer({"error_code": ErrorCode.NONE, "results_by_transaction": results})
