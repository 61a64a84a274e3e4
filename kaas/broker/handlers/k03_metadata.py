"""Metadata (key 3), versions 0-13: topics, partitions and brokers; may create a topic.

Versions: 1 null topics mean all (an empty list means it in 0), rack, controller, internal topics; 2 cluster id; 4
the client says whether topics may be created; 5 offline replicas; 7 leader epochs; 8 authorized operations; 9
flexible; 10 topic ids (10 and 11 answer a question by id with 42); 11 no more operations of the cluster; 12 topics
by id; 13 an error for the whole answer. A topic that is asked for and missing is created when the client and
auto.create.topics.enable allow it, and described at once; the internal topics of an Apache broker are not, because
this broker keeps groups and transactions elsewhere. Left out: racks.
"""

from __future__ import annotations

import functools
from typing import Any

from kaas.broker.broker import Broker
from kaas.broker.following import follow_topic
from kaas.broker.gathering import Gathering
from kaas.broker.partitions import CLUSTER_OPERATIONS, TOPIC_OPERATIONS, UNASKED_OPERATIONS, topic_named, topic_with_id
from kaas.broker.request import Request
from kaas.broker.security.guard import authorized_operations, may
from kaas.broker.security.operations import Kind, Operation
from kaas.errors import ErrorCode, KafkaError
from kaas.storage.topics import Topic, check_topic_name
from kaas.wire.apis import METADATA

API = METADATA
BY_ID_SINCE = 12
NEVER_CREATED = ("__consumer_offsets", "__transaction_state", "__share_group_state")

Question = tuple[str | None, Any]
"""A topic's name, or its id."""


def handle(broker: Broker, request: Request) -> None:
    """Serve a Metadata."""
    message, version = request.decode(), request.version
    if message.topics is None or (version == 0 and not message.topics):
        shown = [one for one in broker.topics.registry if may(request, Operation.DESCRIBE, Kind.TOPIC, one.name)]
        reply(broker, request, message, {(one.name, None): one for one in shown})
        return
    questions: list[Question] = list(
        dict.fromkeys((topic.name, topic.topic_id if version >= 10 else None) for topic in message.topics)
    )
    gathering: Gathering[Question, Topic | KafkaError] = Gathering(
        questions, functools.partial(reply, broker, request, message)
    )
    creates = message.allow_auto_topic_creation if version >= 4 else True
    for question in questions:
        put = functools.partial(gathering.put, question)
        try:
            find(broker, request, question, put, creates=creates)
        except KafkaError as error:
            put(error)


def find(broker: Broker, request: Request, question: Question, put: Any, *, creates: bool) -> None:
    """Finds a topic, or has it created. Raises: KafkaError."""
    name, topic_id = question
    registry = broker.topics.registry
    if request.version < BY_ID_SINCE and (topic_id is not None or name is None):
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    if topic_id is not None or name is None:
        topic = topic_with_id(registry, topic_id)
        check_shown(request, topic.name)
        put(topic)
        return
    check_shown(request, name)
    check_topic_name(name)
    if registry.get(name) is None and creates and broker.settings["auto.create.topics.enable"]:
        create(broker, request, name, put)
    else:
        put(topic_named(registry, name))


def check_shown(request: Request, name: str) -> None:
    """Raises: KafkaError when the client may not know of a topic."""
    if not may(request, Operation.DESCRIBE, Kind.TOPIC, name):
        raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)


def create(broker: Broker, request: Request, name: str, put: Any) -> None:
    """Makes a topic with the broker's defaults. Raises: KafkaError."""

    def created(result: Topic | KafkaError) -> None:
        if isinstance(result, KafkaError) and result.code == ErrorCode.TOPIC_ALREADY_EXISTS:
            put(broker.topics.registry.get(name) or result)  # somebody else was faster
        else:
            if isinstance(result, Topic):
                follow_topic(broker, result)
            put(result)

    if not may(request, Operation.CREATE, Kind.CLUSTER) and not may(request, Operation.CREATE, Kind.TOPIC, name):
        raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    if name in NEVER_CREATED:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    broker.topics.create(name, broker.settings["num.partitions"], {}, created)


def reply(broker: Broker, request: Request, message: Any, topics: dict[Question, Topic | KafkaError]) -> None:
    """Answer with what was found."""
    version, listener = request.version, request.connection.listener
    told = version >= 8 and message.include_topic_authorized_operations
    told_cluster = 8 <= version <= 10 and message.include_cluster_authorized_operations
    request.answer(
        {
            "brokers": brokers(broker, listener),
            "cluster_id": broker.cluster.cluster_id,
            "controller_id": broker.cluster.assignment.controller,
            "topics": [
                described(broker, request, topic, told)
                if isinstance(topic, Topic)
                else refused(question, topic.code, version, told)
                for question, topic in topics.items()
            ],
            "cluster_authorized_operations": authorized_operations(request, Kind.CLUSTER, of=CLUSTER_OPERATIONS)
            if told_cluster
            else UNASKED_OPERATIONS,
        }
    )


def brokers(broker: Broker, listener: str) -> list[dict[str, Any]]:
    """The living brokers that have the listener of the request."""
    rows = []
    for one in broker.cluster.brokers:
        address = broker.cluster.address(one.id, listener)
        if address is not None:
            rows.append({"node_id": one.id, "host": address[0], "port": address[1], "rack": None})
    return rows


def described(broker: Broker, request: Request, topic: Topic, told: bool) -> dict[str, Any]:
    """A topic with its partitions."""
    leader = broker.broker_id
    operations = (
        authorized_operations(request, Kind.TOPIC, topic.name, of=TOPIC_OPERATIONS) if told else UNASKED_OPERATIONS
    )
    return {
        "error_code": ErrorCode.NONE,
        "name": topic.name,
        "topic_id": topic.topic_id,
        "is_internal": topic.internal,
        "partitions": [
            {
                "error_code": ErrorCode.NONE,
                "partition_index": log.partition,
                "leader_id": leader,
                "leader_epoch": log.leader_epoch,
                "replica_nodes": (leader,),
                "isr_nodes": (leader,),
            }
            for log in topic.partitions
        ],
        "topic_authorized_operations": operations,
    }


def refused(question: Question, code: ErrorCode, version: int, told: bool) -> dict[str, Any]:
    """A topic that is not there, under the name or the id that it was asked for by."""
    name, topic_id = question
    told = told and code is not ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return {
        "error_code": code,
        "name": name if version >= BY_ID_SINCE else name or "",
        "topic_id": topic_id,
        "topic_authorized_operations": TOPIC_OPERATIONS if told else UNASKED_OPERATIONS,
    }
