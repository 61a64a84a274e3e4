import pytest

from kaas.wire.apis import HEARTBEAT
from tests.broker.handlers.groups import QUICK, stable
from tests.support.in_process import serving


@pytest.mark.parametrize("version", range(5))
async def test_it_works_in_every_version(tmp_path, version):
    async with serving(tmp_path, **QUICK) as peer:
        member = await stable(peer, instance="i")
        assert (await peer.ask(HEARTBEAT, version, **member.values)).error_code == 0


@pytest.mark.parametrize(
    ("changes", "code"),
    [({"generation_id": 7}, 22), ({"member_id": "who"}, 25), ({"group_id": "no"}, 25), ({"group_id": ""}, 24)],
)
async def test_the_code_of_a_refusal_is_told(tmp_path, changes, code):
    async with serving(tmp_path, **QUICK) as peer:
        member = await stable(peer)
        assert (await peer.ask(HEARTBEAT, 4, **{**member.values, **changes})).error_code == code


@pytest.mark.parametrize(("version", "code"), [(2, 25), (3, 82)])
async def test_the_instance_counts_from_version_3(tmp_path, version, code):
    async with serving(tmp_path, **QUICK) as peer:
        await stable(peer, instance="i")
        ghost = {"group_id": "g", "generation_id": 1, "member_id": "who", "group_instance_id": "i"}
        assert (await peer.ask(HEARTBEAT, version, **ghost)).error_code == code
