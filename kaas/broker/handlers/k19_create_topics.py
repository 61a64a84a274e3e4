"""CreateTopics (key 19), versions 2-7: makes topics.

Versions: 4 -1 means the broker's default; 5 flexible, and the answer tells partitions, replicas and settings; 7
topic ids. A topic named twice is made by neither row: one row with 42.
Left out: more than one replica.
"""

from __future__ import annotations

import functools
from collections import Counter
from typing import Any, NamedTuple
from uuid import UUID

from kaas.broker.broker import Broker
from kaas.broker.config_rows import topic_rows
from kaas.broker.following import follow_topic
from kaas.broker.gathering import Gathering
from kaas.broker.replicas import ONE_REPLICA, check_assignment, check_replication_factor
from kaas.broker.request import Request
from kaas.broker.security.guard import may
from kaas.broker.security.operations import Kind, Operation
from kaas.errors import ErrorCode, KafkaError
from kaas.storage.topics import Topic
from kaas.wire.apis import CREATE_TOPICS

API = CREATE_TOPICS
DEFAULT = -1
UNKNOWN = -1


class Plan(NamedTuple):
    """A topic that may be made. `topic_id` None: it was not, only checked."""

    partitions: int
    configs: dict[str, str]
    topic_id: UUID | None = None


def handle(broker: Broker, request: Request) -> None:
    """Serve a CreateTopics."""
    message = request.decode()
    asked = Counter(row.name for row in message.topics)
    rows = {row.name: row for row in message.topics}
    gathering: Gathering[str, Plan | KafkaError] = Gathering(rows, functools.partial(reply, broker, request))
    everywhere = may(request, Operation.CREATE, Kind.CLUSTER)
    for name, row in rows.items():
        put = functools.partial(gathering.put, name)
        try:
            if asked[name] > 1:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
            if not everywhere and not may(request, Operation.CREATE, Kind.TOPIC, name):
                raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            plan = checked(broker, row)
            if message.validate_only:
                put(plan)
            else:
                broker.topics.create(name, plan.partitions, plan.configs, functools.partial(created, broker, put, plan))
        except KafkaError as error:
            put(error)


def checked(broker: Broker, row: Any) -> Plan:
    """What a row asks for, defaults filled in. Raises: KafkaError."""
    settings, manual = broker.settings, row.assignments
    partitions, factor = row.num_partitions, row.replication_factor
    if manual:
        partitions = len(manual)
    elif partitions == DEFAULT:
        partitions = settings["num.partitions"]
    configs = broker.topics.registry.check_new(row.name, partitions, {one.name: one.value for one in row.configs})
    if manual:
        check_manual(broker, row)
    else:
        check_replication_factor(
            settings["default.replication.factor"] if factor == DEFAULT else factor, broker.cluster
        )
    return Plan(partitions, configs)


def check_manual(broker: Broker, row: Any) -> None:
    """A row that assigns its partitions itself. Raises: KafkaError INVALID_REQUEST, INVALID_REPLICA_ASSIGNMENT."""
    for name, value in (("numPartitions", row.num_partitions), ("replicationFactor", row.replication_factor)):
        if value != DEFAULT:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST, f"A manual partition assignment was specified, but {name} was not set to -1."
            )
    if sorted(one.partition_index for one in row.assignments) != list(range(len(row.assignments))):
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT, "partitions should be a consecutive 0-based integer sequence"
        )
    for one in row.assignments:
        check_assignment(one.broker_ids, broker.cluster)


def created(broker: Broker, put: Any, plan: Plan, result: Topic | KafkaError) -> None:
    if isinstance(result, KafkaError):
        put(result)
    else:
        follow_topic(broker, result)
        put(plan._replace(topic_id=result.topic_id))


def reply(broker: Broker, request: Request, results: dict[str, Plan | KafkaError]) -> None:
    """Answer with all rows."""
    request.answer({"topics": [values(broker, request, name, result) for name, result in results.items()]})


def values(broker: Broker, request: Request, name: str, result: Plan | KafkaError) -> dict[str, Any]:
    """One topic of the answer; its partitions and settings only for who may see those."""
    if isinstance(result, KafkaError):
        return {"name": name, "error_code": result.code, "error_message": result.message, "configs": ()}
    if not may(request, Operation.DESCRIBE_CONFIGS, Kind.TOPIC, name):
        return {
            "name": name,
            "topic_id": result.topic_id,
            "num_partitions": UNKNOWN,
            "replication_factor": UNKNOWN,
            "configs": None,
            "topic_config_error_code": ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        }
    shown = ("name", "value", "read_only", "config_source", "is_sensitive")
    return {
        "name": name,
        "topic_id": result.topic_id,
        "error_code": ErrorCode.NONE,
        "error_message": None,
        "num_partitions": result.partitions,
        "replication_factor": ONE_REPLICA,
        "configs": [{key: row[key] for key in shown} for row in topic_rows(result.configs, broker.settings)],
    }
