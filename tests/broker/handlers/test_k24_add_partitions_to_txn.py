import pytest

from tests.broker.handlers.topics import create
from tests.broker.handlers.transactions import add, add_many, begin, end, write
from tests.support.disk import refusing
from tests.support.in_process import serving


@pytest.mark.parametrize("version", range(6))
async def test_it_works_in_every_version(tmp_path, version):
    async with serving(tmp_path) as peer:
        await create(peer, "t", 2)
        producer = await begin(peer)
        for numbers in ([0], [0, 1]):
            codes = (
                await add(peer, producer, {"t": numbers}, version)
                if version < 4
                else (await add_many(peer, {producer: {"t": numbers}}, version))["pay"]
            )
            assert codes == {("t", number): 0 for number in numbers}
        assert peer.broker.groups.coordinator.transactions["pay"].durable.partitions == (("t", 0), ("t", 1))


async def test_all_partitions_join_or_none(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        producer = await begin(peer)
        codes = await add(peer, producer, {"t": [0, 1, -1], "u": [0]})
        assert codes == {("t", 0): 55, ("t", 1): 3, ("t", -1): 3, ("u", 0): 3}
        assert await end(peer, producer, 4) == (48, producer._replace(id=-1, epoch=-1)), "nothing has begun"


@pytest.mark.parametrize(("version", "code"), [(0, 47), (1, 47), (2, 90), (3, 90)])
async def test_a_producer_of_another_epoch_is_refused(tmp_path, version, code):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        producer = await begin(peer)
        assert await add(peer, producer._replace(epoch=1), {"t": [0]}, version) == {("t", 0): code}
        assert await add(peer, producer._replace(id=4_242), {"t": [0]}, version) == {("t", 0): 49}
        assert await add(peer, producer._replace(name=""), {"t": [0]}, version) == {("t", 0): 42}


@pytest.mark.parametrize("version", [4, 5])
async def test_each_of_many_transactions_has_an_answer_of_its_own(tmp_path, version):
    async with serving(tmp_path) as peer:
        await create(peer, "t", 2)
        one, two = await begin(peer, "one"), await begin(peer, "two")
        rows = {one: {"t": [0]}, two._replace(epoch=7): {"t": [0]}, two._replace(name="three"): {"t": [0, 9]}}
        assert await add_many(peer, rows, version) == {
            "one": {("t", 0): 0},
            "two": {("t", 0): 90},
            "three": {("t", 0): 55, ("t", 9): 3},
        }
        assert await add_many(peer, {}, version) == {}


@pytest.mark.parametrize("version", [4, 5])
async def test_asking_adds_nothing(tmp_path, version):
    async with serving(tmp_path) as peer:
        await create(peer, "t", 2)
        producer = await begin(peer)
        await add(peer, producer, {"t": [0]})
        for _ in range(2):
            codes = await add_many(peer, {producer: {"t": [0, 1]}}, version, verify=True)
            assert codes == {"pay": {("t", 0): 0, ("t", 1): 120}}
        stranger = producer._replace(epoch=7)
        codes = await add_many(peer, {stranger: {"t": [0]}}, version, verify=True)
        assert codes == {"pay": {("t", 0): 90}}


async def test_a_partition_that_was_added_takes_records_of_old_producers(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t", 2)
        producer = await begin(peer)
        await add(peer, producer, {"t": [0]})
        assert await write(peer, producer, "t", "a", version=11) == 0
        assert await write(peer, producer, "t", "a", version=11, partition=1) == 120
        assert await write(peer, producer, "t", "a", version=10, partition=1) == 48
        assert await write(peer, producer, "t", "a", version=12, partition=1) == 0


async def test_an_addition_that_cannot_be_written_is_refused_and_may_come_again(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        producer = await begin(peer)
        with refusing("write"):
            assert await add(peer, producer, {"t": [0]}) == {("t", 0): 15}
        assert await add(peer, producer, {"t": [0]}) == {("t", 0): 0}
        assert (await end(peer, producer))[0] == 0
