import pytest

from kaas.coordinator.events import PartitionsAdded, TopicKnown
from kaas.wire.apis import CREATE_PARTITIONS
from tests.broker.handlers.topics import create, described, list_offset, produce
from tests.storage.log.making import batch
from tests.support.in_process import serving


async def grow(peer, *rows, version=3, **more):
    named = [{"name": name, "count": count, "assignments": assignments} for name, count, assignments in rows]
    answer = await peer.ask(CREATE_PARTITIONS, version, topics=named, **more)
    return {row.name: row.error_code for row in answer.results}


@pytest.mark.parametrize("version", range(4))
async def test_it_works_in_every_version(tmp_path, version):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        await produce(peer, "t", batch("kept", at=5))
        assert await grow(peer, ("t", 3, None), ("no", 2, None), version=version) == {"t": 0, "no": 3}
        assert len((await described(peer, "t")).partitions) == 3
        assert [(await list_offset(peer, "t", -1, number)).offset for number in range(3)] == [1, 0, 0]


@pytest.mark.parametrize(("count", "code"), [(2, 37), (1, 37), (0, 37), (-1, 37), (20_000, 44)])
async def test_partitions_are_never_taken_away(tmp_path, count, code):
    async with serving(tmp_path) as peer:
        await create(peer, "t", 2)
        assert await grow(peer, ("t", count, None)) == {"t": code}
        assert len((await described(peer, "t")).partitions) == 2


def on(*brokers):
    return [{"broker_ids": list(ids)} for ids in brokers]


@pytest.mark.parametrize(
    ("assignments", "code"), [(on([1], [1]), 0), (on([1]), 39), (on([1], [9]), 39), (on([1], []), 39), ([], 39)]
)
async def test_new_partitions_may_be_assigned(tmp_path, assignments, code):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        assert await grow(peer, ("t", 3, assignments)) == {"t": code}


async def test_a_check_adds_nothing(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        assert await grow(peer, ("t", 3, None), validate_only=True) == {"t": 0}
        assert len((await described(peer, "t")).partitions) == 1


async def test_a_topic_named_twice_grows_by_neither_row(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        assert await grow(peer, ("t", 3, None), ("t", 4, None)) == {"t": 42}


async def test_groups_learn_of_it(tmp_path, monkeypatch):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        heard = []
        monkeypatch.setattr(peer.broker.groups, "submit", heard.append)
        await grow(peer, ("t", 1, None))
        await grow(peer, ("t", 2, None))
        assert [type(event) for event in heard] == [TopicKnown, PartitionsAdded]
        assert (heard[0].topic.name, heard[0].topic.partitions, heard[1].topic) == ("t", 2, "t")
        monkeypatch.undo()


async def test_groups_do_not_hear_of_it_where_that_is_left_to_clients(tmp_path, monkeypatch):
    async with serving(tmp_path, kaas_rebalance_on_partition_growth="false") as peer:
        await create(peer, "t")
        heard = []
        monkeypatch.setattr(peer.broker.groups, "submit", heard.append)
        assert await grow(peer, ("t", 2, None)) == {"t": 0}
        assert [type(event) for event in heard] == [TopicKnown]  # consumer groups are served by the broker
        monkeypatch.undo()
