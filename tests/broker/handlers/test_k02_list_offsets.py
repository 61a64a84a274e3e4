import pytest

from kaas.wire.apis import DELETE_RECORDS, LIST_OFFSETS
from tests.broker.handlers.topics import create, list_offset, produce
from tests.storage.log.making import batch
from tests.support.in_process import serving

EARLIEST, LATEST, NEWEST, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING = -2, -1, -3, -4, -5, -6


async def filled(peer) -> None:
    """Offsets 0 to 3 with the times 1000, 3000, 2000, 4000."""
    await create(peer, "t")
    await produce(peer, "t", batch("a", "b", "c", at=[1000, 3000, 2000]))
    await produce(peer, "t", batch("d", at=4000))


@pytest.mark.parametrize("version", range(1, 12))
async def test_it_works_in_every_version(tmp_path, version):
    async with serving(tmp_path) as peer:
        await filled(peer)
        seen = {t: await list_offset(peer, "t", t, version=version) for t in (EARLIEST, LATEST, 0, 1001, 4000, 4001)}
        assert {t: (row.error_code, row.offset, row.timestamp) for t, row in seen.items()} == {
            EARLIEST: (0, 0, -1),
            LATEST: (0, 4, -1),
            0: (0, 0, 1000),
            1001: (0, 1, 3000),
            4000: (0, 3, 4000),
            4001: (0, -1, -1),
        }
        if version >= 4:
            assert [seen[t].leader_epoch for t in (EARLIEST, LATEST, 0, 4001)] == [0, 0, 0, -1]


@pytest.mark.parametrize(
    ("kind", "since", "row"),
    [
        (NEWEST, 7, (0, 3, 4000)),
        (EARLIEST_LOCAL, 8, (0, 0, -1)),
        (LATEST_TIERED, 9, (0, -1, -1)),
        (EARLIEST_PENDING, 11, (0, -1, -1)),
        (-7, 12, ()),
    ],
)
async def test_a_kind_of_offset_is_unsupported_before_its_version(tmp_path, kind, since, row):
    async with serving(tmp_path) as peer:
        await filled(peer)
        for version in (since - 1, 11):
            seen = await list_offset(peer, "t", kind, version=version)
            expected = row if version >= since else (35, -1, -1)
            assert (seen.error_code, seen.offset, seen.timestamp) == expected
        assert (await list_offset(peer, "no", kind, version=min(since - 1, 11))).error_code == 35


async def test_what_is_unknown_is_said_on_its_row(tmp_path):
    async with serving(tmp_path) as peer:
        await filled(peer)
        assert (await list_offset(peer, "no", LATEST)).error_code == 3
        assert (await list_offset(peer, "t", LATEST, 9)).error_code == 3
        assert (await list_offset(peer, "t", LATEST, current_leader_epoch=5)).error_code == 75


async def test_a_partition_that_is_asked_for_twice_is_refused(tmp_path):
    async with serving(tmp_path) as peer:
        await filled(peer)
        row = {"partition_index": 0, "timestamp": LATEST, "current_leader_epoch": -1}
        answer = await peer.ask(LIST_OFFSETS, 7, topics=[{"name": "t", "partitions": [row, row]}])
        assert [row.error_code for row in answer.topics[0].partitions] == [42, 42]


async def test_the_end_for_committed_readers_is_the_last_stable_offset(tmp_path):
    async with serving(tmp_path) as peer:
        await filled(peer)
        log = peer.broker.topics.registry.partition("t", 0)
        view = log.view
        log._view = type(view)(
            segments=view.segments, log_start_offset=0, last_stable_offset=2, high_watermark=view.high_watermark
        )
        seen = [
            (await list_offset(peer, "t", t, isolation_level=level)).offset
            for t in (LATEST, 1001, 3001)
            for level in (0, 1)
        ]
        assert seen == [4, 2, 1, 1, 3, -1]


async def test_nothing_before_the_start_of_the_log_is_found(tmp_path):
    async with serving(tmp_path) as peer:
        await filled(peer)
        await peer.ask(DELETE_RECORDS, 2, topics=[{"name": "t", "partitions": [{"partition_index": 0, "offset": 2}]}])
        assert [(await list_offset(peer, "t", t)).offset for t in (EARLIEST, 0, 2500)] == [2, 2, 3]
