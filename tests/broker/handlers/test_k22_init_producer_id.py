import pytest

from tests.broker.handlers.topics import create, produce
from tests.broker.handlers.transactions import Producer, add, begin, end, init
from tests.storage.log.making import batch
from tests.support.disk import refusing
from tests.support.in_process import serving


@pytest.mark.parametrize("version", range(6))
async def test_it_works_in_every_version(tmp_path, version):
    async with serving(tmp_path) as peer:
        made = [await init(peer, None, version) for _ in range(3)]
        assert [(code, producer.epoch) for code, producer in made] == [(0, 0)] * 3
        assert len({producer.id for _, producer in made}) == 3


@pytest.mark.parametrize("version", range(6))
async def test_a_transactional_id_keeps_its_producer_id_and_gets_the_next_epoch(tmp_path, version):
    async with serving(tmp_path) as peer:
        first, second = await begin(peer, version=version), await begin(peer, version=version)
        assert second == first._replace(epoch=1) and first.epoch == 0
        assert (await begin(peer, "other", version=version)).id != first.id


async def test_a_restart_gives_no_id_again_and_forgets_no_epoch(tmp_path):
    seen = []
    for _ in range(2):
        async with serving(tmp_path) as peer:
            seen.append(((await init(peer, None))[1].id, await begin(peer)))
    assert seen[0][0] != seen[1][0]
    assert seen[1][1] == seen[0][1]._replace(epoch=1)


async def test_an_empty_transactional_id_is_refused(tmp_path):
    async with serving(tmp_path) as peer:
        assert await init(peer, "") == (42, Producer("", -1, -1))


@pytest.mark.parametrize("name", [None, "pay"])
@pytest.mark.parametrize(("known", "code"), [((5, -1), 42), ((-1, 5), 42), ((-1, -1), 0), ((5, 5), 0)])
async def test_half_an_identity_is_none(tmp_path, name, known, code):
    async with serving(tmp_path) as peer:
        assert (await init(peer, name, known=Producer("", *known)))[0] == code


@pytest.mark.parametrize(("timeout_ms", "code"), [(0, 50), (-1, 50), (5_001, 50), (5_000, 0)])
async def test_a_transaction_timeout_lies_between_1_and_the_greatest(tmp_path, timeout_ms, code):
    async with serving(tmp_path, transaction_max_timeout_ms=5_000) as peer:
        assert (await init(peer, timeout_ms=timeout_ms))[0] == code
        assert (await init(peer, None, timeout_ms=timeout_ms))[0] == 0, "it means nothing without a transactional id"


@pytest.mark.parametrize("version", range(6))
async def test_versions_below_3_cannot_say_who_they_are_and_are_given_the_next_epoch(tmp_path, version):
    async with serving(tmp_path) as peer:
        first = await begin(peer)
        await begin(peer)
        code, producer = await init(peer, version=version, known=first)
        expected = {3: 47, 4: 90, 5: 90}.get(version, 0)
        assert code == expected and producer.epoch == (-1 if expected else 2)


async def test_a_producer_that_recovers_gets_the_next_epoch_and_its_transaction_is_aborted(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        producer = await begin(peer)
        await add(peer, producer, {"t": [0]})
        assert (await init(peer, known=producer))[0] == 51
        assert await begin(peer, known=producer) == producer._replace(epoch=1)
        assert await end(peer, producer) == (90, Producer("pay"))


async def test_a_producer_with_an_id_is_idempotent(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        _, producer = await init(peer, None)
        rows = [
            await produce(peer, "t", batch("a", at=5, producer=producer.id, sequence=sequence))
            for sequence in (0, 1, 0, 3, 2)
        ]
        assert [(row.error_code, row.base_offset) for row in rows] == [(0, 0), (0, 1), (0, 0), (45, -1), (0, 2)]


@pytest.mark.parametrize("name", [None, "pay"])
async def test_when_the_disk_gives_no_new_ids_a_producer_asks_again(tmp_path, name):
    """Apache answers 14 as well: the code that every client takes for "later"."""
    async with serving(tmp_path) as peer:
        with refusing("fdatasync"):
            assert (await init(peer, name))[0] == 14
        assert (await init(peer, name))[0] == 0


async def test_an_id_that_the_journal_refuses_is_asked_for_again(tmp_path):
    async with serving(tmp_path) as peer:
        await init(peer, None)
        with refusing("write"):
            assert (await init(peer))[0] == 15
        assert (await begin(peer)).epoch == 0
