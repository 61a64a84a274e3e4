import pytest

from kaas.wire.apis import CONSUMER_GROUP_HEARTBEAT, CREATE_PARTITIONS, DELETE_TOPICS
from tests.broker.handlers.consumers import beat, beat_values, held, join, may_describe
from tests.broker.handlers.topics import create
from tests.support.in_process import serving, until


@pytest.mark.parametrize("version", range(2))
async def test_it_works_in_every_version(tmp_path, version):
    async with serving(tmp_path) as peer:
        topic = await create(peer, "t", 2)
        answer = await join(peer, "a", "t", version=version, instance_id="i", rack_id="r", server_assignor="range")
        assert (answer.error_code, answer.error_message, answer.member_id, answer.member_epoch) == (0, None, "a", 1)
        assert held(answer) == {topic: (0, 1)}
        answer = await beat(peer, "a", 1, version)
        assert (answer.error_code, answer.member_epoch, held(answer)) == (0, 1, None)
        answer = await beat(peer, "a", -1, version, instance_id="i")
        assert (answer.error_code, answer.member_epoch, held(answer)) == (0, -1, None)


async def test_it_makes_the_id_in_version_0_only(tmp_path):
    async with serving(tmp_path) as peer:
        ids = [(await join(peer, "", "t", version=0)).member_id for _ in range(4)]
        assert all(ids) and len(set(ids)) == 4
        assert (await join(peer, "", "t", version=1)).error_code == 42


async def test_it_tells_the_code_and_the_sentence_of_a_refusal(tmp_path):
    async with serving(tmp_path) as peer:
        answer = await beat(peer, "a", 1)
        assert (answer.error_code, answer.member_id, answer.member_epoch) == (69, None, 0)
        assert "'g'" in answer.error_message


async def test_it_is_refused_where_the_protocol_is_switched_off(tmp_path):
    async with serving(tmp_path, group_coordinator_rebalance_protocols="classic") as peer:
        assert (await join(peer, "a", "t")).error_code == 35


async def test_topics_that_grow_and_go_are_noticed(tmp_path):
    async with serving(tmp_path) as peer:
        topic = await create(peer, "t", 1)
        await join(peer, "a", "t")
        await peer.ask(CREATE_PARTITIONS, 3, topics=[{"name": "t", "count": 3, "assignments": None}], timeout=5_000)
        answer = await beat(peer, "a", 1)
        assert (answer.member_epoch, held(answer)) == (2, {topic: (0, 1, 2)})
        await peer.ask(DELETE_TOPICS, 6, topics=[{"name": "t", "topic_id": None}], timeout=5_000)
        assert held(await beat(peer, "a", 2)) == {}


async def test_topics_of_an_earlier_life_are_known(tmp_path):
    async with serving(tmp_path) as peer:
        topic = await create(peer, "t", 2)
    async with serving(tmp_path) as peer:
        assert held(await join(peer, "a", "t")) == {topic: (0, 1)}


async def test_members_go_on_after_a_restart(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t", 2)
        await join(peer, "a", "t")
    async with serving(tmp_path) as peer:
        answer = await beat(peer, "a", 1)
        assert (answer.error_code, answer.member_epoch, held(answer)) == (0, 1, None)


async def test_a_pattern_is_matched(tmp_path):
    async with serving(tmp_path) as peer:
        topic = await create(peer, "t1", 1)
        await create(peer, "t1x", 1)
        await join(peer, "a", subscribed_topic_regex="t[0-9]")

        async def matched():
            answer = await beat(peer, "a", 1)
            return held(answer) == {topic: (0,)} and answer.member_epoch == 2

        await until(matched)


async def test_a_steady_heartbeat_is_recognised_and_answered_alike(tmp_path):
    async with serving(tmp_path) as peer:
        topic = await create(peer, "t", 2)
        await join(peer, "a", "t")
        answers = [await beat(peer, "a", 1) for _ in range(4)]
        assert {(a.error_code, a.member_id, a.member_epoch, held(a)) for a in answers} == {(0, "a", 1, None)}
        await join(peer, "b", "t")
        answers = [await beat(peer, "a", 1) for _ in range(2)]
        assert [held(a) for a in answers] == [{topic: (0,)}, None]
        assert (await beat(peer, "a", 9)).error_code == 110
        await beat(peer, "a", -1)
        assert (await beat(peer, "a", 1)).error_code == 25


async def test_requests_behind_one_that_waits_for_the_disk_are_answered_in_order(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t", 2)
        await join(peer, "a", "t")
        for rack in ("r", None, "s", None):
            peer.put(CONSUMER_GROUP_HEARTBEAT, 1, **beat_values("a", 1, rack_id=rack))
        assert [(await peer.get()).error_code for _ in range(4)] == [0, 0, 0, 0]


async def test_a_topic_that_the_client_may_not_describe_cannot_be_named_and_is_not_matched(tmp_path):
    """https://issues.apache.org/jira/browse/KAFKA-18813"""
    async with serving(tmp_path) as peer:
        topic = await create(peer, "t1", 1)
        await create(peer, "t2", 1)
        peer.broker.rules = may_describe("t1")
        assert (await join(peer, "a", "t1", "t2")).error_code == 29
        assert (await join(peer, "a", subscribed_topic_regex="t[0-9]")).error_code == 0

        async def matched():
            return held(await beat(peer, "a", 1)) == {topic: (0,)}

        await until(matched)
