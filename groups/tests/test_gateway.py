"""The contract of groups.gateway.Gateway: for the cluster in memory always, for a real one when KAFKA_BOOTSTRAP names it."""

from __future__ import annotations

import os
import uuid
from contextlib import contextmanager

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from groups.clusters import Cluster
from groups.gateway import EARLIEST, LATEST, Committed
from groups.kafka import KafkaGateway
from groups.problems import Problem
from groups.testing.memory import MemoryGateway
from kaas.errors import ErrorCode

BOOTSTRAP = os.environ.get("KAFKA_BOOTSTRAP")
RECORDS = 10


class MemoryStage:
    """Sets the scene in memory."""

    def __init__(self):
        self.gateway = MemoryGateway()

    def topic(self, name, partitions, times):
        self.gateway.topic(name, *[len(times)] * partitions, timestamps=times)

    def trim(self, topic, partition, start):
        log = self.gateway.logs[topic, partition]
        log.records, log.start = log.records[start - log.start :], start

    @contextmanager
    def member(self, group_id, topic):
        self.gateway.group(group_id, {}, ["m-1"]).topics.add(topic)
        yield "m-1"

    def is_gone(self, group_id, member_id):
        return member_id not in self.gateway.groups[group_id].members


class KafkaStage:
    """Sets the scene on a real cluster, with librdkafka."""

    def __init__(self):
        self.gateway = KafkaGateway(Cluster(name="real", bootstrap=BOOTSTRAP))
        self._admin = AdminClient({"bootstrap.servers": BOOTSTRAP})

    def topic(self, name, partitions, times):
        self._admin.create_topics([NewTopic(name, partitions, 1)])[name].result(20)
        producer = Producer({"bootstrap.servers": BOOTSTRAP})
        for partition in range(partitions):
            for number, at in enumerate(times):
                value = f'{{"n": {number}}}'
                producer.produce(name, value, partition=partition, timestamp=at, headers=[("h", b"v")])
        assert producer.flush(20) == 0

    def trim(self, topic, partition, start):
        place = TopicPartition(topic, partition, start)
        self._admin.delete_records([place])[place].result(20)

    @contextmanager
    def member(self, group_id, topic):
        settings = {"bootstrap.servers": BOOTSTRAP, "group.id": group_id, "auto.offset.reset": "earliest"}
        consumer = Consumer({**settings, "enable.auto.commit": False, "heartbeat.interval.ms": 500})
        assigned = []
        consumer.subscribe([topic], on_assign=lambda _, partitions: assigned.extend(partitions))
        try:
            while not assigned:
                consumer.poll(0.2)
            yield consumer.memberid()
        finally:
            consumer.close()

    def is_gone(self, group_id, member_id):
        described = self._admin.describe_consumer_groups([group_id])[group_id].result(20)
        return member_id not in {member.member_id for member in described.members}


