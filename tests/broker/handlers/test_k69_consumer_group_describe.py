import pytest

from kaas.wire.apis import CONSUMER_GROUP_DESCRIBE, DELETE_TOPICS
from tests.broker.handlers.consumers import beat, join, may_describe
from tests.broker.handlers.groups import QUICK, stable
from tests.broker.handlers.topics import create
from tests.support.in_process import serving


async def describe(peer, *groups, version=1, operations=False):
    answer = await peer.ask(
        CONSUMER_GROUP_DESCRIBE, version, group_ids=groups, include_authorized_operations=operations
    )
    return list(answer.groups)


def partitions(assignment):
    return [(row.topic_id, row.topic_name, tuple(row.partitions)) for row in assignment.topic_partitions]


@pytest.mark.parametrize("version", range(2))
async def test_it_works_in_every_version(tmp_path, version):
    async with serving(tmp_path) as peer:
        topic = await create(peer, "t", 2)
        await join(peer, "a", "t", instance_id="i", rack_id="r")
        await join(peer, "b", "t")
        (group,) = await describe(peer, "g", version=version)
        assert (group.error_code, group.error_message, group.group_id) == (0, None, "g")
        assert (group.group_state, group.group_epoch, group.assignment_epoch) == ("Reconciling", 2, 2)
        assert (group.assignor_name, group.authorized_operations) == ("uniform", -(2**31))
        a, b = group.members
        assert (a.member_id, a.instance_id, a.rack_id, a.member_epoch, a.client_id) == ("a", "i", "r", 1, "test")
        assert (a.client_host, a.subscribed_topic_names, a.subscribed_topic_regex) == ("/127.0.0.1", ("t",), "")
        assert partitions(a.assignment) == [(topic, "t", (0, 1))]
        assert partitions(a.target_assignment) == [(topic, "t", (0,))]
        assert (b.instance_id, b.rack_id, partitions(b.assignment)) == (None, None, [])
        if version >= 1:
            assert (a.member_type, b.member_type) == (1, 1)


async def test_it_tells_what_may_be_done_with_the_group_when_asked(tmp_path):
    async with serving(tmp_path) as peer:
        await join(peer, "a", "t")
        (group,) = await describe(peer, "g", operations=True)
        assert group.authorized_operations == 1 << 3 | 1 << 6 | 1 << 8 | 1 << 10 | 1 << 11


async def test_it_refuses_the_unknown_the_classic_and_the_unnamed_and_repeats_what_is_asked_twice(tmp_path):
    async with serving(tmp_path, **QUICK) as peer:
        await stable(peer, "classic")
        rows = await describe(peer, "no", "classic", "", "no")
        assert [(row.group_id, row.error_code) for row in rows] == [("no", 69), ("classic", 69), ("", 24), ("no", 69)]
        assert ["not found" in (row.error_message or "") for row in rows] == [True, True, False, True]
        assert {(row.group_state, row.group_epoch, row.members) for row in rows} == {("", 0, ())}
        assert await describe(peer) == []


async def test_it_shows_who_is_away(tmp_path):
    async with serving(tmp_path) as peer:
        await join(peer, "a", "t", instance_id="i")
        await beat(peer, "a", -2, instance_id="i")
        (group,) = await describe(peer, "g")
        assert (group.group_state, group.members[0].member_epoch) == ("Reconciling", -2)


async def test_it_shows_the_assignor_that_is_preferred_now(tmp_path):
    async with serving(tmp_path) as peer:
        await join(peer, "a", "t")
        await beat(peer, "a", 1, server_assignor="range")
        (group,) = await describe(peer, "g")
        assert (group.assignor_name, group.group_epoch) == ("range", 1)


async def test_a_topic_that_is_gone_is_left_out(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t", 2)
        await join(peer, "a", "t")
        await peer.ask(DELETE_TOPICS, 6, topics=[{"name": "t", "topic_id": None}], timeout=5_000)
        (group,) = await describe(peer, "g")
        assert partitions(group.members[0].assignment) == []


async def test_it_is_refused_where_the_protocol_is_switched_off(tmp_path):
    async with serving(tmp_path, group_coordinator_rebalance_protocols="classic") as peer:
        assert [row.error_code for row in await describe(peer, "g", "")] == [35, 35]


async def test_a_group_with_a_topic_that_the_client_may_not_describe_is_refused_as_a_whole(tmp_path):
    """https://issues.apache.org/jira/browse/KAFKA-18813"""
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        await create(peer, "secret")
        await join(peer, "a", "t", "secret")
        await join(peer, "b", "t", group_id="other")
        peer.broker.rules = may_describe("t")
        hidden, shown = await describe(peer, "g", "other")
        assert (hidden.error_code, hidden.members, bool(hidden.error_message)) == (29, (), True)
        assert (shown.error_code, len(shown.members)) == (0, 1)
