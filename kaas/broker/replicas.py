"""What admin clients say of replicas, checked against the brokers there are.

Job: replication factors and manual assignments of new partitions.
Rules: a partition has one replica, on the broker that leads it; whatever asks for more, or for brokers that do not
exist, is refused with Apache's codes and sentences.
Must not know: topics, single APIs.
Source: Apache Kafka 4.2, ReplicationControlManager.
"""

from __future__ import annotations

from collections.abc import Sequence

from kaas.cluster.view import ClusterView
from kaas.errors import ErrorCode, KafkaError

ONE_REPLICA = 1


def check_replication_factor(asked: int, cluster: ClusterView) -> None:
    """Raises: KafkaError INVALID_REPLICATION_FACTOR."""
    if asked <= 0:
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )
    if asked > ONE_REPLICA:
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"Unable to replicate the partition {asked} time(s): The target replication factor of {asked} cannot be reached "
            f"because only {ONE_REPLICA} replica(s) of a partition are kept by {len(cluster.brokers)} broker(s).",
        )


def check_assignment(broker_ids: Sequence[int], cluster: ClusterView) -> None:
    """The brokers of one partition. Raises: KafkaError INVALID_REPLICA_ASSIGNMENT."""
    if not broker_ids:
        raise _bad_assignment("includes an empty replica list.")
    known = {broker.id for broker in cluster.brokers}
    for broker_id in broker_ids:
        if broker_ids.count(broker_id) > 1:
            raise _bad_assignment(f"includes the broker {broker_id} more than once.")
        if broker_id not in known:
            raise _bad_assignment(f"includes broker {broker_id}, but no such broker is registered.")
    if len(broker_ids) > ONE_REPLICA:
        raise _bad_assignment("includes more than one broker for a partition, which has one replica here.")


def _bad_assignment(reason: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"The manual partition assignment {reason}")
