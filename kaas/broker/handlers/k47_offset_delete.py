"""OffsetDelete (key 47), version 0: removes offsets of partitions that no live member reads.

Unlike elsewhere the error code stands before the throttle time. Topics and partitions that are not there fail alone with 3.
Left out: nothing.
"""

from __future__ import annotations

import functools
from typing import Any

from kaas.broker.broker import Broker
from kaas.broker.request import Request
from kaas.broker.security.guard import may
from kaas.broker.security.operations import Kind, Operation
from kaas.coordinator import events
from kaas.coordinator.answers import DeleteOffsetsAnswer
from kaas.errors import ErrorCode
from kaas.wire.apis import OFFSET_DELETE

API = OFFSET_DELETE


def handle(broker: Broker, request: Request) -> None:
    """Serve an OffsetDelete."""
    message = request.decode()
    if not may(request, Operation.DELETE, Kind.GROUP, message.group_id):
        request.answer({"error_code": ErrorCode.GROUP_AUTHORIZATION_FAILED, "topics": ()})
        return
    refused = {topic.name for topic in message.topics if not may(request, Operation.READ, Kind.TOPIC, topic.name)}
    asked = [(topic.name, row.partition_index) for topic in message.topics for row in topic.partitions]
    there = tuple((name, p) for name, p in asked if name not in refused and 0 <= p < broker.topics.partitions_of(name))
    broker.groups.submit(
        events.DeleteOffsets(
            reply_to=functools.partial(reply, request, message, refused), group_id=message.group_id, partitions=there
        )
    )


def reply(request: Request, message: Any, refused: set[str], answer: DeleteOffsetsAnswer) -> None:
    """The group's code, else one of each partition; topics that may not be read have one of their own."""
    if answer.code:
        request.answer({"error_code": answer.code, "topics": ()})
        return
    topics = [
        {
            "name": topic.name,
            "partitions": [
                {
                    "partition_index": row.partition_index,
                    "error_code": ErrorCode.TOPIC_AUTHORIZATION_FAILED
                    if topic.name in refused
                    else answer.partitions.get((topic.name, row.partition_index), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
                }
                for row in topic.partitions
            ],
        }
        for topic in message.topics
    ]
    request.answer({"error_code": ErrorCode.NONE, "topics": topics})
