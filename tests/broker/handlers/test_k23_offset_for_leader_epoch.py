import pytest

from kaas.wire.apis import OFFSET_FOR_LEADER_EPOCH
from tests.broker.handlers.topics import create, produce
from tests.storage.log.making import batch
from tests.support.in_process import serving


@pytest.mark.parametrize("version", [2, 3, 4])
async def test_it_works_in_every_version(tmp_path, version):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        await produce(peer, "t", batch("a", "b", at=5))

        async def end(current, epoch, topic="t", partition=0):
            rows = [{"partition": partition, "current_leader_epoch": current, "leader_epoch": epoch}]
            answer = await peer.ask(OFFSET_FOR_LEADER_EPOCH, version, topics=[{"topic": topic, "partitions": rows}])
            row = answer.topics[0].partitions[0]
            return row.error_code, row.leader_epoch, row.end_offset

        assert await end(-1, 0) == await end(0, 0) == (0, 0, 2)
        assert await end(-1, 5) == (0, -1, -1)
        assert await end(3, 0) == (75, -1, -1)
        assert await end(-1, 0, "no") == await end(-1, 0, partition=9) == (3, -1, -1)
