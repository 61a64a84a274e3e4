"""OffsetCommit (key 8), versions 2-10: keeps a group's positions.

Versions: 2-4 carry a retention (-1: the broker's); 3 throttle time; 6 leader epochs; 7 group instance id; 8 flexible; 9 the
codes of KIP-848; 10 topics by id instead of name (KIP-848 follow-up).
Rows of topics and partitions that are not there fail alone (3, or 100 for an unknown id); the others go to the group.
Left out: versions 0 and 1, which kept offsets in ZooKeeper or carried a commit time.
"""

from __future__ import annotations

import datetime
import functools
from typing import TYPE_CHECKING, Any

from kaas.coordinator import events
from kaas.coordinator.answers import CommitAnswer
from kaas.coordinator.events import CommitRow
from kaas.errors import ErrorCode
from kaas.wire.apis import OFFSET_COMMIT

if TYPE_CHECKING:
    from kaas.broker.request import Request
    from kaas.broker.server import Broker

API = OFFSET_COMMIT
EPOCH_SINCE, BY_ID_SINCE = 6, 10
MILLISECOND = datetime.timedelta(milliseconds=1)


def handle(broker: Broker, request: Request) -> None:
    """Serve an OffsetCommit."""
    message, version = request.decode(), request.version
    rows, codes = split(broker, message, by_id=version >= BY_ID_SINCE, with_epoch=version >= EPOCH_SINCE)
    retention_ms = message.retention_time // MILLISECOND if version <= 4 else -1
    broker.groups.submit(
        events.Commit(
            reply_to=functools.partial(reply, request, message, codes),
            group_id=message.group_id,
            generation=message.generation_id_or_member_epoch,
            member_id=message.member_id,
            instance_id=message.group_instance_id if version >= 7 else None,
            rows=tuple(rows),
            retention_ms=None if retention_ms < 0 else retention_ms,
            modern=version >= 9,
        )
    )


def split(broker: Broker, message: Any, *, by_id: bool, with_epoch: bool) -> tuple[list[CommitRow], list[ErrorCode]]:
    """Rows that the group decides about, and for every row of the request what the edge says of it."""
    rows: list[CommitRow] = []
    codes: list[ErrorCode] = []
    for topic in message.topics:
        name = broker.topics.name_of(topic.topic_id) if by_id else topic.name
        count = broker.topics.partitions_of(name) if name is not None else 0
        missing = ErrorCode.UNKNOWN_TOPIC_ID if name is None else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        topic_id = topic.topic_id.bytes if by_id and name is not None else None
        for row in topic.partitions:
            if name is None or not 0 <= row.partition_index < count:
                codes.append(missing)
                continue
            codes.append(ErrorCode.NONE)
            rows.append(
                CommitRow(
                    topic=name,
                    partition=row.partition_index,
                    offset=row.committed_offset,
                    leader_epoch=row.committed_leader_epoch if with_epoch else -1,
                    metadata=row.committed_metadata or "",
                    topic_id=topic_id,
                )
            )
    return rows, codes


def reply(request: Request, message: Any, codes: list[ErrorCode], answer: CommitAnswer) -> None:
    """The edge's code where it has one, else that of the group, else that of the row."""
    by_row = answer.rows or {}
    at_edge = iter(codes)
    sent = iter(range(len(codes)))
    topics = []
    for topic in message.topics:
        partitions = []
        for row in topic.partitions:
            code = next(at_edge)
            if code is ErrorCode.NONE:
                code = answer.code or by_row.get(next(sent), ErrorCode.NONE)
            partitions.append({"partition_index": row.partition_index, "error_code": code})
        key = {"topic_id": topic.topic_id} if hasattr(topic, "topic_id") else {"name": topic.name}
        topics.append({**key, "partitions": partitions})
    request.answer({"topics": topics})
