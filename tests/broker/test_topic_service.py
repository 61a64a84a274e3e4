import asyncio
from contextlib import asynccontextmanager

from kaas.broker import topic_service
from kaas.broker.clock import Clock
from kaas.broker.settings import parse
from kaas.broker.topic_service import TopicService
from kaas.errors import ErrorCode, KafkaError
from kaas.storage.log.admission import Appended
from tests.storage.log.making import batch, disk_takes
from tests.support.in_process import until


@asynccontextmanager
async def started(folder, *settings: str):
    service = TopicService(folder, parse(settings), Clock())
    await service.start()
    try:
        yield service
    finally:
        await service.stop()


async def result_of(work, *arguments, **more):
    """What a piece of work gives to its `done`."""
    future = asyncio.get_running_loop().create_future()
    work(*arguments, future.set_result, **more)
    return await asyncio.wait_for(future, 20)


async def append(service, topic, data: bytes, partition=0):
    return await result_of(service.append, topic, topic.partitions[partition], data)


async def test_topics_come_grow_change_and_go(tmp_path):
    async with started(tmp_path) as service:
        topic = await result_of(service.create, "t", 2, {})
        assert (service.partitions_of("t"), service.id_of("t"), service.name_of(topic.topic_id)) == (
            2,
            topic.topic_id,
            "t",
        )
        assert len((await result_of(service.grow, "t", 3)).partitions) == 3
        assert (await result_of(service.configure, "t", {"retention.ms": "5"})).configs == {"retention.ms": "5"}
        folder = await result_of(service.delete, topic)
        assert (service.partitions_of("t"), service.id_of("t"), service.name_of(topic.topic_id)) == (0, None, None)

        async def removed() -> bool:
            return not folder.exists()

        await until(removed)


async def test_an_error_is_a_result(tmp_path):
    async with started(tmp_path) as service:
        for work in ((service.create, "a b", 1, {}), (service.grow, "no", 2), (service.configure, "no", {})):
            assert isinstance(await result_of(*work), KafkaError)
        topic = await result_of(service.create, "t", 1, {})
        assert (await append(service, topic, b"")).code == ErrorCode.INVALID_RECORD
        assert (await result_of(service.read, lambda: 1 / 0)).code == ErrorCode.UNKNOWN_SERVER_ERROR


async def test_batches_are_appended_and_read_after_a_restart(tmp_path):
    async with started(tmp_path) as service:
        topic = await result_of(service.create, "t", 1, {})
        assert await append(service, topic, batch("a", "b")) == Appended(base_offset=0)
        assert service.ends_of("t", 0) == (0, 2, 2)
        assert await result_of(service.delete_records, topic.partitions[0], 1) == 1
    async with started(tmp_path) as service:
        assert service.ends_of("t", 0) == (1, 2, 2)
        log = service.registry.partition("t", 0)
        chunk = await result_of(service.read, lambda: log.read(1, 1000, 2, min_one=True))
        assert chunk.next_offset == 2


async def test_a_fetch_that_waits_is_woken_after_the_producer_was_answered(tmp_path):
    async with started(tmp_path) as service:
        topic = await result_of(service.create, "t", 1, {})
        heard = []
        service.purgatory.park(topic.partitions, 1, 20, lambda last: heard.append("woken") or 0, lambda: True)
        service.append(topic, topic.partitions[0], batch("a"), lambda result: heard.append("answered"))

        async def both() -> bool:
            return len(heard) == 2

        await until(both)
        assert heard == ["answered", "woken"]


async def test_a_fetch_that_waits_learns_that_its_topic_is_gone(tmp_path):
    async with started(tmp_path) as service:
        topic = await result_of(service.create, "t", 1, {})
        heard = []
        service.purgatory.park(topic.partitions, 10**6, 20, lambda last: heard.append(last) or 0, lambda: True)
        await result_of(service.delete, topic)
        assert heard == [False]


async def test_a_result_that_is_not_taken_keeps_no_other_back(tmp_path):
    async with started(tmp_path) as service:
        topic = await result_of(service.create, "t", 1, {})

        def faulty(result):
            raise RuntimeError("a fault of ours")

        service.append(topic, topic.partitions[0], batch("a"), faulty)
        assert await append(service, topic, batch("b")) == Appended(base_offset=1)


async def test_the_feed_is_told_the_ends_that_moved(tmp_path):
    async with started(tmp_path) as service:
        await result_of(service.create, "a", 2, {})
        other = await result_of(service.create, "b", 1, {}, internal=True)
        assert [view.topic for view in service.views(everything=False)] == ["a", "b"]
        assert service.views(everything=False) == []
        await append(service, other, batch("x"))
        (view,) = service.views(everything=False)
        assert (view.topic, view.topic_id, view.internal, view.partitions) == (
            "b",
            str(other.topic_id),
            True,
            [(0, 1, 1)],
        )
        assert [len(view.partitions) for view in service.views(everything=True)] == [2, 1]


async def test_ends_that_are_not_known(tmp_path):
    async with started(tmp_path) as service:
        topic = await result_of(service.create, "t", 1, {})
        assert service.ends_of("no", 0) is service.ends_of("t", 5) is None
        topic.partitions[0].delete()
        assert service.ends_of("t", 0) is None


async def test_a_disk_that_refuses_is_known(tmp_path):
    async with started(tmp_path) as service:
        topic = await result_of(service.create, "t", 1, {})
        assert service.disk_error is None
        with disk_takes(10):
            assert (await append(service, topic, batch("a"))).code == ErrorCode.KAFKA_STORAGE_ERROR
        assert service.disk_error.code == ErrorCode.KAFKA_STORAGE_ERROR
        await append(service, topic, batch("a"))
        assert service.disk_error is None


async def test_old_segments_go_by_themselves(tmp_path):
    async with started(tmp_path, "log.retention.check.interval.ms=1") as service:
        settings = {"retention.bytes": "0", "segment.bytes": str(len(batch("a")))}
        topic = await result_of(service.create, "t", 1, settings)
        for _ in range(3):
            await append(service, topic, batch("a"))

        async def gone() -> bool:
            return service.ends_of("t", 0) == (3, 3, 3)

        await until(gone)


async def test_logs_are_flushed_by_themselves(tmp_path, monkeypatch):
    monkeypatch.setattr(topic_service, "FLUSH_CHECK_S", 0.01)
    async with started(tmp_path) as service:
        topic = await result_of(service.create, "t", 1, {"flush.ms": "0"})
        flushed = []
        real = topic.partitions[0].flush_due
        monkeypatch.setattr(type(topic.partitions[0]), "flush_due", lambda log, now: flushed.append(now) or real(now))

        async def twice() -> bool:
            return len(flushed) >= 2

        await until(twice)


async def test_producer_ids_are_given_across_restarts(tmp_path):
    (tmp_path / "__cluster").mkdir()
    seen = []
    for _ in range(2):
        async with started(tmp_path) as service:
            seen += [await result_of(service.give_producer_id, 1) for _ in range(3)]
    assert len(set(seen)) == 6 and all(id >> 40 == 1 for id in seen)
