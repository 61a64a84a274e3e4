import asyncio
import json
import uuid

import pytest

from tests.broker.handlers.groups import QUICK, commit, committed, stable
from tests.broker.handlers.topics import create
from tests.support.disk import refusing
from tests.support.in_process import serving


@pytest.mark.parametrize("version", range(2, 10))
async def test_it_works_in_every_version_with_names(tmp_path, version):
    async with serving(tmp_path) as peer:
        await create(peer, "t", 2)
        assert await commit(peer, {("t", 0): 5, ("t", 1): 6}, version) == {("t", 0): 0, ("t", 1): 0}
        assert await committed(peer) == {("t", 0): 5, ("t", 1): 6}


async def test_version_10_names_topics_by_id(tmp_path):
    async with serving(tmp_path) as peer:
        topic, strange = await create(peer, "t"), uuid.uuid4()
        rows = {(topic, 0): 5, (topic, 9): 6, (strange, 0): 7}
        assert await commit(peer, rows, 10) == {(topic, 0): 0, (topic, 9): 3, (strange, 0): 100}
        assert await committed(peer) == {("t", 0): 5}


async def test_rows_that_are_not_there_fail_alone(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        rows = {("t", 0): 1, ("t", 1): 2, ("t", -1): 3, ("u", 0): 4}
        assert await commit(peer, rows) == {("t", 0): 0, ("t", 1): 3, ("t", -1): 3, ("u", 0): 3}


async def test_an_error_of_the_group_stands_on_every_row_that_the_edge_let_through(tmp_path):
    async with serving(tmp_path, **QUICK) as peer:
        await create(peer, "t")
        await stable(peer)
        assert await commit(peer, {("t", 0): 1, ("u", 0): 1}) == {("t", 0): 25, ("u", 0): 3}


async def test_a_member_commits_as_itself(tmp_path):
    async with serving(tmp_path, **QUICK) as peer:
        await create(peer, "t")
        member = await stable(peer, instance="i")
        assert await commit(peer, {("t", 0): 1}, 9, member=member) == {("t", 0): 0}


async def test_long_metadata_fails_its_row_alone(tmp_path):
    async with serving(tmp_path, offset_metadata_max_bytes=4) as peer:
        await create(peer, "t", 2)
        assert await commit(peer, {("t", 0): 1, ("t", 1): 123}) == {("t", 0): 0, ("t", 1): 12}


@pytest.mark.parametrize(("version", "kept"), [(2, True), (4, True), (5, False)])
async def test_a_retention_is_taken_from_versions_that_have_one(tmp_path, version, kept):
    async with serving(tmp_path, kaas_checkpoint_interval_ms=10) as peer:
        await create(peer, "t")
        await commit(peer, {("t", 0): 1}, version, retention_time=60_000)
        entry = peer.broker.groups.coordinator.groups["g"].offsets["t"][0]
        assert (entry.expires_at is not None) is kept


@pytest.mark.parametrize(("version", "epoch"), [(5, -1), (6, 2)])
async def test_a_leader_epoch_is_taken_from_versions_that_have_one(tmp_path, version, epoch):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        await commit(peer, {("t", 0): 1}, version)
        assert peer.broker.groups.coordinator.groups["g"].offsets["t"][0].leader_epoch == epoch


async def test_what_is_acknowledged_is_in_the_file_after_a_stop(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        await commit(peer, {("t", 0): 5})
    stored = json.loads((tmp_path / "__cluster" / "__consumer_offsets" / "g.json").read_text())
    assert (stored["group_id"], stored["offsets"], stored["metadata"]) == ("g", {"t/0": 5}, {"t/0": "at 5"})


async def test_a_commit_that_cannot_be_written_says_so_and_changes_nothing(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        await commit(peer, {("t", 0): 1})
        with refusing("write"):
            assert (await commit(peer, {("t", 0): 2}))["t", 0] != 0
        assert await committed(peer) == {("t", 0): 1}


async def test_many_commits_at_once_are_all_answered(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        peers = [await type(peer).connect(peer.server) for _ in range(20)]
        answers = await asyncio.gather(*(commit(p, {("t", 0): n}, group=f"g{n}") for n, p in enumerate(peers)))
        assert answers == [{("t", 0): 0}] * 20
        for one in peers:
            one.close()
