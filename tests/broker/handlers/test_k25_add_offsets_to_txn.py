import pytest

from tests.broker.handlers.groups import committed
from tests.broker.handlers.topics import create
from tests.broker.handlers.transactions import add_group, begin, end, stage
from tests.support.disk import refusing
from tests.support.in_process import serving


@pytest.mark.parametrize("version", range(5))
async def test_it_works_in_every_version(tmp_path, version):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        producer = await begin(peer)
        for _ in range(2):
            assert await add_group(peer, producer, "g", version) == 0
        assert await stage(peer, producer, {("t", 0): 5}, version=3) == {("t", 0): 0}
        assert (await end(peer, producer, 3))[0] == 0
        assert await committed(peer) == {("t", 0): 5}


@pytest.mark.parametrize(("version", "code"), [(0, 47), (1, 47), (2, 90), (3, 90), (4, 90)])
async def test_a_producer_of_another_epoch_is_refused(tmp_path, version, code):
    async with serving(tmp_path) as peer:
        producer = await begin(peer)
        assert await add_group(peer, producer._replace(epoch=1), "g", version) == code
        assert await add_group(peer, producer._replace(id=4_242), "g", version) == 49
        assert await add_group(peer, producer._replace(name=""), "g", version) == 42
        assert (await end(peer, producer, 4))[0] == 48, "nothing has begun"


async def test_any_group_id_will_do(tmp_path):
    """The group itself is asked when offsets come: the empty one then refuses them, as on an Apache broker."""
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        producer = await begin(peer)
        for group in ("", "a/b", "..", "日本"):
            assert await add_group(peer, producer, group) == 0
        assert await stage(peer, producer, {("t", 0): 5}, "", version=3) == {("t", 0): 24}
        assert await stage(peer, producer, {("t", 0): 5}, "..", version=3) == {("t", 0): 0}
        assert (await end(peer, producer))[0] == 0
        assert await committed(peer, "..") == {("t", 0): 5}


async def test_an_addition_that_cannot_be_written_is_refused_and_may_come_again(tmp_path):
    async with serving(tmp_path) as peer:
        producer = await begin(peer)
        with refusing("write"):
            assert await add_group(peer, producer) == 15
        assert await add_group(peer, producer) == 0