class GatewayContract:
    """What every gateway does."""

    @pytest.fixture
    def gateway(self, stage):
        return stage.gateway

    @pytest.fixture
    def topic(self, stage):
        name = f"contract-{uuid.uuid4().hex[:10]}"
        stage.topic(name, 2, [1_000 + n * 1_000 for n in range(RECORDS)])
        return name

    @pytest.fixture(params=["plain", "with/slash é", ""])
    def group_id(self, request, gateway):
        group_id = f"{request.param}-{uuid.uuid4().hex[:8]}" if request.param else ""
        yield group_id
        gateway.delete_group(group_id)

    def test_topics_tell_their_partitions_and_unknown_ones_are_left_out(self, gateway, topic):
        assert gateway.partitions([topic, "contract-never-seen"]) == {topic: [0, 1]}
        assert gateway.partitions([]) == {}
        assert gateway.partitions(["contract-never-seen"]) == {}

    def test_log_offsets_are_found_by_end_and_by_time(self, gateway, topic):
        place = (topic, 0)
        for at, offset in ((EARLIEST, 0), (LATEST, RECORDS), (0, 0), (3_500, 3), (4_000, 3), (4_001, 4), (99_000, -1)):
            assert gateway.log_offsets({place: at}) == {place: offset}
        assert gateway.log_offsets({}) == {}

    def test_a_partition_that_is_not_there_answers_its_code(self, gateway, topic):
        found = gateway.log_offsets({(topic, 0): LATEST, (topic, 9): LATEST})
        assert found[topic, 0] == RECORDS and found[topic, 9] is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    def test_offsets_are_committed_read_listed_and_deleted(self, gateway, topic, group_id):
        assert gateway.offsets(group_id) == {}
        offsets = {(topic, 0): Committed(offset=4, metadata="why"), (topic, 1): Committed(offset=2**60)}
        assert gateway.commit_offsets(group_id, offsets) == dict.fromkeys(offsets, ErrorCode.NONE)
        read = gateway.offsets(group_id)
        assert {place: (held.offset, held.metadata) for place, held in read.items()} == {
            (topic, 0): (4, "why"),
            (topic, 1): (2**60, ""),
        }
        assert group_id in gateway.group_ids()
        if group_id:  # Kafka takes the empty id for commits, not for deleting offsets
            assert gateway.delete_offsets(group_id, [(topic, 0)]) == {(topic, 0): ErrorCode.NONE}
            assert list(gateway.offsets(group_id)) == [(topic, 1)]

    def test_a_commit_to_a_partition_that_is_not_there_fails_alone(self, gateway, topic, group_id):
        offsets = {(topic, 0): Committed(offset=4), (topic, 9): Committed(offset=4)}
        codes = gateway.commit_offsets(group_id, offsets)
        assert codes == {(topic, 0): ErrorCode.NONE, (topic, 9): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}

    def test_a_group_is_deleted_once(self, gateway, topic, group_id):
        gateway.commit_offsets(group_id, {(topic, 0): Committed(offset=4)})
        assert gateway.delete_group(group_id) is ErrorCode.NONE
        assert gateway.delete_group(group_id) is ErrorCode.GROUP_ID_NOT_FOUND
        assert gateway.offsets(group_id) == {} and group_id not in gateway.group_ids()

    def test_offsets_of_an_unknown_group_cannot_be_deleted(self, gateway, topic):
        with pytest.raises(Problem) as refused:
            gateway.delete_offsets("contract-never-seen", [(topic, 0)])
        assert refused.value.code_number == ErrorCode.GROUP_ID_NOT_FOUND

    def test_a_live_group_takes_no_writes_but_gives_its_members_away(self, stage, gateway, topic):
        group_id = f"contract-{uuid.uuid4().hex[:8]}"
        with stage.member(group_id, topic) as member_id:
            place = (topic, 0)
            assert gateway.delete_group(group_id) is ErrorCode.NON_EMPTY_GROUP
            assert gateway.commit_offsets(group_id, {place: Committed(offset=1)}) == {
                place: ErrorCode.UNKNOWN_MEMBER_ID
            }
            assert gateway.delete_offsets(group_id, [place]) == {place: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC}
            assert gateway.remove_member(group_id, "nobody", None, "test") is ErrorCode.UNKNOWN_MEMBER_ID
            assert gateway.remove_member(group_id, member_id, None, "test") is ErrorCode.NONE
            assert stage.is_gone(group_id, member_id)

    def test_records_are_read_from_an_offset_on_and_end_with_the_log(self, gateway, topic):
        found = gateway.records(topic, 1, 3, 4)
        assert [record.offset for record in found] == [3, 4, 5, 6]
        assert (found[0].key, found[0].value, found[0].timestamp) == (None, b'{"n": 3}', 4_000)
        assert [record.offset for record in gateway.records(topic, 1, 8, 4)] == [8, 9]
        assert gateway.records(topic, 1, RECORDS, 4) == []

    @pytest.mark.parametrize("offset", [3, RECORDS + 5])
    def test_records_outside_the_log_are_out_of_range(self, stage, gateway, topic, offset):
        stage.trim(topic, 1, 4)
        with pytest.raises(Problem) as refused:
            gateway.records(topic, 1, offset, 1)
        assert refused.value.code == "OFFSET_OUT_OF_RANGE"
        assert gateway.records(topic, 1, 4, 1)[0].offset == 4


class TestMemoryGateway(GatewayContract):
    """The cluster in memory keeps the contract."""

    @pytest.fixture
    def stage(self):
        return MemoryStage()

    def test_it_fails_as_a_test_wants(self, gateway, topic):
        gateway.codes[topic, 0] = ErrorCode.KAFKA_STORAGE_ERROR
        place = (topic, 0)
        assert gateway.commit_offsets("g", {place: Committed(offset=1)}) == {place: ErrorCode.KAFKA_STORAGE_ERROR}
        gateway.failing = Problem(kind=None, resource="", message="away")
        with pytest.raises(Problem, match="away"):
            gateway.group_ids()
        assert gateway.calls == ["commit_offsets", "group_ids"]


@pytest.mark.skipif(not BOOTSTRAP, reason="KAFKA_BOOTSTRAP names no Kafka cluster")
class TestKafkaGateway(GatewayContract):
    """The gateway to a real cluster keeps the contract."""

    @pytest.fixture
    def stage(self):
        return KafkaStage()

    def test_headers_come_with_the_records(self, gateway, topic):
        assert gateway.records(topic, 0, 0, 1)[0].headers == (("h", b"v"),)


@pytest.fixture
def nowhere(settings):
    """A gateway to an address where nobody listens."""
    settings.KAAS_KAFKA_TIMEOUT_MS = 1_500
    return KafkaGateway(Cluster(name="nowhere", bootstrap="127.0.0.1:1"))


@pytest.mark.parametrize(
    "ask",
    [
        lambda gateway: gateway.offsets("g"),
        lambda gateway: gateway.partitions(["t"]),
        lambda gateway: gateway.log_offsets({("t", 0): LATEST}),
        lambda gateway: gateway.delete_group("g"),
        lambda gateway: gateway.group_ids(),
        lambda gateway: gateway.records("t", 0, 0, 1),
    ],
)
def test_a_cluster_that_is_away_is_a_problem_in_time(nowhere, ask):
    with pytest.raises(Problem) as away:
        ask(nowhere)
    assert away.value.kind.status in (503, 504) and away.value.kind.retriable
