import pytest

from kaas.wire.apis import DELETE_GROUPS, DESCRIBE_GROUPS
from tests.broker.handlers.groups import QUICK, commit, committed, stable
from tests.broker.handlers.topics import create
from tests.support.in_process import serving


async def delete(peer, *names, version=2):
    answer = await peer.ask(DELETE_GROUPS, version, groups_names=list(names))
    return [(row.group_id, int(row.error_code)) for row in answer.results]


@pytest.mark.parametrize("version", range(3))
async def test_it_works_in_every_version(tmp_path, version):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        await commit(peer, {("t", 0): 5})
        assert await delete(peer, "g", version=version) == [("g", 0)]
        assert await committed(peer) == {}
        assert (await peer.ask(DESCRIBE_GROUPS, 5, groups=["g"])).groups[0].group_state == "Dead"


async def test_each_group_has_an_answer_of_its_own_and_one_named_twice_has_one(tmp_path):
    async with serving(tmp_path, **QUICK) as peer:
        await create(peer, "t")
        await stable(peer, "members")
        await commit(peer, {("t", 0): 5}, group="simple")
        answers = await delete(peer, "members", "simple", "nobody", "simple")
        assert answers == [("members", 68), ("simple", 0), ("nobody", 69)]


async def test_no_groups_are_deleted_when_none_is_named(tmp_path):
    async with serving(tmp_path) as peer:
        assert await delete(peer) == []


async def test_a_deleted_group_stays_deleted_over_a_restart(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        await commit(peer, {("t", 0): 5})
        assert await delete(peer, "g") == [("g", 0)]
    async with serving(tmp_path) as peer:
        assert await committed(peer) == {}
        assert await delete(peer, "g") == [("g", 69)]
