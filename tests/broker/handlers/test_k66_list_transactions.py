import pytest

from kaas.wire.apis import LIST_TRANSACTIONS
from tests.broker.handlers.topics import create
from tests.broker.handlers.transactions import add, begin, end
from tests.support.in_process import serving

ANY = {"state_filters": [], "producer_id_filters": []}


async def listing(peer, version=2, **filters):
    """Code, unknown words, and the ids with their states."""
    answer = await peer.ask(LIST_TRANSACTIONS, version, **{**ANY, **filters})
    rows = {row.transactional_id: row.transaction_state for row in answer.transaction_states}
    return int(answer.error_code), list(answer.unknown_state_filters), rows


async def fill(peer):
    """Three ids: one has begun nothing, one is open, one is done. The producer that is open."""
    await create(peer, "t")
    await begin(peer, "pay-empty")
    open_one, done = await begin(peer, "pay-open"), await begin(peer, "pay-done")
    await add(peer, open_one, {"t": [0]})
    await add(peer, done, {"t": [0]})
    await end(peer, done)
    return open_one


ALL = {"pay-empty": "Empty", "pay-open": "Ongoing", "pay-done": "CompleteCommit"}


@pytest.mark.parametrize("version", range(3))
async def test_it_works_in_every_version(tmp_path, version):
    async with serving(tmp_path) as peer:
        open_one = await fill(peer)
        assert await listing(peer, version) == (0, [], ALL)
        assert await listing(peer, version, state_filters=["Ongoing"]) == (0, [], {"pay-open": "Ongoing"})
        answer = await peer.ask(LIST_TRANSACTIONS, version, **{**ANY, "producer_id_filters": [open_one.id, 4_242]})
        assert [(r.transactional_id, r.producer_id) for r in answer.transaction_states] == [("pay-open", open_one.id)]


@pytest.mark.parametrize(
    ("filters", "unknown", "found"),
    [
        (["Ongoing", "CompleteCommit"], [], ["pay-done", "pay-open"]),
        (["ongoing"], ["ongoing"], []),
        (["Bogus", "Empty"], ["Bogus"], ["pay-empty"]),
        (["Bogus"], ["Bogus"], []),
        (["Dead"], [], []),
        (["PrepareEpochFence"], [], []),
    ],
    ids=str,
)
async def test_states_are_kafkas_words_and_one_that_nobody_knows_is_told_back(tmp_path, filters, unknown, found):
    async with serving(tmp_path) as peer:
        await fill(peer)
        code, told, rows = await listing(peer, state_filters=filters)
        assert (code, told, sorted(rows)) == (0, unknown, found)


async def test_filters_must_all_fit(tmp_path):
    async with serving(tmp_path) as peer:
        open_one = await fill(peer)
        assert (await listing(peer, producer_id_filters=[open_one.id], state_filters=["Empty"]))[2] == {}


@pytest.mark.parametrize("version", [1, 2])
async def test_a_transaction_is_as_old_as_its_beginning(tmp_path, monkeypatch, version):
    """What has begun nothing is as old as can be, as on an Apache broker."""
    async with serving(tmp_path) as peer:
        await fill(peer)
        began_at = peer.broker.groups.coordinator.transactions["pay-open"].durable.started_at
        monkeypatch.setattr(peer.broker.clock, "wall_ms", lambda: began_at + 1_000)
        only = {"state_filters": ["Ongoing", "Empty"]}
        assert sorted((await listing(peer, version, duration_filter=999, **only))[2]) == ["pay-empty", "pay-open"]
        assert sorted((await listing(peer, version, duration_filter=1_000, **only))[2]) == ["pay-empty"]
        assert (await listing(peer, version, duration_filter=-1))[2] == ALL
        assert (await listing(peer, version, duration_filter=-5))[2] == ALL
        monkeypatch.setattr(peer.broker.clock, "wall_ms", lambda: began_at + 10_000)
        assert (await listing(peer, version, duration_filter=5_000))[2] == ALL, "one that is complete goes on ageing"


async def test_version_0_has_no_age(tmp_path):
    async with serving(tmp_path) as peer:
        await fill(peer)
        assert (await listing(peer, 0))[2] == ALL


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("pay-.*", ["pay-done", "pay-empty", "pay-open"]),
        ("pay-e", []),
        (".*-(open|done)", ["pay-done", "pay-open"]),
        ("", ["pay-done", "pay-empty", "pay-open"]),
        (None, ["pay-done", "pay-empty", "pay-open"]),
    ],
)
async def test_a_pattern_must_fit_the_whole_id(tmp_path, pattern, found):
    async with serving(tmp_path) as peer:
        await fill(peer)
        assert sorted((await listing(peer, transactional_id_pattern=pattern))[2]) == found


async def test_a_pattern_that_is_none_is_refused(tmp_path):
    async with serving(tmp_path) as peer:
        await fill(peer)
        assert await listing(peer, transactional_id_pattern="pay-(", state_filters=["Bogus"]) == (128, [], {})


async def test_nothing_is_listed_while_the_state_loads(tmp_path):
    async with serving(tmp_path) as peer:
        await fill(peer)
        peer.broker.groups.coordinator.loading = True
        assert (await listing(peer))[0] == 14
        peer.broker.groups.coordinator.loading = False
