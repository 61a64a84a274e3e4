"""CreatePartitions (key 37), versions 0-3: adds partitions to topics.

Versions: 1 throttle time; 2 flexible; 3 quota errors, of which there are none. A topic named twice grows by neither
row: 42. Groups learn of each growth, and rebalance as their setting says (kaas.rebalance.on.partition.growth).
Left out: more than one replica.
"""

from __future__ import annotations

import functools
from collections import Counter
from typing import Any

from kaas.broker.broker import Broker
from kaas.broker.following import follow_topic
from kaas.broker.gathering import Gathering
from kaas.broker.replicas import check_assignment
from kaas.broker.request import Request
from kaas.broker.security.guard import may
from kaas.broker.security.operations import Kind, Operation
from kaas.coordinator.events import PartitionsAdded
from kaas.errors import ErrorCode, KafkaError
from kaas.storage.topics import Topic
from kaas.wire.apis import CREATE_PARTITIONS

API = CREATE_PARTITIONS


def handle(broker: Broker, request: Request) -> None:
    """Serve a CreatePartitions."""
    message = request.decode()
    asked = Counter(row.name for row in message.topics)
    rows = {row.name: row for row in message.topics}
    gathering: Gathering[str, Topic | KafkaError] = Gathering(rows, functools.partial(reply, request))
    for name, row in rows.items():
        put = functools.partial(gathering.put, name)
        try:
            if asked[name] > 1:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
            if not may(request, Operation.ALTER, Kind.TOPIC, name):
                raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            topic = checked(broker, row)
            if message.validate_only:
                put(topic)
            else:
                broker.topics.grow(name, row.count, functools.partial(grown, broker, put))
        except KafkaError as error:
            put(error)


def checked(broker: Broker, row: Any) -> Topic:
    """The topic that may grow. Raises: KafkaError."""
    topic = broker.topics.registry.check_growth(row.name, row.count)
    if row.assignments is not None:
        added = row.count - len(topic.partitions)
        if len(row.assignments) != added:
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Attempted to add {added} additional partition(s), but only {len(row.assignments)} assignment(s) were "
                "specified.",
            )
        for one in row.assignments:
            check_assignment(one.broker_ids, broker.cluster)
    return topic


def grown(broker: Broker, put: Any, result: Topic | KafkaError) -> None:
    """The topic has its partitions, or not."""
    if not isinstance(result, KafkaError):
        follow_topic(broker, result)
    put(result)
    if not isinstance(result, KafkaError) and broker.settings["kaas.rebalance.on.partition.growth"]:
        broker.groups.submit(PartitionsAdded(topic=result.name))


def reply(request: Request, results: dict[str, Topic | KafkaError]) -> None:
    """Answer with all rows."""
    rows = []
    for name, result in results.items():
        rows.append(
            {
                "name": name,
                "error_code": result.code if isinstance(result, KafkaError) else ErrorCode.NONE,
                "error_message": result.message if isinstance(result, KafkaError) else None,
            }
        )
    request.answer({"results": rows})
