"""DeleteTopics (key 20), versions 1-6: removes topics.

Versions: 1 throttle time; 3 says that deletion is disabled (42 below); 4 flexible; 5 error messages; 6 topics by id.
A topic named twice is deleted by neither row: one row with 42. Groups learn of each deletion: committed offsets go
with a topic. Left out: nothing.
"""

from __future__ import annotations

import functools
from collections import Counter
from typing import Any
from uuid import UUID

from kaas.broker.broker import Broker
from kaas.broker.gathering import Gathering
from kaas.broker.partitions import topic_named, topic_with_id
from kaas.broker.request import Request
from kaas.broker.security.guard import may
from kaas.broker.security.operations import Kind, Operation
from kaas.coordinator.events import TopicDeleted
from kaas.errors import ErrorCode, KafkaError
from kaas.storage.topics import Topic
from kaas.wire.apis import DELETE_TOPICS

API = DELETE_TOPICS
BY_ID_SINCE = 6
DISABLED_SINCE = 3

Question = tuple[str | None, UUID | None]
"""A topic's name or its id."""


def handle(broker: Broker, request: Request) -> None:
    """Serve a DeleteTopics."""
    message = request.decode()
    by_id = request.version >= BY_ID_SINCE
    asked: list[Question] = [
        (row.name, row.topic_id) if by_id else (row, None) for row in (message.topics if by_id else message.topic_names)
    ]
    times = Counter(asked)
    gathering: Gathering[Question, Topic | KafkaError] = Gathering(times, functools.partial(reply, request))
    for question in times:
        put = functools.partial(gathering.put, question)
        try:
            if times[question] > 1:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
            topic = find(broker, request, question)
            broker.topics.delete(topic, functools.partial(deleted, broker, topic, put))
        except KafkaError as error:
            put(error)


def find(broker: Broker, request: Request, question: Question) -> Topic:
    """The topic that may be deleted. Raises: KafkaError."""
    name, topic_id = question
    if not broker.settings["delete.topic.enable"]:
        is_told = request.version >= DISABLED_SINCE
        raise KafkaError(ErrorCode.TOPIC_DELETION_DISABLED if is_told else ErrorCode.INVALID_REQUEST)
    if name is None:
        if topic_id is None:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified.")
        topic = topic_with_id(broker.topics.registry, topic_id)
        check_right(request, topic.name)
        return topic
    if topic_id is not None:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "You may not specify both topic name and topic id.")
    check_right(request, name)
    return topic_named(broker.topics.registry, name)


def check_right(request: Request, name: str) -> None:
    """Raises: KafkaError when the client may not know of a topic, or not delete it."""
    if may(request, Operation.DELETE, Kind.CLUSTER):
        return
    if not may(request, Operation.DESCRIBE, Kind.TOPIC, name) or not may(request, Operation.DELETE, Kind.TOPIC, name):
        raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)


def deleted(broker: Broker, topic: Topic, put: Any, result: Any) -> None:
    """The topic is gone, or still there."""
    if isinstance(result, KafkaError):
        put(result)
    else:
        put(topic)
        broker.groups.submit(TopicDeleted(topic=topic.name))


def reply(request: Request, results: dict[Question, Topic | KafkaError]) -> None:
    """Answer with all rows."""
    request.answer({"responses": [values(question, result) for question, result in results.items()]})


def values(question: Question, result: Topic | KafkaError) -> dict[str, Any]:
    """One topic of the answer; one that was asked for by an unknown id has no name."""
    name, topic_id = question
    if isinstance(result, KafkaError):
        return {"name": name, "topic_id": topic_id, "error_code": result.code, "error_message": result.message}
    return {"name": result.name, "topic_id": result.topic_id, "error_code": ErrorCode.NONE}
