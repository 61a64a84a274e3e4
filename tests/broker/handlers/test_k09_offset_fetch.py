import uuid

import pytest

from kaas.broker.security.rules import Rules
from kaas.wire.apis import OFFSET_FETCH
from tests.broker.handlers.groups import commit
from tests.broker.handlers.topics import create
from tests.support.disk import refusing
from tests.support.in_process import serving

NAMES = [{"name": "t", "partition_indexes": [0, 1]}]


def rows(topics):
    return {
        (t.name, p.partition_index): (p.committed_offset, p.metadata, int(p.error_code))
        for t in topics
        for p in t.partitions
    }


async def ask(peer, version, topics, group="g"):
    """The group's part of the answer."""
    groups = [{"group_id": group, "member_id": None, "member_epoch": -1, "topics": topics}]
    answer = await peer.ask(OFFSET_FETCH, version, group_id=group, topics=topics, groups=groups, require_stable=False)
    return answer.groups[0] if version >= 8 else answer


@pytest.mark.parametrize("version", range(1, 10))
async def test_it_works_in_every_version_with_names(tmp_path, version):
    async with serving(tmp_path) as peer:
        await create(peer, "t", 2)
        await commit(peer, {("t", 0): 5})
        found = await ask(peer, version, NAMES)
        assert rows(found.topics) == {("t", 0): (5, "at 5", 0), ("t", 1): (-1, "", 0)}
        assert getattr(found, "error_code", 0) == 0


@pytest.mark.parametrize("version", [5, 9])
async def test_leader_epochs_come_from_version_5_on(tmp_path, version):
    async with serving(tmp_path) as peer:
        await create(peer, "t", 2)
        await commit(peer, {("t", 0): 5})
        (topic,) = (await ask(peer, version, NAMES)).topics
        assert [p.committed_leader_epoch for p in topic.partitions] == [2, -1]


@pytest.mark.parametrize("version", [2, 7, 8])
async def test_null_topics_mean_every_committed_partition(tmp_path, version):
    async with serving(tmp_path) as peer:
        await create(peer, "t", 2)
        await create(peer, "u")
        await commit(peer, {("t", 1): 5, ("u", 0): 6})
        assert set(rows((await ask(peer, version, None)).topics)) == {("t", 1), ("u", 0)}
        assert rows((await ask(peer, version, None, "nobody")).topics) == {}


@pytest.mark.parametrize("version", [1, 7, 8])
async def test_an_unknown_group_has_no_offsets_and_no_error(tmp_path, version):
    async with serving(tmp_path) as peer:
        await create(peer, "t", 2)
        found = await ask(peer, version, NAMES, "nobody")
        assert set(rows(found.topics).values()) == {(-1, "", 0)}


async def test_many_groups_are_answered_in_their_order(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t", 2)
        for n in range(3):
            await commit(peer, {("t", 0): n}, group=f"g{n}")
        wanted = [{"group_id": f"g{n}", "topics": NAMES if n else None} for n in (2, 0, 1)]
        answer = await peer.ask(OFFSET_FETCH, 8, groups=wanted, require_stable=True)
        assert [g.group_id for g in answer.groups] == ["g2", "g0", "g1"]
        assert [rows(g.topics)["t", 0][0] for g in answer.groups] == [2, 0, 1]


async def test_version_10_asks_by_topic_id(tmp_path):
    async with serving(tmp_path) as peer:
        topic, strange = await create(peer, "t", 2), uuid.uuid4()
        await commit(peer, {(topic, 0): 5}, 10)
        found = await ask(
            peer,
            10,
            [{"topic_id": topic, "partition_indexes": [0, 1]}, {"topic_id": strange, "partition_indexes": [0]}],
        )
        seen = {
            (t.topic_id, p.partition_index): (p.committed_offset, int(p.error_code))
            for t in found.topics
            for p in t.partitions
        }
        assert seen == {(topic, 0): (5, 0), (topic, 1): (-1, 0), (strange, 0): (-1, 100)}
        (every,) = (await ask(peer, 10, None)).topics
        assert (every.topic_id, [p.partition_index for p in every.partitions]) == (topic, [0])


@pytest.mark.parametrize("version", [1, 2, 7, 8, 10])
async def test_a_group_whose_files_cannot_be_read_answers_an_error_where_the_version_has_one(tmp_path, version):
    folder = tmp_path / "__cluster" / "__consumer_offsets"
    folder.mkdir(parents=True)
    (folder / "g.json").write_text("{ this is no JSON")
    async with serving(tmp_path) as peer:
        topic = await create(peer, "t", 2)
        found = await ask(peer, version, [{"name": "t", "topic_id": topic, "partition_indexes": [0]}])
        if version >= 2:
            assert found.error_code != 0
        else:
            assert [code for _, _, code in rows(found.topics).values()] != [0]


async def test_every_partition_asked_for_has_a_row_and_none_committed_is_no_error(tmp_path):
    """A partition without an offset was dropped by a client that heard an error.

    https://github.com/kafka4beam/brod/issues/660
    """
    async with serving(tmp_path) as peer:
        await create(peer, "t", 3)
        await commit(peer, {("t", 1): 5})
        topics = [{"name": "t", "partition_indexes": [0, 1, 2]}]
        found = rows((await ask(peer, 8, topics)).topics)
        assert {key: (offset, code) for key, (offset, _, code) in found.items()} == {
            ("t", 0): (-1, 0),
            ("t", 1): (5, 0),
            ("t", 2): (-1, 0),
        }


@pytest.mark.parametrize("version", [7, 8])
async def test_a_group_that_nobody_knows_is_no_error_for_who_wants_stable_offsets(tmp_path, version):
    """An unknown topic (3) was answered, and a group never started.

    https://github.com/twmb/franz-go/issues/1312
    """
    async with serving(tmp_path) as peer:
        groups = [{"group_id": "new", "member_id": None, "member_epoch": -1, "topics": NAMES}]
        answer = await peer.ask(OFFSET_FETCH, version, group_id="new", topics=NAMES, groups=groups, require_stable=True)
        found = answer.groups[0] if version >= 8 else answer
        assert set(rows(found.topics).values()) == {(-1, "", 0)}


async def test_version_1_says_an_error_of_the_group_on_every_partition(tmp_path):
    """Version 1 has no place for it at the top, and it was lost.

    https://issues.apache.org/jira/browse/KAFKA-19246
    https://issues.apache.org/jira/browse/KAFKA-19439
    """
    async with serving(tmp_path) as peer:
        peer.broker.rules = Rules((), super_users=frozenset(), everyone_if_none=False)
        found = rows((await ask(peer, 1, NAMES)).topics)
        assert {key: code for key, (_, _, code) in found.items()} == {("t", 0): 30, ("t", 1): 30}


@pytest.mark.parametrize("version", [7, 8])
async def test_a_disk_that_refuses_is_never_told_to_who_fetches_stable_offsets(tmp_path, version):
    """Clients retry 16 and fail on 7; here what is committed is in memory.

    https://issues.apache.org/jira/browse/KAFKA-17267
    """
    async with serving(tmp_path) as peer:
        await create(peer, "t", 2)
        await commit(peer, {("t", 0): 5})
        with refusing("fsync", "fdatasync"):
            groups = [{"group_id": "g", "member_id": None, "member_epoch": -1, "topics": NAMES}]
            answer = await peer.ask(
                OFFSET_FETCH, version, group_id="g", topics=NAMES, groups=groups, require_stable=True
            )
        found = answer.groups[0] if version >= 8 else answer
        assert rows(found.topics)["t", 0] == (5, "at 5", 0)
