"""Topics are described, made, grown and deleted, as far as clients of groups rely on that.

Metadata 0-13, CreateTopics 2-7, DeleteTopics 1-6, CreatePartitions 0-3. The broker under test creates topics on demand
(auto.create.topics.enable) with one partition.
"""

import uuid

import pytest

from tests.conformance.oracle.calls import ask, create_topic, delete_topic, described, led, topic_id
from tests.conformance.oracle.records import batch, end_offset, fetch, produce, values
from tests.support.waiting import until

# Metadata


@pytest.mark.parametrize("version", range(14))
def test_a_topic_is_described_in_every_version(c, ready, version):
    topic = create_topic(c, 2)
    answer = ask(c, "Metadata", version, topics=[{"name": topic}])
    one, (broker,) = answer.topics[0], answer.brokers
    assert (int(one.error_code), one.name, len(answer.topics)) == (0, topic, 1)
    assert sorted(
        (p.partition_index, int(p.error_code), p.leader_id, p.replica_nodes, p.isr_nodes) for p in one.partitions
    ) == [(i, 0, broker.node_id, (broker.node_id,), (broker.node_id,)) for i in (0, 1)]
    assert version < 1 or (answer.controller_id, one.is_internal) == (broker.node_id, False)
    assert version < 2 or answer.cluster_id
    assert version < 7 or {p.leader_epoch for p in one.partitions} == {0}
    assert version < 10 or one.topic_id == topic_id(c, topic) is not None
    assert version < 13 or answer.error_code == 0


@pytest.mark.parametrize("version", range(14))
def test_all_topics_or_none_are_described(c, written, version):
    every = ask(c, "Metadata", version, topics=None if version else [])
    assert written in {t.name for t in every.topics} and all(t.error_code == 0 for t in every.topics)
    assert version < 1 or all(t.is_internal == t.name.startswith("__") for t in every.topics)
    assert version < 1 or ask(c, "Metadata", version, topics=[]).topics == ()


@pytest.mark.parametrize("version", [4, 9, 12, 13])
@pytest.mark.parametrize(
    "name, code",
    [("oracle-no-such-topic", 3), ("y" * 249, 3), ("y" * 250, 17), ("two words", 17), ("", 17), ("..", 17)],
    ids=["unknown", "249 characters", "250 characters", "a space", "empty", "two dots"],
)
def test_a_topic_that_is_not_there_is_not_made_unless_allowed(c, ready, version, name, code):
    for _ in range(2):
        seen = ask(c, "Metadata", version, topics=[{"name": name}], allow_auto_topic_creation=False).topics[0]
        assert (int(seen.error_code), seen.name, seen.partitions) == (code, name, ())


@pytest.mark.parametrize("version", [0, 3, 4, 9, 13])
def test_a_topic_is_made_when_asked_for(c, ready, version):
    name = f"oracle-{uuid.uuid4().hex[:10]}"
    seen = ask(c, "Metadata", version, topics=[{"name": name}], allow_auto_topic_creation=True).topics[0]
    assert seen.error_code in (0, 3, 5)
    until(lambda: led(c, name, 1))


@pytest.mark.parametrize("version", [12, 13])
def test_a_topic_is_described_by_its_id(c, written, version):
    known = ask(c, "Metadata", version, topics=[{"topic_id": topic_id(c, written), "name": None}]).topics[0]
    assert (int(known.error_code), known.name, len(known.partitions)) == (0, written, 1)
    stranger = uuid.uuid4()
    unknown = ask(c, "Metadata", version, topics=[{"topic_id": stranger, "name": None}]).topics[0]
    assert (int(unknown.error_code), unknown.topic_id, unknown.partitions) == (100, stranger, ())


@pytest.mark.parametrize("version", [10, 11])
def test_a_topic_cannot_be_asked_for_by_id_before_version_12(c, topic, version):
    seen = ask(c, "Metadata", version, topics=[{"topic_id": topic_id(c, topic), "name": ""}]).topics[0]
    assert (int(seen.error_code), seen.partitions) == (42, ())


# Topics come, grow and go


@pytest.mark.parametrize("version", range(2, 8))
def test_a_topic_is_created_once(c, ready, version):
    name = f"oracle-{uuid.uuid4().hex[:10]}"
    rows = [{"name": name, "num_partitions": 2, "replication_factor": 1}]
    made = ask(c, "CreateTopics", version, topics=rows, timeout=5000).topics[0]
    assert (int(made.error_code), made.name) == (0, name)
    assert version < 5 or (made.num_partitions, made.replication_factor) == (2, 1)
    until(lambda: led(c, name, 2))
    assert version < 7 or made.topic_id == topic_id(c, name)
    assert ask(c, "CreateTopics", version, topics=rows, timeout=5000).topics[0].error_code == 36


