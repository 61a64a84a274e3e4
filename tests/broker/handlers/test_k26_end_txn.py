from collections.abc import Awaitable, Callable, Sequence

import msgspec
import pytest

from kaas.coordinator.transactions.state import LAST_EPOCH
from tests.broker.handlers.groups import committed
from tests.broker.handlers.topics import create, fetch, values
from tests.broker.handlers.transactions import (
    Producer,
    add,
    add_group,
    begin,
    end,
    ends_of,
    init,
    stage,
    write,
)
from tests.support.disk import refusing
from tests.support.in_process import serving, until


async def open_transaction(peer) -> Producer:
    """With a record and an offset in it."""
    await create(peer, "t")
    producer = await begin(peer)
    await add(peer, producer, {"t": [0]})
    await add_group(peer, producer)
    assert await write(peer, producer, "t", "a", version=11) == 0
    assert await stage(peer, producer, {("t", 0): 5}, version=3) == {("t", 0): 0}
    return producer


@pytest.mark.parametrize("version", range(6))
@pytest.mark.parametrize("commits", [True, False])
async def test_it_works_in_every_version(tmp_path, version, commits):
    async with serving(tmp_path) as peer:
        producer = await open_transaction(peer)
        assert await ends_of(peer, "t") == (0, 1) and await committed(peer) == {}
        code, now = await end(peer, producer, version, committed=commits)
        assert code == 0
        assert now == (producer._replace(epoch=1) if version == 5 else Producer("pay"))
        assert await ends_of(peer, "t") == (2, 2), "when it is answered, everybody can see it"
        assert await committed(peer) == ({("t", 0): 5} if commits else {})


@pytest.mark.parametrize("commits", [True, False])
async def test_readers_are_told_of_the_end(tmp_path, commits):
    async with serving(tmp_path) as peer:
        producer = await open_transaction(peer)
        await end(peer, producer, committed=commits)
        row = await fetch(peer, "t", 0, 11, isolation_level=1)
        assert values(row) == [(0, "a")]
        aborted = [(one.producer_id, one.first_offset) for one in row.aborted_transactions]
        assert aborted == ([] if commits else [(producer.id, 0)])


@pytest.mark.parametrize(("version", "code"), [(0, 47), (1, 47), (2, 90), (3, 90), (4, 90), (5, 90)])
async def test_a_producer_of_another_epoch_is_refused(tmp_path, version, code):
    async with serving(tmp_path) as peer:
        producer = await open_transaction(peer)
        assert (await end(peer, producer._replace(epoch=1), version))[0] == code
        assert (await end(peer, producer._replace(id=4_242), version))[0] == 49
        assert (await end(peer, producer._replace(name="other"), version))[0] == 49
        assert (await end(peer, producer._replace(name=""), version))[0] == 42
        assert await ends_of(peer, "t") == (0, 1)


async def test_an_end_that_was_not_heard_is_told_again_from_version_5_on(tmp_path):
    async with serving(tmp_path) as peer:
        producer = await open_transaction(peer)
        first = await end(peer, producer)
        assert await end(peer, producer) == first
        assert (await end(peer, producer, committed=False))[0] == 48
        assert await ends_of(peer, "t") == (2, 2)


async def test_the_last_epoch_of_a_producer_id_is_followed_by_a_new_id(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        producer = await begin(peer)
        holder = peer.broker.groups.coordinator.transactions["pay"]
        holder.decided = holder.durable = msgspec.structs.replace(holder.durable, epoch=LAST_EPOCH)
        producer = producer._replace(epoch=LAST_EPOCH)
        assert await write(peer, producer, "t", "a") == 0
        code, now = await end(peer, producer)
        assert code == 0 and now.epoch == 0 and now.id != producer.id
        assert await end(peer, producer) == (0, now)
        assert await ends_of(peer, "t") == (2, 2)
        assert await write(peer, now, "t", "b") == 0 and (await end(peer, now))[0] == 0
        assert await ends_of(peer, "t") == (4, 4)


async def test_without_a_new_id_at_hand_it_is_asked_for_again(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        producer = await begin(peer)
        holder = peer.broker.groups.coordinator.transactions["pay"]
        holder.decided = holder.durable = msgspec.structs.replace(holder.durable, epoch=LAST_EPOCH)
        producer = producer._replace(epoch=LAST_EPOCH)
        await write(peer, producer, "t", "a")
        peer.broker.topics._producer_ids = None
        with refusing("fdatasync"):
            assert (await end(peer, producer))[0] == 14
        assert (await end(peer, producer))[0] == 0


async def test_an_end_that_cannot_be_written_may_be_asked_for_again(tmp_path):
    async with serving(tmp_path) as peer:
        producer = await open_transaction(peer)
        with refusing("write"):
            assert (await end(peer, producer))[0] == 15
            assert await ends_of(peer, "t") == (0, 1)
        assert (await end(peer, producer))[0] == 0
        assert await committed(peer) == {("t", 0): 5} and await ends_of(peer, "t") == (2, 2)


async def test_a_transaction_that_nobody_ends_is_aborted_when_its_time_is_over(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        producer = await begin(peer, timeout_ms=100)
        await write(peer, producer, "t", "a")
        await stage(peer, producer, {("t", 0): 5})

        async def over() -> bool:
            return (await ends_of(peer, "t"))[0] == 2

        await until(over)
        assert await committed(peer) == {}

        async def says(ask: Callable[[], Awaitable[Sequence[int]]], code: int) -> None:
            """It says so once the abort is whole, 51 until then."""

            async def said() -> bool:
                seen = (await ask())[0]
                assert seen in (code, 51)
                return seen == code

            await until(said)

        await says(lambda: end(peer, producer, 4), 90)
        await says(lambda: init(peer, known=producer), 0)


@pytest.mark.parametrize("broker_id", [1, 2])
@pytest.mark.parametrize("commits", [True, False])
async def test_an_open_transaction_is_ended_after_a_restart_or_by_another_broker_of_the_volume(
    tmp_path, commits, broker_id
):
    """K17: what was staged in a transaction was lost when its coordinator went."""
    async with serving(tmp_path) as peer:
        producer = await open_transaction(peer)
    async with serving(tmp_path, broker_id=broker_id) as peer:
        assert await ends_of(peer, "t") == (0, 1) and await committed(peer) == {}
        assert (await end(peer, producer, committed=commits))[0] == 0
        assert await ends_of(peer, "t") == (2, 2)
        assert await committed(peer) == ({("t", 0): 5} if commits else {})
