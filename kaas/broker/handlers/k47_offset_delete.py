"""OffsetDelete (key 47), version 0: removes offsets of partitions that no live member reads.

Unlike elsewhere the error code stands before the throttle time. Topics and partitions that are not there fail alone with 3.
Left out: nothing.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from kaas.coordinator import events
from kaas.coordinator.answers import DeleteOffsetsAnswer
from kaas.errors import ErrorCode
from kaas.wire.apis import OFFSET_DELETE

if TYPE_CHECKING:
    from kaas.broker.request import Request
    from kaas.broker.server import Broker

API = OFFSET_DELETE


def handle(broker: Broker, request: Request) -> None:
    """Serve an OffsetDelete."""
    message = request.decode()
    asked = [(topic.name, row.partition_index) for topic in message.topics for row in topic.partitions]
    there = tuple((name, p) for name, p in asked if 0 <= p < broker.topics.partitions_of(name))
    broker.groups.submit(
        events.DeleteOffsets(
            reply_to=functools.partial(reply, request, message), group_id=message.group_id, partitions=there
        )
    )


def reply(request: Request, message: Any, answer: DeleteOffsetsAnswer) -> None:
    if answer.code:
        request.answer({"error_code": answer.code, "topics": ()})
        return
    missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    topics = [
        {
            "name": topic.name,
            "partitions": [
                {
                    "partition_index": row.partition_index,
                    "error_code": answer.partitions.get((topic.name, row.partition_index), missing),
                }
                for row in topic.partitions
            ],
        }
        for topic in message.topics
    ]
    request.answer({"error_code": ErrorCode.NONE, "topics": topics})
