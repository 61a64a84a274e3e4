import pytest

from kaas.wire.apis import DESCRIBE_TRANSACTIONS
from kaas.wire.encode import encode_response
from tests.broker.handlers.topics import create
from tests.broker.handlers.transactions import add, add_group, begin, end
from tests.support.disk import refusing
from tests.support.in_process import serving


async def describe(peer, *names):
    return (await peer.ask(DESCRIBE_TRANSACTIONS, 0, transactional_ids=list(names))).transaction_states


async def test_it_works(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t", 3)
        await create(peer, "u")
        producer = await begin(peer, timeout_ms=7_000)
        await add(peer, producer, {"t": [0, 2], "u": [0]})
        await add_group(peer, producer)
        (row,) = await describe(peer, "pay")
        assert (row.error_code, row.transactional_id, row.transaction_state) == (0, "pay", "Ongoing")
        assert (row.producer_id, row.producer_epoch) == (producer.id, 0)
        assert row.transaction_timeout.total_seconds() == 7
        assert [(topic.topic, topic.partitions) for topic in row.topics] == [("t", (0, 2)), ("u", (0,))]
        state = peer.broker.groups.coordinator.transactions["pay"].durable
        assert row.transaction_start_time.timestamp() * 1_000 == state.started_at


async def test_a_transaction_that_is_complete_says_when_it_began_and_holds_nothing(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        producer = await begin(peer)
        await add(peer, producer, {"t": [0]})
        await end(peer, producer)
        (row,) = await describe(peer, "pay")
        assert (row.transaction_state, row.producer_epoch, row.topics) == ("CompleteCommit", 1, ())
        assert row.transaction_start_time is not None


async def test_an_id_that_has_begun_nothing_has_no_start(tmp_path):
    """As bytes, because kio reads no time before 1970."""
    async with serving(tmp_path) as peer:
        producer = await begin(peer)
        peer.put(DESCRIBE_TRANSACTIONS, 0, transactional_ids=["pay"])
        peer.forget()
        row = {
            "error_code": 0,
            "transactional_id": "pay",
            "transaction_state": "Empty",
            "transaction_timeout": 60_000,
            "transaction_start_time": -1,
            "producer_id": producer.id,
            "producer_epoch": 0,
            "topics": [],
        }
        expected = encode_response(DESCRIBE_TRANSACTIONS.key, 0, {"transaction_states": [row]})
        assert (await peer.payload()).endswith(expected)


async def test_an_id_that_is_not_known_is_told_so_on_its_row(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        await add(peer, await begin(peer), {"t": [0]})
        rows = await describe(peer, "nobody", "pay", "", "pay")
        assert [(row.transactional_id, int(row.error_code)) for row in rows] == [
            ("nobody", 105),
            ("pay", 0),
            ("", 105),
            ("pay", 0),
        ]
        assert await describe(peer) == ()


@pytest.mark.parametrize("broken", [True, False])
async def test_an_id_that_is_not_read_yet_or_cannot_be_is_loading(tmp_path, broken):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        await add(peer, await begin(peer), {"t": [0]})
        core = peer.broker.groups.coordinator
        if broken:
            core.broken_transactions = {"pay": "its file is corrupt"}
        else:
            core.loading = True
        assert (await describe(peer, "pay"))[0].error_code == 14
        core.loading = False


async def test_only_what_is_durable_is_described(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        await begin(peer, "other")
        producer = await begin(peer)
        await add(peer, producer, {"t": [0]})
        with refusing("write"):
            assert (await end(peer, producer))[0] == 15
        assert (await describe(peer, "pay"))[0].transaction_state == "Ongoing"
