import pytest

from kaas.wire.apis import LIST_GROUPS
from tests.broker.handlers.groups import QUICK, commit, stable
from tests.broker.handlers.topics import create
from tests.support.in_process import serving


async def groups(peer):
    """A Stable group and a simple one."""
    await create(peer, "t")
    await stable(peer, "members")
    await commit(peer, {("t", 0): 1}, group="simple")


@pytest.mark.parametrize("version", range(6))
async def test_it_works_in_every_version(tmp_path, version):
    async with serving(tmp_path, **QUICK) as peer:
        await groups(peer)
        answer = await peer.ask(LIST_GROUPS, version)
        assert answer.error_code == 0
        assert {g.group_id: g.protocol_type for g in answer.groups} == {"members": "consumer", "simple": ""}
        if version >= 4:
            assert {g.group_id: g.group_state for g in answer.groups} == {"members": "Stable", "simple": "Empty"}
        if version >= 5:
            assert {g.group_type for g in answer.groups} == {"classic"}


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"states_filter": ["STABLE"]}, {"members"}),
        ({"states_filter": ["empty", "stable"]}, {"members", "simple"}),
        ({"states_filter": ["no"]}, set()),
        ({"types_filter": ["Classic"]}, {"members", "simple"}),
        ({"types_filter": ["consumer"]}, set()),
        ({"types_filter": ["classic"], "states_filter": ["Empty"]}, {"simple"}),
    ],
)
async def test_filters_ignore_case_and_join(tmp_path, filters, found):
    async with serving(tmp_path, **QUICK) as peer:
        await groups(peer)
        assert {g.group_id for g in (await peer.ask(LIST_GROUPS, 5, **filters)).groups} == found


async def test_a_broker_without_groups_lists_none(tmp_path):
    async with serving(tmp_path) as peer:
        assert (await peer.ask(LIST_GROUPS, 5)).groups == ()
