import pytest

from kaas.wire.apis import INIT_PRODUCER_ID
from tests.broker.handlers.topics import create, produce
from tests.storage.log.making import batch
from tests.support.in_process import serving


async def init(peer, version=5, transactional_id=None):
    answer = await peer.ask(INIT_PRODUCER_ID, version, transactional_id=transactional_id, transaction_timeout=1000)
    return answer.error_code, answer.producer_id, answer.producer_epoch


@pytest.mark.parametrize("version", range(6))
async def test_it_works_in_every_version(tmp_path, version):
    async with serving(tmp_path) as peer:
        made = [await init(peer, version) for _ in range(3)]
        assert [(error, epoch) for error, _, epoch in made] == [(0, 0)] * 3
        assert len({id for _, id, _ in made}) == 3


async def test_a_restart_gives_no_id_again(tmp_path):
    seen = []
    for _ in range(2):
        async with serving(tmp_path) as peer:
            seen.append((await init(peer))[1])
    assert seen[0] != seen[1]


async def test_an_empty_transactional_id_is_refused(tmp_path):
    async with serving(tmp_path) as peer:
        assert await init(peer, transactional_id="") == (42, -1, -1)


async def test_a_producer_with_an_id_is_idempotent(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        _, id, _ = await init(peer)
        rows = [
            await produce(peer, "t", batch("a", at=5, producer=id, sequence=sequence)) for sequence in (0, 1, 0, 3, 2)
        ]
        assert [(row.error_code, row.base_offset) for row in rows] == [(0, 0), (0, 1), (0, 0), (45, -1), (0, 2)]
