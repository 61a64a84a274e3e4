import pytest

from kaas.wire.apis import DESCRIBE_GROUPS
from tests.broker.handlers.groups import QUICK, leave, stable, subscription
from tests.support.in_process import serving

UNASKED = -(2**31)


async def describe(peer, version, *groups, told=False):
    return (await peer.ask(DESCRIBE_GROUPS, version, groups=list(groups), include_authorized_operations=told)).groups


@pytest.mark.parametrize("version", range(7))
async def test_it_works_in_every_version(tmp_path, version):
    async with serving(tmp_path, **QUICK) as peer:
        member = await stable(peer, instance="i")
        (group,) = await describe(peer, version, "g")
        assert (int(group.error_code), group.group_id, group.group_state) == (0, "g", "Stable")
        assert (group.protocol_type, group.protocol_data) == ("consumer", "range")
        (one,) = group.members
        assert (one.member_id, one.client_id, one.client_host) == (member.id, "test", "/127.0.0.1")
        assert (one.member_metadata, one.member_assignment) == (subscription("t"), b"plan")
        assert version < 4 or one.group_instance_id == "i"
        assert version < 6 or group.error_message is None


@pytest.mark.parametrize(("version", "code"), [(0, 0), (5, 0), (6, 69)])
async def test_an_unknown_group_is_dead_and_an_error_only_from_version_6(tmp_path, version, code):
    async with serving(tmp_path) as peer:
        (group,) = await describe(peer, version, "nobody")
        assert (int(group.error_code), group.group_state, group.members) == (code, "Dead", ())
        assert version < 6 or group.error_message == "Group nobody not found."


async def test_each_group_is_answered(tmp_path):
    async with serving(tmp_path, **QUICK) as peer:
        await leave(peer, await stable(peer))
        groups = await describe(peer, 5, "g", "nobody", "g")
        assert [(g.group_id, g.group_state) for g in groups] == [("g", "Empty"), ("nobody", "Dead"), ("g", "Empty")]


@pytest.mark.parametrize("version", [3, 5, 6])
async def test_authorized_operations_are_told_when_asked_for(tmp_path, version):
    async with serving(tmp_path, **QUICK) as peer:
        await stable(peer)
        assert (await describe(peer, version, "g"))[0].authorized_operations == UNASKED
        read, delete, see = 1 << 3, 1 << 6, 1 << 8
        told = (await describe(peer, version, "g", told=True))[0].authorized_operations
        assert told & (read | delete | see) == read | delete | see


@pytest.mark.parametrize(("version", "told"), [(5, True), (6, False)])
async def test_an_unknown_group_has_operations_before_version_6_only(tmp_path, version, told):
    async with serving(tmp_path) as peer:
        operations = (await describe(peer, version, "nobody", told=True))[0].authorized_operations
        assert (operations != UNASKED) is told
