"""One or more requests of every API, which together need every right that its row in the table of rights names."""

from __future__ import annotations

from typing import Any

from kaas.wire import apis
from tests.broker.handlers import consumers
from tests.broker.handlers.groups import commit_values, join_values
from tests.broker.handlers.topics import fetch_values, produce_values
from tests.storage.log.making import batch

TOPIC, GROUP, CONSUMERS, TRANSACTION = "the-topic", "the-group", "the-consumers", "the-payment"
"""What the requests are about."""
TOPICS = [{"name": TOPIC, "partitions": [0]}]
MEMBER = {"group_id": GROUP, "generation_id": 1, "member_id": "m", "group_instance_id": None}
PRODUCER = {"transactional_id": TRANSACTION, "producer_id": 1, "producer_epoch": 0}
RESOURCES = ((2, TOPIC), (4, "1"), (32, GROUP))
KINDS = {"resource_type": 0, "resource_name": ""}
INIT = {"transaction_timeout": 60_000, "producer_id": -1, "producer_epoch": -1}
STAGED = {
    "topics": [
        {
            "name": TOPIC,
            "partitions": [
                {"partition_index": 0, "committed_offset": 1, "committed_leader_epoch": -1, "committed_metadata": ""}
            ],
        }
    ]
}

Sample = tuple[int, dict[str, Any]]
"""A version, and the values of a request."""


def _rows(**more: Any) -> list[dict[str, Any]]:
    return [{"resource_type": kind, "resource_name": name, **more} for kind, name in RESOURCES]


SAMPLES: dict[int, list[Sample]] = {
    apis.PRODUCE.key: [
        (9, produce_values(TOPIC, batch("v"))),
        (9, produce_values(TOPIC, batch("v", producer=1, transactional=True), transactional_id=TRANSACTION)),
    ],
    apis.FETCH.key: [(11, fetch_values(TOPIC))],
    apis.LIST_OFFSETS.key: [
        (7, {"topics": [{"name": TOPIC, "partitions": [{"partition_index": 0, "timestamp": -1}]}]}),
    ],
    apis.METADATA.key: [
        (9, {"topics": [{"name": TOPIC}], "allow_auto_topic_creation": False}),
        (9, {"topics": [{"name": "new"}], "allow_auto_topic_creation": True}),
    ],
    apis.OFFSET_COMMIT.key: [(8, commit_values({(TOPIC, 0): 1}, GROUP))],
    apis.OFFSET_FETCH.key: [(7, {"group_id": GROUP, "topics": [{"name": TOPIC, "partition_indexes": [0]}]})],
    apis.FIND_COORDINATOR.key: [(3, {"key": GROUP, "key_type": 0}), (3, {"key": TRANSACTION, "key_type": 1})],
    apis.JOIN_GROUP.key: [(9, join_values(GROUP))],
    apis.HEARTBEAT.key: [(4, MEMBER)],
    apis.LEAVE_GROUP.key: [(3, {"group_id": GROUP, "members": [{"member_id": "m", "group_instance_id": None}]})],
    apis.SYNC_GROUP.key: [
        (5, {**MEMBER, "protocol_type": "consumer", "protocol_name": "range", "assignments": ()}),
    ],
    apis.DESCRIBE_GROUPS.key: [(5, {"groups": [GROUP]})],
    apis.LIST_GROUPS.key: [(4, {"states_filter": ()})],
    apis.SASL_HANDSHAKE.key: [(1, {"mechanism": "PLAIN"})],
    apis.API_VERSIONS.key: [(2, {})],
    apis.CREATE_TOPICS.key: [
        (7, {"topics": [{"name": "made", "num_partitions": 1, "replication_factor": 1}], "validate_only": True}),
    ],
    apis.DELETE_TOPICS.key: [(5, {"topic_names": ["other"], "timeout": 1_000})],
    apis.DELETE_RECORDS.key: [
        (1, {"topics": [{"name": TOPIC, "partitions": [{"partition_index": 0, "offset": 0}]}], "timeout": 1_000}),
    ],
    apis.INIT_PRODUCER_ID.key: [
        (4, {**INIT, "transactional_id": TRANSACTION}),
        (4, {**INIT, "transactional_id": None}),
    ],
    apis.OFFSET_FOR_LEADER_EPOCH.key: [
        (3, {"topics": [{"topic": TOPIC, "partitions": [{"partition": 0, "leader_epoch": 0}]}]}),
    ],
    apis.ADD_PARTITIONS_TO_TXN.key: [
        (3, {f"v3_and_below_{name}": value for name, value in {**PRODUCER, "topics": TOPICS}.items()}),
        (4, {"transactions": [{**PRODUCER, "verify_only": True, "topics": TOPICS}]}),
    ],
    apis.ADD_OFFSETS_TO_TXN.key: [(3, {**PRODUCER, "group_id": GROUP})],
    apis.END_TXN.key: [(3, {**PRODUCER, "committed": False})],
    apis.TXN_OFFSET_COMMIT.key: [(3, {**PRODUCER, **MEMBER, "generation_id": -1, "member_id": "", **STAGED})],
    apis.DESCRIBE_CONFIGS.key: [(4, {"resources": _rows(configuration_keys=None)})],
    apis.ALTER_CONFIGS.key: [(1, {"resources": _rows(configs=()), "validate_only": True})],
    apis.SASL_AUTHENTICATE.key: [(1, {"auth_bytes": b"x"})],
    apis.CREATE_PARTITIONS.key: [
        (2, {"topics": [{"name": TOPIC, "count": 2}], "timeout": 1_000, "validate_only": True}),
    ],
    apis.DELETE_GROUPS.key: [(2, {"groups_names": [GROUP]})],
    apis.INCREMENTAL_ALTER_CONFIGS.key: [(1, {"resources": _rows(configs=()), "validate_only": True})],
    apis.OFFSET_DELETE.key: [
        (0, {"group_id": GROUP, "topics": [{"name": TOPIC, "partitions": [{"partition_index": 0}]}]}),
    ],
    apis.DESCRIBE_CLUSTER.key: [(1, {"endpoint_type": 1})],
    apis.DESCRIBE_PRODUCERS.key: [(0, {"topics": [{"name": TOPIC, "partition_indexes": [0]}]})],
    apis.DESCRIBE_TRANSACTIONS.key: [(0, {"transactional_ids": [TRANSACTION]})],
    apis.LIST_TRANSACTIONS.key: [(1, {"state_filters": (), "producer_id_filters": (), "duration_filter": -1})],
    apis.CONSUMER_GROUP_HEARTBEAT.key: [(1, consumers.join_values("member", TOPIC, group_id=CONSUMERS))],
    apis.CONSUMER_GROUP_DESCRIBE.key: [(1, {"group_ids": [CONSUMERS]})],
}
"""By API key."""
