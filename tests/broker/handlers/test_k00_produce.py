import uuid

import pytest

from kaas.wire.apis import METADATA, PRODUCE
from kaas.wire.records.codec import Codec
from tests.broker.handlers.topics import create, fetch, list_offset, produce, produce_values, values
from tests.storage.log.making import batch
from tests.support.in_process import Closed, Peer, serving


async def end(peer, topic="t") -> int:
    return (await list_offset(peer, topic, -1)).offset


@pytest.mark.parametrize("version", range(3, 14))
async def test_it_works_in_every_version(tmp_path, version):
    async with serving(tmp_path) as peer:
        id = await create(peer, "t")
        rows = [
            await produce(peer, id if version >= 13 else "t", batch(*"ab", at=5), version=version) for _ in range(2)
        ]
        assert [(row.error_code, row.base_offset, row.log_append_time) for row in rows] == [(0, 0, None), (0, 2, None)]
        assert values(await fetch(peer, "t")) == [(0, "a"), (1, "b"), (2, "a"), (3, "b")]


async def test_each_partition_is_taken_by_its_own_merits(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t", 2)
        good, bad = batch("a", at=5), batch("a", at=5)[:-1]
        rows = [{"index": 0, "records": good}, {"index": 1, "records": bad}, {"index": 9, "records": good}]
        answer = await peer.ask(
            PRODUCE,
            9,
            acks=-1,
            topic_data=[{"name": "t", "partition_data": rows}, {"name": "no", "partition_data": rows[:1]}],
        )
        codes = [[row.error_code for row in topic.partition_responses] for topic in answer.responses]
        assert codes == [[0, 87, 3], [3]]
        assert answer.responses[0].partition_responses[1].error_message


@pytest.mark.parametrize(("acks", "code"), [(-1, 0), (1, 0), (2, 21), (-2, 21)])
async def test_acks_are_none_the_leader_or_all(tmp_path, acks, code):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        assert (await produce(peer, "t", batch("a", at=5), acks=acks)).error_code == code
        assert await end(peer) == (0 if code else 1)


async def test_a_batch_that_wants_no_answer_gets_none(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        peer.put(PRODUCE, 9, **produce_values("t", batch("a", at=5), acks=0))
        peer.forget()
        assert (await peer.ask(METADATA, 12, topics=[])).brokers
        assert await end(peer) == 1


async def test_an_error_of_a_batch_that_wants_no_answer_ends_the_connection(tmp_path):
    async with serving(tmp_path) as peer:
        peer.put(PRODUCE, 9, **produce_values("no", batch("a", at=5), acks=0))
        with pytest.raises(Closed):
            await peer.get()
        assert (await (await Peer.connect(peer.server)).ask(METADATA, 12, topics=[])).brokers


@pytest.mark.parametrize(("version", "code"), [(3, 76), (6, 76), (7, 0)])
async def test_zstandard_needs_version_7(tmp_path, version, code):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        data = batch("a", at=5, codec=Codec.ZSTD)
        assert (await produce(peer, "t", data, version=version)).error_code == code


async def test_a_transaction_needs_a_transactional_id(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        assert (await produce(peer, "t", batch("a", at=5, producer=1, transactional=True))).error_code == 53
        assert await end(peer) == 0


@pytest.mark.parametrize("data", [b"", None])
async def test_no_records_are_an_invalid_record(tmp_path, data):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        assert (await produce(peer, "t", data)).error_code == 87


async def test_a_topic_by_an_unknown_id(tmp_path):
    async with serving(tmp_path) as peer:
        assert (await produce(peer, uuid.uuid4(), batch("a", at=5), version=13)).error_code == 100


async def test_more_replicas_than_there_are_refuse_all_acks_only(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t", min_insync_replicas="2")
        codes = [(await produce(peer, "t", batch("a", at=5), acks=acks)).error_code for acks in (-1, 1)]
        assert codes == [19, 0]


async def test_the_time_of_the_log_is_told(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t", message_timestamp_type="LogAppendTime")
        assert (await produce(peer, "t", batch("a", at=5))).log_append_time is not None


async def test_a_request_without_topics_is_answered(tmp_path):
    async with serving(tmp_path) as peer:
        assert (await peer.ask(PRODUCE, 9, acks=-1, topic_data=[])).responses == ()
