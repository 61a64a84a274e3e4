import uuid

import pytest

from kaas.wire.apis import METADATA
from tests.broker.handlers.topics import create, described
from tests.support.in_process import serving


@pytest.mark.parametrize("version", range(14))
async def test_it_works_in_every_version(tmp_path, version):
    async with serving(tmp_path) as peer:
        id = await create(peer, "t", 2)
        answer = await peer.ask(METADATA, version, topics=[{"name": "t"}])
        (topic,), (broker,) = answer.topics, answer.brokers
        assert (broker.node_id, broker.host, broker.port) == (1, "127.0.0.1", peer.broker.port)
        assert (topic.error_code, topic.name) == (0, "t")
        assert [
            (p.error_code, p.partition_index, p.leader_id, p.replica_nodes, p.isr_nodes) for p in topic.partitions
        ] == [(0, number, 1, (1,), (1,)) for number in (0, 1)]
        assert version < 1 or answer.controller_id == 1
        assert version < 2 or answer.cluster_id == peer.broker.cluster.cluster_id
        assert version < 7 or topic.partitions[0].leader_epoch == 0
        assert version < 10 or topic.topic_id == id


@pytest.mark.parametrize("version", range(14))
async def test_all_topics_or_none(tmp_path, version):
    async with serving(tmp_path) as peer:
        await create(peer, "a")
        await create(peer, "b")
        everything = await peer.ask(METADATA, version, topics=None if version else [])
        assert [topic.name for topic in everything.topics] == ["a", "b"]
        if version:
            assert (await peer.ask(METADATA, version, topics=[])).topics == ()


@pytest.mark.parametrize(("name", "code"), [("no", 3), ("y" * 249, 3), ("y" * 250, 17), ("two words", 17), ("", 17)])
async def test_a_topic_that_is_not_there_is_not_made_unless_allowed(tmp_path, name, code):
    async with serving(tmp_path) as peer:
        for _ in range(2):
            topic = await described(peer, name)
            assert (topic.error_code, topic.name, topic.partitions) == (code, name, ())


@pytest.mark.parametrize("version", [0, 3, 4, 13])
async def test_a_topic_is_made_when_it_is_asked_for_and_described_at_once(tmp_path, version):
    async with serving(tmp_path, num_partitions=3) as peer:
        answer = await peer.ask(METADATA, version, topics=[{"name": "new"}], allow_auto_topic_creation=True)
        assert (answer.topics[0].error_code, len(answer.topics[0].partitions)) == (0, 3)


async def test_a_topic_is_not_made_when_the_broker_says_so(tmp_path):
    async with serving(tmp_path, auto_create_topics_enable="false") as peer:
        answer = await peer.ask(METADATA, 13, topics=[{"name": "new"}], allow_auto_topic_creation=True)
        assert answer.topics[0].error_code == 3


async def test_the_internal_topics_of_apache_are_not_made(tmp_path):
    async with serving(tmp_path) as peer:
        names = ["__consumer_offsets", "__transaction_state"]
        answer = await peer.ask(METADATA, 13, topics=[{"name": n} for n in names], allow_auto_topic_creation=True)
        assert [topic.error_code for topic in answer.topics] == [3, 3]


async def test_a_topic_is_made_once_when_two_ask_for_it(tmp_path):
    async with serving(tmp_path) as peer:
        for _ in range(2):
            peer.put(METADATA, 12, topics=[{"name": "new"}, {"name": "new"}], allow_auto_topic_creation=True)
        answers = [await peer.get() for _ in range(2)]
        assert [[topic.error_code for topic in one.topics] for one in answers] == [[0], [0]]
        assert answers[0].topics[0].topic_id == answers[1].topics[0].topic_id


async def test_a_topic_is_described_by_its_id(tmp_path):
    async with serving(tmp_path) as peer:
        id, stranger = await create(peer, "t"), uuid.uuid4()
        answer = await peer.ask(METADATA, 12, topics=[{"topic_id": one, "name": None} for one in (id, stranger)])
        assert [(t.error_code, t.name, t.topic_id) for t in answer.topics] == [(0, "t", id), (100, None, stranger)]


@pytest.mark.parametrize("version", [10, 11])
async def test_a_topic_cannot_be_asked_for_by_id_before_version_12(tmp_path, version):
    async with serving(tmp_path) as peer:
        id = await create(peer, "t")
        assert (await peer.ask(METADATA, version, topics=[{"topic_id": id, "name": ""}])).topics[0].error_code == 42


async def test_operations_are_told_when_they_are_asked_for(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        asked = {"include_topic_authorized_operations": True, "include_cluster_authorized_operations": True}
        names = [{"name": "t"}, {"name": "no"}]
        told = await peer.ask(METADATA, 10, topics=names, allow_auto_topic_creation=False, **asked)
        assert [topic.topic_authorized_operations for topic in told.topics] == [3576, 3576]
        assert told.cluster_authorized_operations == 8096
        untold = await peer.ask(METADATA, 10, topics=names[:1])
        assert (untold.topics[0].topic_authorized_operations, untold.cluster_authorized_operations) == (-(2**31),) * 2


async def test_a_topic_named_twice_is_described_once(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        assert len((await peer.ask(METADATA, 12, topics=[{"name": "t"}] * 2)).topics) == 1
