"""Which API asks for which right on what, and what a client hears that does not have it.

Job: Kafka's operations and resources by their numbers, and the one table of rights.
Rules: every served API has a row, an empty one if it is for everybody. A handler may ask for nothing else than what its row
says, and a test asks every API for everything in its row. `refusal` None: what may not be seen is left out of the answer.
Must not know: rules, handlers.
Source: Apache Kafka 4.2, KafkaApis and ControllerApis; PROTOCOL 2 in docs/PROTOCOL.md.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from kaas.errors import ErrorCode
from kaas.wire import apis


class Operation(IntEnum):
    """What is done, by Kafka's numbers (AclOperation)."""

    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12


class Kind(IntEnum):
    """What it is done with, by Kafka's numbers (ResourceType)."""

    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5


CLUSTER_NAME = "kafka-cluster"
"""The one resource of kind CLUSTER."""

GROUP_OPERATIONS = sum(
    1 << operation
    for operation in (
        Operation.READ,
        Operation.DELETE,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    )
)
"""What can be done with a group, as bits of Kafka's numbers."""

IMPLIED_BY: dict[Operation, frozenset[Operation]] = {
    Operation.DESCRIBE: frozenset({Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER}),
    Operation.DESCRIBE_CONFIGS: frozenset({Operation.ALTER_CONFIGS}),
}
"""Who may do one of these may do that too."""


class Need(NamedTuple):
    """One right. `refusal`: what is answered where it is missing."""

    operation: Operation
    kind: Kind
    refusal: ErrorCode | None


_TOPIC = ErrorCode.TOPIC_AUTHORIZATION_FAILED
_GROUP = ErrorCode.GROUP_AUTHORIZATION_FAILED
_CLUSTER = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
_ID = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED

_MEMBER = (Need(Operation.READ, Kind.GROUP, _GROUP),)
_DESCRIBE_CONFIGS = (
    Need(Operation.DESCRIBE_CONFIGS, Kind.TOPIC, _TOPIC),
    Need(Operation.DESCRIBE_CONFIGS, Kind.CLUSTER, _CLUSTER),
    Need(Operation.DESCRIBE_CONFIGS, Kind.GROUP, _GROUP),
)
_ALTER_CONFIGS = (
    Need(Operation.ALTER_CONFIGS, Kind.TOPIC, _TOPIC),
    Need(Operation.ALTER_CONFIGS, Kind.CLUSTER, _CLUSTER),
    Need(Operation.ALTER_CONFIGS, Kind.GROUP, _GROUP),
)

