import uuid

import pytest

from kaas.broker.partitions import (
    CLUSTER_OPERATIONS,
    TOPIC_OPERATIONS,
    check_leader_epoch,
    partition_of,
    topic_named,
    topic_with_id,
)
from kaas.errors import ErrorCode, KafkaError
from kaas.storage.log.files import OpenFiles
from kaas.storage.log.recent import RecentBatches
from kaas.storage.log.writer import LogResources
from kaas.storage.topics import TopicRegistry
from tests.storage.log.making import NOW


@pytest.fixture
def registry(tmp_path):
    one = TopicRegistry(tmp_path, {}, LogResources(OpenFiles(), RecentBatches()))
    one.load(NOW)
    one.create("t", 2, {})
    return one


def refusal(call) -> ErrorCode:
    with pytest.raises(KafkaError) as raised:
        call()
    return raised.value.code


def test_a_topic_is_found_by_name_and_by_id(registry):
    topic = registry.get("t")
    assert topic_named(registry, "t") is topic is topic_with_id(registry, topic.topic_id)
    assert partition_of(topic, 1) is topic.partitions[1]


def test_what_is_not_there_has_a_code(registry):
    assert refusal(lambda: topic_named(registry, "no")) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert refusal(lambda: topic_with_id(registry, uuid.uuid4())) == ErrorCode.UNKNOWN_TOPIC_ID
    assert refusal(lambda: topic_with_id(registry, None)) == ErrorCode.UNKNOWN_TOPIC_ID
    for number in (2, -1):
        assert refusal(lambda number=number: partition_of(registry.get("t"), number)) == (
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        )


def test_a_leader_epoch_is_the_logs_or_unsaid(registry):
    log = registry.partition("t", 0)
    log.lead(2)
    for epoch in (2, -1):
        check_leader_epoch(log, epoch)
    assert refusal(lambda: check_leader_epoch(log, 3)) == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert refusal(lambda: check_leader_epoch(log, 1)) == ErrorCode.FENCED_LEADER_EPOCH


def test_the_operations_are_those_that_an_apache_broker_without_rules_tells():
    assert (TOPIC_OPERATIONS, CLUSTER_OPERATIONS) == (3576, 8096)
