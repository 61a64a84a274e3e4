"""From what a request names to the log it means.

Job: the answers that every API of topics gives alike when a topic, a partition or a leader epoch is not the right one.
Rules: a topic that is asked for by id and unknown is UNKNOWN_TOPIC_ID, one asked for by name
UNKNOWN_TOPIC_OR_PARTITION; so is an unknown partition in both cases.
Must not know: a single API.
Source: Apache Kafka 4.2; KIP-320 (leader epochs), KIP-516 (topic ids).
"""

from __future__ import annotations

from uuid import UUID

from kaas.errors import ErrorCode, KafkaError
from kaas.storage.log.partition import PartitionLog
from kaas.storage.topics import Topic, TopicRegistry

NO_EPOCH = -1

TOPIC_OPERATIONS = sum(1 << number for number in (3, 4, 5, 6, 7, 8, 10, 11))
"""Read, write, create, delete, alter, describe, describe configs, alter configs: by Kafka's numbers of operations."""

CLUSTER_OPERATIONS = sum(1 << number for number in (5, 7, 8, 9, 10, 11, 12))
"""Create, alter, describe, cluster action, describe configs, alter configs, idempotent write."""

UNASKED_OPERATIONS = -(2**31)


def topic_named(registry: TopicRegistry, name: str) -> Topic:
    """Raises: KafkaError UNKNOWN_TOPIC_OR_PARTITION."""
    topic = registry.get(name)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition.")
    return topic


def topic_with_id(registry: TopicRegistry, topic_id: UUID | None) -> Topic:
    """Raises: KafkaError UNKNOWN_TOPIC_ID."""
    topic = None if topic_id is None else registry.by_id(topic_id)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID, "This server does not host this topic ID.")
    return topic


def partition_of(topic: Topic, number: int) -> PartitionLog:
    """Raises: KafkaError UNKNOWN_TOPIC_OR_PARTITION."""
    log = topic.partition(number)
    if log is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition.")
    return log


def check_leader_epoch(log: PartitionLog, epoch: int) -> None:
    """Refuses a client whose leader epoch is not the log's; NO_EPOCH does not say.

    Raises: KafkaError UNKNOWN_LEADER_EPOCH (the client knows of a newer one), FENCED_LEADER_EPOCH.
    """
    if epoch > log.leader_epoch:
        raise KafkaError(ErrorCode.UNKNOWN_LEADER_EPOCH)
    if NO_EPOCH < epoch < log.leader_epoch:
        raise KafkaError(ErrorCode.FENCED_LEADER_EPOCH)
