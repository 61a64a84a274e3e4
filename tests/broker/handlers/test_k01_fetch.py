import asyncio
import uuid

import pytest

from kaas.wire.apis import DELETE_TOPICS, FETCH
from kaas.wire.records.walk import batches
from tests.broker.handlers.topics import LOTS, create, fetch, fetch_values, produce, values
from tests.broker.handlers.transactions import add, begin, end
from tests.storage.log.making import batch
from tests.support.in_process import Peer, serving, until


@pytest.mark.parametrize("version", range(4, 19))
async def test_it_works_in_every_version(tmp_path, version):
    async with serving(tmp_path) as peer:
        id = await create(peer, "t")
        await produce(peer, "t", batch("a", "b", at=5))
        row = await fetch(peer, id if version >= 13 else "t", 1, version)
        assert (row.error_code, row.high_watermark, row.last_stable_offset) == (0, 2, 2)
        assert values(row) == [(0, "a"), (1, "b")] and row.aborted_transactions is None


async def test_records_come_from_files_after_a_restart(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        await produce(peer, "t", batch("a", at=5))
    async with serving(tmp_path) as peer:
        assert values(await fetch(peer, "t")) == [(0, "a")]


@pytest.mark.parametrize(
    ("version", "partition", "known", "code"),
    [(12, 9, True, 3), (12, 0, False, 3), (13, 9, True, 3), (13, 0, False, 100)],
)
async def test_what_is_unknown_is_said_on_its_row(tmp_path, version, partition, known, code):
    async with serving(tmp_path) as peer:
        id = await create(peer, "t")
        topic = (id if known else uuid.uuid4()) if version >= 13 else ("t" if known else "no")
        assert (await fetch(peer, topic, 0, version, partition=partition)).error_code == code


@pytest.mark.parametrize("offset", [1, -1])
async def test_an_offset_outside_of_the_log_is_said_at_once(tmp_path, offset):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        row = await fetch(peer, "t", offset, max_wait=10_000_000)
        assert (row.error_code, row.high_watermark) == (1, -1)


async def waits(peer) -> None:
    """Until a fetch is parked."""

    async def parked() -> bool:
        return len(peer.broker.topics.purgatory) == 1

    await until(parked)


async def test_a_fetch_waits_for_records(tmp_path):
    """K23: an empty fetch was answered at once, and its reader asked again without end."""
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        peer.put(FETCH, 11, **fetch_values("t", max_wait=10_000_000))
        await waits(peer)
        await produce(await Peer.connect(peer.server), "t", batch("a", at=5))
        row = (await peer.get()).responses[0].partitions[0]
        assert (values(row), row.high_watermark) == ([(0, "a")], 1)


async def test_a_fetch_waits_for_as_many_bytes_as_it_wants(tmp_path):
    """K23."""
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        size = len(batch("a", at=5))
        peer.put(FETCH, 11, **fetch_values("t", max_wait=10_000_000, min_bytes=2 * size + 1))
        other = await Peer.connect(peer.server)
        for value in "abc":
            await produce(other, "t", batch(value, at=5))
            await waits(peer) if value != "c" else None
        row = (await peer.get()).responses[0].partitions[0]
        assert values(row) == [(0, "a"), (1, "b"), (2, "c")]


async def test_a_fetch_is_answered_with_what_there_is_when_its_time_is_up(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        await produce(peer, "t", batch("a", at=5))
        before = asyncio.get_running_loop().time()
        row = await fetch(peer, "t", max_wait=50, min_bytes=LOTS)
        assert values(row) == [(0, "a")] and asyncio.get_running_loop().time() - before >= 0.045


async def test_records_in_files_do_not_hurry_a_fetch_that_wants_more(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        await produce(peer, "t", batch("a", "b", at=5))
        peer.put(FETCH, 11, **fetch_values("t", 1, max_wait=10_000_000, min_bytes=LOTS))  # 1: only files find it
        await waits(peer)
        await produce(await Peer.connect(peer.server), "t", batch("x" * LOTS, at=5))
        assert [o for o, _ in values((await peer.get()).responses[0].partitions[0])] == [0, 1]


async def test_a_fetch_does_not_wait_for_more_than_its_limits_let_through(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        for value in "ab":
            await produce(peer, "t", batch(value, at=5))
        limits = {"max_wait": 10_000_000, "min_bytes": LOTS, "max_bytes": 1}
        assert values(await fetch(peer, "t", **limits)) == [(0, "a")]


async def test_a_fetch_that_waits_is_told_that_its_topic_is_gone(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        peer.put(FETCH, 11, **fetch_values("t", max_wait=10_000_000))
        await waits(peer)
        await (await Peer.connect(peer.server)).ask(DELETE_TOPICS, 5, topic_names=["t"])
        assert (await peer.get()).responses[0].partitions[0].error_code == 3


async def test_an_offset_of_a_topic_that_was_made_anew_is_out_of_range(tmp_path):
    """A consumer that stood in the old log waited in silence.

    https://github.com/streamnative/kop/issues/530
    """
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        for value in "abc":
            await produce(peer, "t", batch(value, at=5))
        await peer.ask(DELETE_TOPICS, 5, topic_names=["t"])
        await create(peer, "t")
        assert (await fetch(peer, "t", 3)).error_code == 1


async def test_a_committed_reader_is_woken_and_told_of_no_aborted_transactions(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        peer.put(FETCH, 11, **fetch_values("t", max_wait=10_000_000, isolation_level=1, min_bytes=1))
        await waits(peer)
        await produce(await Peer.connect(peer.server), "t", batch("a", at=5))
        row = (await peer.get()).responses[0].partitions[0]
        assert (values(row), row.aborted_transactions) == ([(0, "a")], ())


@pytest.mark.parametrize("isolation_level", [0, 1])
async def test_a_reader_of_nothing_but_markers_moves_on(tmp_path, isolation_level):
    """L2: a fetch that met control records only never advanced."""
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        for committed in (True, False):
            producer = await begin(peer)
            await add(peer, producer, {"t": [0]})
            assert (await end(peer, producer, committed=committed))[0] == 0
        at = 0
        for _ in range(2):
            row = await fetch(peer, "t", at, isolation_level=isolation_level, max_bytes=1)
            ((_, header),) = batches(row.records)
            assert header.is_control and values(row) == [] and header.base_offset == at
            at = header.next_offset
        assert at == row.high_watermark == 2


def partitions(*rows):
    return [
        {
            "topic": "t",
            "partitions": [{"partition": p, "fetch_offset": offset, "partition_max_bytes": LOTS} for p, offset in rows],
        }
    ]


async def session(peer, id, epoch, *rows, forgotten=()):
    """(error, session id, {partition: values}) of a request in a session."""
    answer = await peer.ask(
        FETCH,
        11,
        max_wait=0,
        min_bytes=1,
        max_bytes=LOTS,
        session_id=id,
        session_epoch=epoch,
        topics=partitions(*rows) if rows else [],
        forgotten_topics_data=[{"topic": "t", "partitions": list(forgotten)}] if forgotten else [],
    )
    rows = {row.partition_index: [v for _, v in values(row)] for topic in answer.responses for row in topic.partitions}
    return answer.error_code, answer.session_id, rows


async def test_a_session_answers_with_what_is_new(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t", 2)
        await produce(peer, "t", batch("a", at=5))
        error, id, rows = await session(peer, 0, 0, (0, 0), (1, 0))
        assert error == 0 and id > 0 and rows == {0: ["a"], 1: []}
        assert await session(peer, id, 1, (0, 1)) == (0, id, {})
        await produce(peer, "t", batch("b", at=5), 1)
        assert await session(peer, id, 2) == (0, id, {1: ["b"]})
        assert await session(peer, id, 3, forgotten=[1]) == (0, id, {})
        assert await session(peer, id, 3) == (71, 0, {})
        assert await session(peer, id, -1, (0, 0)) == (0, 0, {0: ["a"]})
        assert await session(peer, id, 1) == (70, 0, {})


async def test_a_partition_with_records_does_not_starve_the_next(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t", 2)
        for partition in (0, 1):
            await produce(peer, "t", batch("a", at=5), partition)
        values = {"max_wait": 0, "min_bytes": 1, "max_bytes": 1, "topics": partitions((0, 0), (1, 0))}
        first = await peer.ask(FETCH, 11, **values, session_id=0, session_epoch=0)
        assert [len(row.records) > 0 for row in first.responses[0].partitions] == [True, False]
        second = await peer.ask(FETCH, 11, **{**values, "topics": []}, session_id=first.session_id, session_epoch=1)
        assert [row.partition_index for row in second.responses[0].partitions if row.records] == [1]


async def test_a_fetch_of_nothing_is_answered_at_once(tmp_path):
    async with serving(tmp_path) as peer:
        answer = await peer.ask(FETCH, 11, max_wait=10_000_000, min_bytes=1, max_bytes=LOTS, topics=[])
        assert (answer.error_code, answer.session_id, answer.responses) == (0, 0, ())
