"""OffsetForLeaderEpoch (key 23), versions 2-4: where a leader epoch ends.

Versions: 3 the replica's id; 4 flexible. An epoch from the future, as the log sees it, has epoch -1 and end -1.
Left out: versions 0 and 1, without the client's own leader epoch.
"""

from __future__ import annotations

from typing import Any

from kaas.broker.broker import Broker
from kaas.broker.partitions import check_leader_epoch, partition_of, topic_named
from kaas.broker.request import Request
from kaas.broker.security.guard import may
from kaas.broker.security.operations import Kind, Operation
from kaas.errors import ErrorCode, KafkaError
from kaas.wire.apis import OFFSET_FOR_LEADER_EPOCH

API = OFFSET_FOR_LEADER_EPOCH


def handle(broker: Broker, request: Request) -> None:
    """Serve an OffsetForLeaderEpoch."""
    topics = [
        {"topic": topic.topic, "partitions": [answer(broker, request, topic.topic, row) for row in topic.partitions]}
        for topic in request.decode().topics
    ]
    request.answer({"topics": topics})


def answer(broker: Broker, request: Request, topic: str, row: Any) -> dict[str, Any]:
    """One partition."""
    try:
        if not may(request, Operation.DESCRIBE, Kind.TOPIC, topic) and not may(
            request, Operation.CLUSTER_ACTION, Kind.CLUSTER
        ):
            raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        log = partition_of(topic_named(broker.topics.registry, topic), row.partition)
        check_leader_epoch(log, row.current_leader_epoch)
        epoch, end_offset = log.end_of_epoch(row.leader_epoch)
    except KafkaError as error:
        return {"error_code": error.code, "partition": row.partition, "leader_epoch": -1, "end_offset": -1}
    return {
        "error_code": ErrorCode.NONE,
        "partition": row.partition,
        "leader_epoch": epoch,
        "end_offset": end_offset,
    }