@pytest.mark.parametrize(
    "values, code",
    [
        ({"name": "two words"}, 17),
        ({"name": ""}, 17),
        ({"name": "x" * 250}, 17),
        ({"num_partitions": 0}, 37),
        ({"num_partitions": -2}, 37),
        ({"replication_factor": 0}, 38),
        ({"replication_factor": 2}, 38),
        ({"configs": [{"name": "bogus", "value": "1"}]}, 40),
        ({"configs": [{"name": "retention.ms", "value": "soon"}]}, 40),
    ],
    ids=str,
)
def test_a_bad_topic_is_not_created_and_does_not_stop_a_good_one(c, ready, values, code):
    good, name = (f"oracle-{uuid.uuid4().hex[:10]}" for _ in range(2))
    plain = {"num_partitions": 1, "replication_factor": 1}
    made = ask(c, "CreateTopics", 5, topics=[{"name": name, **plain, **values}, {"name": good, **plain}], timeout=5000)
    assert {t.name: int(t.error_code) for t in made.topics} == {values.get("name", name): code, good: 0}
    until(lambda: led(c, good, 1))
    assert described(c, name).error_code == 3


def test_a_name_that_differs_in_a_dot_only_is_refused(c, ready):
    name = f"oracle.{uuid.uuid4().hex[:10]}"
    create_topic(c, name=name)
    rows = [{"name": name.replace(".", "_"), "num_partitions": 1, "replication_factor": 1}]
    assert ask(c, "CreateTopics", 5, topics=rows, timeout=5000).topics[0].error_code == 17


def test_a_topic_named_twice_in_one_request_is_neither_created_nor_deleted(c, topic):
    name = f"oracle-{uuid.uuid4().hex[:10]}"
    rows = [{"name": name, "num_partitions": 1, "replication_factor": 1}] * 2
    assert [(t.name, int(t.error_code)) for t in ask(c, "CreateTopics", 5, topics=rows, timeout=5000).topics] == [
        (name, 42)
    ]
    assert [
        int(t.error_code) for t in ask(c, "DeleteTopics", 5, topic_names=[topic, topic], timeout=5000).responses
    ] == [42]
    both = ask(c, "DeleteTopics", 6, topics=[{"name": topic, "topic_id": topic_id(c, topic)}], timeout=5000).responses
    assert [int(t.error_code) for t in both] == [42]
    assert described(c, name).error_code == 3 and described(c, topic).error_code == 0


@pytest.mark.parametrize("version", range(1, 7))
def test_a_topic_is_deleted_once(c, topic, version):
    rows = (
        {"topics": [{"name": topic}, {"name": "oracle-no-such-topic"}]}
        if version == 6
        else {"topic_names": [topic, "oracle-no-such-topic"]}
    )
    answer = ask(c, "DeleteTopics", version, timeout=5000, **rows)
    assert {t.name: int(t.error_code) for t in answer.responses} == {topic: 0, "oracle-no-such-topic": 3}
    until(lambda: described(c, topic).error_code == 3)
    assert ask(c, "DeleteTopics", 5, timeout=5000, topic_names=[topic]).responses[0].error_code == 3


def test_a_topic_is_deleted_by_its_id(c, topic):
    id, stranger = topic_id(c, topic), uuid.uuid4()
    answer = ask(c, "DeleteTopics", 6, timeout=5000, topics=[{"topic_id": id}, {"topic_id": stranger}])
    assert {t.topic_id: (int(t.error_code), t.name) for t in answer.responses} == {
        id: (0, topic),
        stranger: (100, None),
    }
    until(lambda: described(c, topic).error_code == 3)


def test_a_recreated_topic_is_another_one(c, topic):
    old = topic_id(c, topic)
    produce(c, topic, batch("a", "b"))
    delete_topic(c, topic)
    create_topic(c, 2, topic)
    new = topic_id(c, topic)
    assert new != old and end_offset(c, topic) == 0
    assert fetch(c, topic, 2).error_code == 1  # a reader of the old one is out of range, not silently at the end
    assert produce(c, topic, batch("x")).base_offset == 0
    assert fetch(c, topic, 0, 13, id=old).error_code == 100 and values(fetch(c, topic, 0, 13, id=new)) == [(0, "x")]


@pytest.mark.parametrize("version", range(4))
def test_partitions_are_added_and_never_taken_away(c, topic, version):
    def grow(count, validate_only=False):
        rows = [
            {"name": topic, "count": count, "assignments": None},
            {"name": "oracle-no-such-topic", "count": 2, "assignments": None},
        ]
        answer = ask(c, "CreatePartitions", version, topics=rows, timeout=5000, validate_only=validate_only)
        return {r.name: int(r.error_code) for r in answer.results}

    produce(c, topic, batch("kept"))
    assert grow(3, True) == grow(3) == {topic: 0, "oracle-no-such-topic": 3}
    until(lambda: led(c, topic, 3))
    assert [grow(count)[topic] for count in (3, 1, 0)] == [37, 37, 37]
    assert [end_offset(c, topic, p) for p in (0, 1, 2)] == [1, 0, 0]
