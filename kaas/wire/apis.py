"""The APIs of this broker: key, Kafka's name, the versions that are served, who needs it.

Job: the one table that ApiVersions answers from, that dispatch checks requests against and that docs/PROTOCOL.md is made of.
Rules: a row stands here exactly when `kaas/broker/handlers/kNN_*.py` serves it (a test compares the two), so nothing is
advertised that is not served. `advertised_min` may lie below `min_version` where clients look at the lowest number only;
a request below `min_version` closes the connection, as on an Apache broker.
Must not know: handlers.
Source: Apache Kafka 4.2; what clients infer from the table is told in docs/PROTOCOL.md.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """One row. Versions are inclusive."""

    key: int
    name: str
    min_version: int
    max_version: int
    purpose: str
    advertised_min: int | None = None

    @property
    def lowest_advertised(self) -> int:
        """What ApiVersions says as the lowest version."""
        return self.min_version if self.advertised_min is None else self.advertised_min

    def serves(self, version: int) -> bool:
        return self.min_version <= version <= self.max_version


def _row(key: int, name: str, versions: tuple[int, int], purpose: str, advertised_min: int | None = None) -> Api:
    low, high = versions
    return Api(key=key, name=name, min_version=low, max_version=high, purpose=purpose, advertised_min=advertised_min)


PRODUCE = _row(0, "Produce", (3, 13), "writes records; 0-2 are advertised for librdkafka before 2.11 only", 0)
FETCH = _row(1, "Fetch", (4, 18), "reads records, waits for them, in sessions")
LIST_OFFSETS = _row(2, "ListOffsets", (1, 11), "finds offsets by time, and the ends of a log")
METADATA = _row(3, "Metadata", (0, 13), "topics, partitions and brokers; may create a topic")
OFFSET_COMMIT = _row(8, "OffsetCommit", (2, 10), "keeps a group's positions")
OFFSET_FETCH = _row(9, "OffsetFetch", (1, 10), "gives a group's positions")
FIND_COORDINATOR = _row(10, "FindCoordinator", (0, 6), "names the broker of a group or a transaction")
JOIN_GROUP = _row(11, "JoinGroup", (0, 9), "a member of a classic group comes or comes back")
HEARTBEAT = _row(12, "Heartbeat", (0, 4), "a member of a classic group is alive")
LEAVE_GROUP = _row(13, "LeaveGroup", (0, 5), "members go, or are removed by an operator")
SYNC_GROUP = _row(14, "SyncGroup", (0, 5), "the leader hands out assignments, members ask for theirs")
DESCRIBE_GROUPS = _row(15, "DescribeGroups", (0, 6), "classic groups with their members")
LIST_GROUPS = _row(16, "ListGroups", (0, 5), "all groups")
SASL_HANDSHAKE = _row(17, "SaslHandshake", (0, 1), "a client says how it will show who it is")
API_VERSIONS = _row(18, "ApiVersions", (0, 4), "this table")
CREATE_TOPICS = _row(19, "CreateTopics", (2, 7), "makes topics")
DELETE_TOPICS = _row(20, "DeleteTopics", (1, 6), "removes topics")
DELETE_RECORDS = _row(21, "DeleteRecords", (0, 2), "moves the start of a log")
INIT_PRODUCER_ID = _row(22, "InitProducerId", (0, 5), "gives an idempotent producer its id")
OFFSET_FOR_LEADER_EPOCH = _row(23, "OffsetForLeaderEpoch", (2, 4), "the end of a leader epoch")
ADD_PARTITIONS_TO_TXN = _row(24, "AddPartitionsToTxn", (0, 5), "says which partitions a transaction will write to")
ADD_OFFSETS_TO_TXN = _row(25, "AddOffsetsToTxn", (0, 4), "says which group's offsets a transaction will commit")
END_TXN = _row(26, "EndTxn", (0, 5), "commits or aborts a transaction")
TXN_OFFSET_COMMIT = _row(28, "TxnOffsetCommit", (0, 5), "stages a group's positions in a transaction")
DESCRIBE_CONFIGS = _row(32, "DescribeConfigs", (1, 4), "settings of brokers, topics and groups")
ALTER_CONFIGS = _row(33, "AlterConfigs", (0, 2), "replaces all settings of topics, brokers or groups")
SASL_AUTHENTICATE = _row(36, "SaslAuthenticate", (0, 2), "a client shows who it is")
CREATE_PARTITIONS = _row(37, "CreatePartitions", (0, 3), "adds partitions to a topic")
DELETE_GROUPS = _row(42, "DeleteGroups", (0, 2), "removes empty groups")
INCREMENTAL_ALTER_CONFIGS = _row(44, "IncrementalAlterConfigs", (0, 1), "changes single settings")
OFFSET_DELETE = _row(47, "OffsetDelete", (0, 0), "removes offsets of topics nobody reads any more")
DESCRIBE_CLUSTER = _row(60, "DescribeCluster", (0, 2), "brokers and controller, for admin clients")
DESCRIBE_PRODUCERS = _row(61, "DescribeProducers", (0, 0), "producers that write to a partition")
DESCRIBE_TRANSACTIONS = _row(65, "DescribeTransactions", (0, 0), "the state of transactional ids")
LIST_TRANSACTIONS = _row(66, "ListTransactions", (0, 2), "transactional ids that this broker coordinates")
CONSUMER_GROUP_HEARTBEAT = _row(
    68, "ConsumerGroupHeartbeat", (0, 1), "a member of a consumer group comes, goes on or goes"
)
CONSUMER_GROUP_DESCRIBE = _row(69, "ConsumerGroupDescribe", (0, 1), "consumer groups with their members")

APIS: dict[int, Api] = {
    value.key: value for value in sorted((v for v in globals().values() if isinstance(v, Api)), key=lambda a: a.key)
}
"""Every served API by key."""
