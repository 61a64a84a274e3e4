import pytest

from kaas.wire.apis import CREATE_TOPICS
from tests.broker.handlers.topics import described
from tests.support.in_process import serving

PLAIN = {"name": "t", "num_partitions": 2, "replication_factor": 1}


async def create(peer, *rows, version=7, **more):
    return (await peer.ask(CREATE_TOPICS, version, topics=list(rows), **more)).topics


@pytest.mark.parametrize("version", range(2, 8))
async def test_it_works_in_every_version(tmp_path, version):
    async with serving(tmp_path) as peer:
        (made,) = await create(peer, PLAIN, version=version)
        assert (made.error_code, made.name) == (0, "t")
        topic = await described(peer, "t")
        assert len(topic.partitions) == 2
        assert version < 5 or (made.num_partitions, made.replication_factor) == (2, 1)
        assert version < 7 or made.topic_id == topic.topic_id
        assert (await create(peer, PLAIN, version=version))[0].error_code == 36


async def test_the_answer_tells_the_settings_and_where_they_come_from(tmp_path):
    async with serving(tmp_path, log_segment_bytes=7000) as peer:
        (made,) = await create(peer, {**PLAIN, "configs": [{"name": "retention.ms", "value": "5"}]})
        rows = {row.name: (row.value, row.config_source, row.read_only) for row in made.configs}
        assert rows["retention.ms"] == ("5", 1, False) and rows["segment.bytes"] == ("7000", 4, False)
        assert rows["flush.ms"][1] == 5


async def test_minus_one_means_the_brokers_default(tmp_path):
    async with serving(tmp_path, num_partitions=4) as peer:
        (made,) = await create(peer, {"name": "t", "num_partitions": -1, "replication_factor": -1})
        assert (made.error_code, made.num_partitions, made.replication_factor) == (0, 4, 1)


async def test_a_check_makes_nothing(tmp_path):
    async with serving(tmp_path) as peer:
        (checked,) = await create(peer, PLAIN, validate_only=True)
        assert (checked.error_code, checked.num_partitions, checked.topic_id) == (0, 2, None)
        assert (await described(peer, "t")).error_code == 3


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"name": "two words"}, 17),
        ({"name": ""}, 17),
        ({"num_partitions": 0}, 37),
        ({"num_partitions": -2}, 37),
        ({"num_partitions": 20_000}, 44),
        ({"replication_factor": 0}, 38),
        ({"replication_factor": 2}, 38),
        ({"configs": [{"name": "bogus", "value": "1"}]}, 40),
        ({"configs": [{"name": "retention.ms", "value": None}]}, 40),
        ({"num_partitions": 0, "configs": [{"name": "bogus", "value": "1"}]}, 40),
        ({"num_partitions": 0, "replication_factor": 5}, 37),
    ],
    ids=str,
)
async def test_a_bad_topic_is_not_made_and_does_not_stop_a_good_one(tmp_path, changes, code):
    async with serving(tmp_path) as peer:
        bad, good = await create(peer, {**PLAIN, "name": "bad", **changes}, PLAIN)
        assert (bad.error_code, bad.num_partitions, good.error_code) == (code, -1, 0) and bad.error_message
        assert (await described(peer, changes.get("name", "bad"))).error_code in (3, 17)


def assigned(*brokers, **more):
    rows = [{"partition_index": number, "broker_ids": list(ids)} for number, ids in enumerate(brokers)]
    return {"name": "t", "num_partitions": -1, "replication_factor": -1, "assignments": rows, **more}


@pytest.mark.parametrize(
    ("row", "code"),
    [
        (assigned([1], [1]), 0),
        (assigned([1], num_partitions=1), 42),
        (assigned([1], replication_factor=1), 42),
        (assigned([9]), 39),
        (assigned([]), 39),
        (assigned([1, 1]), 39),
        ({**assigned([1]), "assignments": [{"partition_index": 1, "broker_ids": [1]}]}, 39),
    ],
    ids=str,
)
async def test_partitions_may_be_assigned_to_brokers_that_there_are(tmp_path, row, code):
    async with serving(tmp_path) as peer:
        (made,) = await create(peer, row)
        assert made.error_code == code
        assert code or len((await described(peer, "t")).partitions) == 2


async def test_a_topic_named_twice_is_made_by_neither_row(tmp_path):
    async with serving(tmp_path) as peer:
        assert [(row.name, row.error_code) for row in await create(peer, PLAIN, PLAIN)] == [("t", 42)]
        assert (await described(peer, "t")).error_code == 3
