"""Rows of a commit, plain or in a transaction: what the edge says of each, and the answer row by row.

Job: sort out the partitions that are not there or may not be touched; the others go to the group, and both verdicts are put
together again.
Rules: a row that the edge refuses fails alone. The rows of an answer stand as they stood in the request.
Must not know: who may commit, what a group makes of it.
"""

from __future__ import annotations

from typing import Any

from kaas.broker.broker import Broker
from kaas.broker.request import Request
from kaas.broker.security.guard import may
from kaas.broker.security.operations import Kind, Operation
from kaas.coordinator.answers import CommitAnswer
from kaas.coordinator.offset_entry import OffsetEntry, OffsetRows
from kaas.errors import ErrorCode
from kaas.wire.encode import Values


def refuse(request: Request, message: Any, code: ErrorCode) -> None:
    """Answer every row with one code."""
    count = sum(len(topic.partitions) for topic in message.topics)
    reply(request, message, [code] * count, CommitAnswer(ErrorCode.NONE))


def split(
    broker: Broker,
    request: Request,
    message: Any,
    *,
    by_id: bool = False,
    with_epoch: bool = False,
    retention_ms: int | None = None,
) -> tuple[OffsetRows, list[ErrorCode]]:
    """Rows that the group decides about, and for every row of the request what the edge says of it.

    The commit is of now; `retention_ms` is null for the broker's own.
    """
    now_ms = broker.clock.wall_ms()
    expires_at = None if retention_ms is None else now_ms + retention_ms
    rows: OffsetRows = []
    codes: list[ErrorCode] = []
    for topic in message.topics:
        name = broker.topics.name_of(topic.topic_id) if by_id else topic.name
        count, refusal = reach(broker, request, name)
        topic_id = topic.topic_id.bytes if by_id and name is not None else None
        for row in topic.partitions:
            if name is None or not 0 <= row.partition_index < count:
                codes.append(refusal)
                continue
            codes.append(ErrorCode.NONE)
            leader_epoch = row.committed_leader_epoch if with_epoch else -1
            metadata = row.committed_metadata or ""
            entry = OffsetEntry(row.committed_offset, leader_epoch, metadata, now_ms, expires_at, topic_id)
            rows.append((name, row.partition_index, entry))
    return rows, codes


def reach(broker: Broker, request: Request, name: str | None) -> tuple[int, ErrorCode]:
    """How many partitions of a topic may be committed to, and what all others are answered."""
    if name is None:
        return 0, ErrorCode.UNKNOWN_TOPIC_ID
    if not may(request, Operation.READ, Kind.TOPIC, name):
        return 0, ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return broker.topics.partitions_of(name), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def reply(request: Request, message: Any, codes: list[ErrorCode], answer: CommitAnswer) -> None:
    """Answer a commit."""
    request.answer(values_of(message, codes, answer))


def values_of(message: Any, codes: list[ErrorCode], answer: CommitAnswer) -> Values:
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
    return {"topics": topics}
