import pytest

from kaas.wire.apis import OFFSET_FETCH, TXN_OFFSET_COMMIT
from tests.broker.handlers.groups import QUICK, commit, committed, stable
from tests.broker.handlers.topics import create
from tests.broker.handlers.transactions import add_group, begin, end, stage
from tests.support.disk import refusing
from tests.support.in_process import serving

T0, T1 = ("t", 0), ("t", 1)


@pytest.mark.parametrize("version", range(6))
async def test_it_works_in_every_version(tmp_path, version):
    async with serving(tmp_path) as peer:
        await create(peer, "t", 2)
        producer = await begin(peer)
        assert version >= 5 or await add_group(peer, producer) == 0
        assert await stage(peer, producer, {T0: 5, T1: 6}, version=version, metadata="note") == {T0: 0, T1: 0}
        assert await committed(peer) == {}
        await end(peer, producer)
        assert await committed(peer) == {T0: 5, T1: 6}
        entry = peer.broker.groups.coordinator.groups["g"].offset(*T0)
        assert (entry.metadata, entry.leader_epoch) == ("note", 3 if version >= 2 else -1)


async def test_no_metadata_is_empty_metadata(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        producer = await begin(peer)
        await stage(peer, producer, {T0: 5})
        await end(peer, producer)
        assert peer.broker.groups.coordinator.groups["g"].offset(*T0).metadata == ""


@pytest.mark.parametrize(("version", "code"), [(0, 48), (1, 48), (2, 48), (3, 48), (4, 120), (5, 0)])
async def test_the_group_must_be_in_the_transaction_until_version_5_adds_it(tmp_path, version, code):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        producer = await begin(peer)
        assert await stage(peer, producer, {T0: 5}, version=version) == {T0: code}
        assert (await end(peer, producer))[0] == (0 if version == 5 else 48)


@pytest.mark.parametrize("version", range(6))
async def test_a_producer_of_another_epoch_is_refused(tmp_path, version):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        producer = await begin(peer)
        await add_group(peer, producer)
        assert await stage(peer, producer._replace(epoch=1), {T0: 5}, version=version) == {T0: 47}
        assert await stage(peer, producer._replace(id=4_242), {T0: 5}, version=version) == {T0: 49}
        assert await stage(peer, producer._replace(name=""), {T0: 5}, version=version) == {T0: 42}
        await end(peer, producer)
        assert await committed(peer) == {}


async def test_rows_that_are_not_there_fail_alone(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        producer = await begin(peer)
        asked = {T0: 5, ("t", 1): 6, ("t", -1): 7, ("u", 0): 8}
        assert await stage(peer, producer, asked) == {T0: 0, ("t", 1): 3, ("t", -1): 3, ("u", 0): 3}
        await end(peer, producer)
        assert await committed(peer) == {T0: 5}


@pytest.mark.parametrize("offsets", [{}, {("u", 0): 1}])
async def test_when_no_row_is_left_nobody_is_asked_and_nothing_begins(tmp_path, offsets):
    """As on an Apache broker, which does not even look who asks."""
    async with serving(tmp_path) as peer:
        producer = await begin(peer)
        assert await stage(peer, producer._replace(epoch=7), offsets) == dict.fromkeys(offsets, 3)
        assert await stage(peer, producer, offsets) == dict.fromkeys(offsets, 3)
        assert (await end(peer, producer))[0] == 48


async def test_long_metadata_fails_its_rows(tmp_path):
    async with serving(tmp_path, offset_metadata_max_bytes=4) as peer:
        await create(peer, "t", 2)
        producer = await begin(peer)
        assert await stage(peer, producer, {T0: 5}, metadata="12345") == {T0: 12}
        assert await stage(peer, producer, {T1: 5}, metadata="1234") == {T1: 0}


@pytest.mark.parametrize(("version", "code"), [(2, 0), (3, 22), (5, 22)])
async def test_the_member_is_checked_from_version_3_on(tmp_path, version, code):
    async with serving(tmp_path, **QUICK) as peer:
        await create(peer, "t")
        member = await stable(peer)
        producer = await begin(peer)
        await add_group(peer, producer)
        old = type(member)(group="g", id=member.id, generation=member.generation - 1)
        assert await stage(peer, producer, {T0: 5}, version=version, member=old) == {T0: code}
        assert await stage(peer, producer, {T0: 5}, version=version, member=member) == {T0: 0}
        assert await stage(peer, producer, {T0: 5}, version=version) == {T0: 0}


@pytest.mark.parametrize(("version", "code"), [(0, 15), (1, 15), (2, 14), (5, 14)])
async def test_old_clients_do_not_know_that_groups_load(tmp_path, version, code):
    """KAFKA's own rule: producers before 2.0 fail on 14."""
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        producer = await begin(peer)
        await add_group(peer, producer)
        peer.broker.groups.coordinator.loading = True
        assert await stage(peer, producer, {T0: 5}, version=version) == {T0: code}
        peer.broker.groups.coordinator.loading = False
        assert await stage(peer, producer, {T0: 5}, version=version) == {T0: 0}


async def test_readers_who_want_stable_offsets_wait_for_the_end(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t", 2)
        await commit(peer, {T0: 1})
        producer = await begin(peer)
        await stage(peer, producer, {T0: 5, T1: 6})

        async def rows(asked, require_stable=True):
            topics = None if asked is None else [{"name": "t", "partition_indexes": asked}]
            answer = await peer.ask(OFFSET_FETCH, 7, group_id="g", topics=topics, require_stable=require_stable)
            return {
                p.partition_index: (p.committed_offset, int(p.error_code)) for t in answer.topics for p in t.partitions
            }

        assert await rows([0, 1]) == {0: (-1, 88), 1: (-1, 88)}
        assert await rows([0, 1], require_stable=False) == {0: (1, 0), 1: (-1, 0)}
        assert await rows(None) == {0: (-1, 88)}, "what was never committed has no row"
        await end(peer, producer)
        assert await rows(None) == {0: (5, 0), 1: (6, 0)}


async def test_offsets_that_cannot_be_written_are_refused_and_may_come_again(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        producer = await begin(peer)
        with refusing("write"):
            assert await stage(peer, producer, {T0: 5}) == {T0: 15}
        await add_group(peer, producer)
        with refusing("write"):
            assert await stage(peer, producer, {T0: 5}) == {T0: 15}
        assert await stage(peer, producer, {T0: 6}) == {T0: 0}
        await end(peer, producer)
        assert await committed(peer) == {T0: 6}


async def test_offsets_may_be_sent_before_the_addition_is_answered(tmp_path):
    """From version 5 on: requests of one connection that do not wait for one another."""
    async with serving(tmp_path) as peer:
        await create(peer, "t", 2)
        producer = await begin(peer)
        who = {**producer.values, "group_id": "g", "generation_id": -1, "member_id": "", "group_instance_id": None}
        for number in (0, 1):
            row = {"partition_index": number, "committed_offset": 7, "committed_leader_epoch": -1}
            rows = [{"name": "t", "partitions": [{**row, "committed_metadata": ""}]}]
            peer.put(TXN_OFFSET_COMMIT, 5, **who, topics=rows)
        for _ in range(2):
            assert (await peer.get()).topics[0].partitions[0].error_code == 0
        await end(peer, producer)
        assert await committed(peer) == {T0: 7, T1: 7}
