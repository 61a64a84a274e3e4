from kaas.wire.apis import DESCRIBE_PRODUCERS
from tests.broker.handlers.topics import create, produce
from tests.broker.handlers.transactions import add, begin, end, init, write
from tests.storage.log.making import batch
from tests.support.in_process import serving


async def producers(peer, topic, *partitions):
    """By partition its code, or what is told of its producers."""
    answer = await peer.ask(DESCRIBE_PRODUCERS, 0, topics=[{"name": topic, "partition_indexes": list(partitions)}])
    return [
        int(row.error_code)
        or [
            (p.producer_id, p.producer_epoch, p.last_sequence, p.coordinator_epoch, p.current_txn_start_offset)
            for p in row.active_producers
        ]
        for row in answer.topics[0].partitions
    ]


async def test_it_works(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t", 2)
        producer = await begin(peer)
        await add(peer, producer, {"t": [0]})
        await produce(peer, "t", batch("before"))
        await write(peer, producer, "t", "a", "b", version=11)
        assert await producers(peer, "t", 0, 1) == [[(producer.id, 0, 1, -1, 1)], []]
        await end(peer, producer, 4)
        assert await producers(peer, "t", 0) == [[(producer.id, 0, 1, 0, -1)]]


async def test_after_an_end_of_version_5_the_producer_has_the_next_epoch_and_no_sequence(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        producer = await begin(peer)
        await write(peer, producer, "t", "a")
        await end(peer, producer)
        assert await producers(peer, "t", 0) == [[(producer.id, 1, -1, 0, -1)]]


async def test_an_idempotent_producer_has_no_transaction(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        _, producer = await init(peer, None)
        await produce(peer, "t", batch("a", "b", "c", producer=producer.id))
        assert await producers(peer, "t", 0) == [[(producer.id, 0, 2, -1, -1)]]


async def test_what_is_not_there_stands_on_its_row(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        assert await producers(peer, "t", 0, 7, -1) == [[], 3, 3]
        assert await producers(peer, "u", 0) == [3]
        assert await producers(peer, "no topic", 0) == [17]
        assert await producers(peer, "t") == []


async def test_a_partition_that_is_named_twice_is_described_twice(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        assert await producers(peer, "t", 0, 0) == [[], []]
