import pytest

from kaas.wire.apis import DELETE_RECORDS
from tests.broker.handlers.topics import create, fetch, produce, values
from tests.storage.log.making import batch
from tests.support.in_process import serving


async def cut(peer, version, offset, topic="t", partition=0):
    rows = [{"name": topic, "partitions": [{"partition_index": partition, "offset": offset}]}]
    row = (await peer.ask(DELETE_RECORDS, version, topics=rows)).topics[0].partitions[0]
    return row.error_code, row.low_watermark


@pytest.mark.parametrize("version", range(3))
async def test_it_works_in_every_version(tmp_path, version):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        for value in "abcd":
            await produce(peer, "t", batch(value, at=5))
        assert [await cut(peer, version, offset) for offset in (2, 1)] == [(0, 2), (0, 2)]
        assert (await fetch(peer, "t", 1)).error_code == 1
        assert values(await fetch(peer, "t", 2)) == [(2, "c"), (3, "d")]
        assert [await cut(peer, version, offset) for offset in (5, -2)] == [(1, -1), (1, -1)]
        assert await cut(peer, version, -1) == (0, 4)
        assert await cut(peer, version, 0, "no") == await cut(peer, version, 0, partition=9) == (3, -1)


async def test_records_of_a_compacted_topic_are_kept(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t", cleanup_policy="compact")
        assert await cut(peer, 2, -1) == (44, -1)


async def test_the_start_is_kept_over_a_restart(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        await produce(peer, "t", batch("a", "b", at=5))
        await cut(peer, 2, 1)
    async with serving(tmp_path) as peer:
        assert (await fetch(peer, "t", 0)).error_code == 1 and (await fetch(peer, "t", 1)).log_start_offset == 1