NEEDS: dict[int, tuple[Need, ...]] = {
    apis.PRODUCE.key: (Need(Operation.WRITE, Kind.TOPIC, _TOPIC), Need(Operation.WRITE, Kind.TRANSACTIONAL_ID, _ID)),
    apis.FETCH.key: (Need(Operation.READ, Kind.TOPIC, _TOPIC),),
    apis.LIST_OFFSETS.key: (Need(Operation.DESCRIBE, Kind.TOPIC, _TOPIC),),
    apis.METADATA.key: (  # a topic that is created needs one of the two
        Need(Operation.DESCRIBE, Kind.TOPIC, _TOPIC),
        Need(Operation.CREATE, Kind.CLUSTER, _TOPIC),
        Need(Operation.CREATE, Kind.TOPIC, _TOPIC),
    ),
    apis.OFFSET_COMMIT.key: (*_MEMBER, Need(Operation.READ, Kind.TOPIC, _TOPIC)),
    apis.OFFSET_FETCH.key: (Need(Operation.DESCRIBE, Kind.GROUP, _GROUP), Need(Operation.DESCRIBE, Kind.TOPIC, _TOPIC)),
    apis.FIND_COORDINATOR.key: (
        Need(Operation.DESCRIBE, Kind.GROUP, _GROUP),
        Need(Operation.DESCRIBE, Kind.TRANSACTIONAL_ID, _ID),
    ),
    apis.JOIN_GROUP.key: _MEMBER,
    apis.HEARTBEAT.key: _MEMBER,
    apis.LEAVE_GROUP.key: _MEMBER,
    apis.SYNC_GROUP.key: _MEMBER,
    apis.DESCRIBE_GROUPS.key: (Need(Operation.DESCRIBE, Kind.GROUP, _GROUP),),
    apis.LIST_GROUPS.key: (
        Need(Operation.DESCRIBE, Kind.CLUSTER, None),
        Need(Operation.DESCRIBE, Kind.GROUP, None),
    ),  # one of the two
    apis.SASL_HANDSHAKE.key: (),  # a client that has not shown yet who it is
    apis.API_VERSIONS.key: (),  # what everybody asks first
    apis.CREATE_TOPICS.key: (  # one of the first two, the last for the settings in the answer
        Need(Operation.CREATE, Kind.CLUSTER, _TOPIC),
        Need(Operation.CREATE, Kind.TOPIC, _TOPIC),
        Need(Operation.DESCRIBE_CONFIGS, Kind.TOPIC, None),
    ),
    apis.DELETE_TOPICS.key: (  # the first, or both of the others
        Need(Operation.DELETE, Kind.CLUSTER, _TOPIC),
        Need(Operation.DESCRIBE, Kind.TOPIC, _TOPIC),
        Need(Operation.DELETE, Kind.TOPIC, _TOPIC),
    ),
    apis.DELETE_RECORDS.key: (Need(Operation.DELETE, Kind.TOPIC, _TOPIC),),
    apis.INIT_PRODUCER_ID.key: (  # without a transactional id one of the last two
        Need(Operation.WRITE, Kind.TRANSACTIONAL_ID, _ID),
        Need(Operation.IDEMPOTENT_WRITE, Kind.CLUSTER, _CLUSTER),
        Need(Operation.WRITE, Kind.TOPIC, _CLUSTER),
    ),
    apis.OFFSET_FOR_LEADER_EPOCH.key: (  # one of the two; the first is what brokers have
        Need(Operation.CLUSTER_ACTION, Kind.CLUSTER, _TOPIC),
        Need(Operation.DESCRIBE, Kind.TOPIC, _TOPIC),
    ),
    apis.ADD_PARTITIONS_TO_TXN.key: (  # from version 4 on it is for brokers
        Need(Operation.WRITE, Kind.TRANSACTIONAL_ID, _ID),
        Need(Operation.WRITE, Kind.TOPIC, _TOPIC),
        Need(Operation.CLUSTER_ACTION, Kind.CLUSTER, _CLUSTER),
    ),
    apis.ADD_OFFSETS_TO_TXN.key: (Need(Operation.WRITE, Kind.TRANSACTIONAL_ID, _ID), *_MEMBER),
    apis.END_TXN.key: (Need(Operation.WRITE, Kind.TRANSACTIONAL_ID, _ID),),
    apis.TXN_OFFSET_COMMIT.key: (
        Need(Operation.WRITE, Kind.TRANSACTIONAL_ID, _ID),
        *_MEMBER,
        Need(Operation.READ, Kind.TOPIC, _TOPIC),
    ),
    apis.DESCRIBE_CONFIGS.key: _DESCRIBE_CONFIGS,
    apis.ALTER_CONFIGS.key: _ALTER_CONFIGS,
    apis.SASL_AUTHENTICATE.key: (),  # a client that has not shown yet who it is
    apis.CREATE_PARTITIONS.key: (Need(Operation.ALTER, Kind.TOPIC, _TOPIC),),
    apis.DELETE_GROUPS.key: (Need(Operation.DELETE, Kind.GROUP, _GROUP),),
    apis.INCREMENTAL_ALTER_CONFIGS.key: _ALTER_CONFIGS,
    apis.OFFSET_DELETE.key: (Need(Operation.DELETE, Kind.GROUP, _GROUP), Need(Operation.READ, Kind.TOPIC, _TOPIC)),
    apis.DESCRIBE_CLUSTER.key: (),  # the brokers are what every client needs to know
    apis.DESCRIBE_PRODUCERS.key: (Need(Operation.READ, Kind.TOPIC, _TOPIC),),
    apis.DESCRIBE_TRANSACTIONS.key: (
        Need(Operation.DESCRIBE, Kind.TRANSACTIONAL_ID, _ID),
        Need(Operation.DESCRIBE, Kind.TOPIC, None),
    ),
    apis.LIST_TRANSACTIONS.key: (Need(Operation.DESCRIBE, Kind.TRANSACTIONAL_ID, None),),
    apis.CONSUMER_GROUP_HEARTBEAT.key: (*_MEMBER, Need(Operation.DESCRIBE, Kind.TOPIC, _TOPIC)),
    apis.CONSUMER_GROUP_DESCRIBE.key: (
        Need(Operation.DESCRIBE, Kind.GROUP, _GROUP),
        Need(Operation.DESCRIBE, Kind.TOPIC, _TOPIC),
    ),
}
"""By API key."""
