import uuid

import pytest

from kaas.coordinator.events import TopicDeleted
from kaas.wire.apis import DELETE_TOPICS
from tests.broker.handlers.topics import create, described
from tests.support.in_process import serving


async def delete(peer, version, *names):
    rows = {"topics": [{"name": name} for name in names]} if version >= 6 else {"topic_names": list(names)}
    return (await peer.ask(DELETE_TOPICS, version, **rows)).responses


@pytest.mark.parametrize("version", range(1, 7))
async def test_it_works_in_every_version(tmp_path, version):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        assert [(row.name, row.error_code) for row in await delete(peer, version, "t", "no")] == [("t", 0), ("no", 3)]
        assert (await described(peer, "t")).error_code == 3
        assert [row.error_code for row in await delete(peer, version, "t")] == [3]


async def test_a_topic_is_deleted_by_its_id(tmp_path):
    async with serving(tmp_path) as peer:
        id, stranger = await create(peer, "t"), uuid.uuid4()
        answer = await peer.ask(DELETE_TOPICS, 6, topics=[{"topic_id": id}, {"topic_id": stranger}])
        assert [(row.name, row.topic_id, row.error_code) for row in answer.responses] == [
            ("t", id, 0),
            (None, stranger, 100),
        ]


async def test_a_row_names_a_topic_in_one_way(tmp_path):
    async with serving(tmp_path) as peer:
        id = await create(peer, "t")
        answer = await peer.ask(DELETE_TOPICS, 6, topics=[{"name": "t", "topic_id": id}, {}])
        assert [row.error_code for row in answer.responses] == [42, 42]
        assert (await described(peer, "t")).error_code == 0


async def test_a_topic_named_twice_is_deleted_by_neither_row(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        assert [row.error_code for row in await delete(peer, 5, "t", "t")] == [42]
        assert (await described(peer, "t")).error_code == 0


@pytest.mark.parametrize(("version", "code"), [(2, 42), (3, 73), (6, 73)])
async def test_deletion_may_be_disabled(tmp_path, version, code):
    async with serving(tmp_path, delete_topic_enable="false") as peer:
        await create(peer, "t")
        assert [row.error_code for row in await delete(peer, version, "t")] == [code]


async def test_groups_learn_of_it(tmp_path, monkeypatch):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        heard = []
        monkeypatch.setattr(peer.broker.groups, "submit", heard.append)
        await delete(peer, 5, "t", "no")
        assert heard == [TopicDeleted(topic="t")]
        monkeypatch.undo()
