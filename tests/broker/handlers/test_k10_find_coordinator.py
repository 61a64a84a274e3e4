import pytest

from kaas.wire.apis import FIND_COORDINATOR
from tests.support.in_process import serving


@pytest.mark.parametrize("version", range(4))
async def test_it_works_for_one_key(tmp_path, version):
    """https://github.com/tansu-io/tansu/commit/239f7b1"""
    async with serving(tmp_path) as peer:
        answer = await peer.ask(FIND_COORDINATOR, version, key="g", key_type=0)
        assert (answer.error_code, answer.node_id, answer.host, answer.port) == (0, 1, "127.0.0.1", peer.broker.port)


@pytest.mark.parametrize("version", [4, 5, 6])
async def test_it_works_for_many_keys_in_their_order(tmp_path, version):
    async with serving(tmp_path) as peer:
        answer = await peer.ask(FIND_COORDINATOR, version, key_type=0, coordinator_keys=["b", "", "a"])
        assert [row.key for row in answer.coordinators] == ["b", "", "a"]
        assert {(int(row.error_code), row.node_id, row.port) for row in answer.coordinators} == {
            (0, 1, peer.broker.port)
        }


async def test_transactional_ids_have_a_coordinator(tmp_path):
    async with serving(tmp_path) as peer:
        assert (await peer.ask(FIND_COORDINATOR, 2, key="t", key_type=1)).node_id == 1


@pytest.mark.parametrize(("version", "kind"), [(1, 2), (3, -1), (6, 2), (4, 9)])
async def test_other_kinds_are_an_invalid_request(tmp_path, version, kind):
    async with serving(tmp_path) as peer:
        answer = await peer.ask(FIND_COORDINATOR, version, key="g", key_type=kind, coordinator_keys=["g"])
        row = answer.coordinators[0] if version >= 4 else answer
        assert (int(row.error_code), row.node_id, row.host, row.port) == (42, -1, "", -1)
