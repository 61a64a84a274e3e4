"""Admin calls against a real broker; what only a strange broker says comes from a scripted one."""

import pytest

from kaas.consumer.admin import EARLIEST, LATEST, REMOVAL_REASON, Admin
from kaas.coordinator.announcements import MemberChange
from kaas.errors import ErrorCode, KafkaError
from kaas.wire.apis import FIND_COORDINATOR, LEAVE_GROUP, LIST_OFFSETS, METADATA, OFFSET_FETCH
from tests.broker.handlers.groups import QUICK, leave, stable
from tests.broker.handlers.topics import create, produce
from tests.consumer.scripted import Scripted, scripted
from tests.storage.log.making import batch
from tests.support.in_process import serving

NONE = ErrorCode.NONE
IDS = ["g", "", "a/b", "..", "grüße 日本", "x" * 300]


@pytest.fixture
async def desk(tmp_path):
    """A broker, a connection to it, and an admin."""
    async with serving(tmp_path, **QUICK) as peer, Admin(f"127.0.0.1:{peer.broker.port}") as admin:
        await create(peer, "t", 2)
        yield peer, admin


@pytest.mark.parametrize("group", IDS)
async def test_offsets_that_are_committed_are_fetched_for_any_group_id(desk, group):
    _, admin = desk
    assert await admin.commit_offsets(group, {("t", 0): 5, ("t", 1): 6}, "note") == {("t", 0): NONE, ("t", 1): NONE}
    found = await admin.fetch_offsets(group)
    assert {key: (row.offset, row.metadata, row.code) for key, row in found.items()} == {
        ("t", 0): (5, "note", NONE),
        ("t", 1): (6, "note", NONE),
    }


async def test_each_row_of_a_commit_has_its_code(desk):
    _, admin = desk
    codes = await admin.commit_offsets("g", {("t", 0): 5, ("t", 9): 6, ("u", 0): 7})
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert codes == {("t", 0): NONE, ("t", 9): unknown, ("u", 0): unknown}


async def test_a_partition_without_an_offset_is_minus_one(desk):
    _, admin = desk
    found = await admin.fetch_offsets("nobody", [("t", 0)], require_stable=True)
    assert (found["t", 0].offset, found["t", 0].leader_epoch, found["t", 0].code) == (-1, -1, NONE)
    assert await admin.fetch_offsets("nobody") == {}


async def test_nobody_commits_for_a_group_with_members(desk):
    peer, admin = desk
    await stable(peer)
    assert await admin.commit_offsets("g", {("t", 0): 5}) == {("t", 0): ErrorCode.UNKNOWN_MEMBER_ID}


async def test_offsets_are_deleted_unless_a_member_reads_them(desk):
    peer, admin = desk
    await admin.commit_offsets("g", {("t", 0): 5, ("t", 1): 6})
    assert await admin.delete_offsets("g", [("t", 0)]) == {("t", 0): NONE}
    await stable(peer)
    assert await admin.delete_offsets("g", [("t", 1)]) == {("t", 1): ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC}
    with pytest.raises(KafkaError) as told:
        await admin.delete_offsets("nobody", [("t", 0)])
    assert told.value.code is ErrorCode.GROUP_ID_NOT_FOUND


async def test_members_are_removed_by_either_id_with_a_reason_that_tells_an_operator_from_a_leave(desk):
    peer, admin = desk
    static = await stable(peer, instance="i")
    told = []
    peer.broker.groups.audience.heard = lambda group_id, what: told.append(what)
    codes = await admin.remove_members("g", [("", "i"), (static.id, None)], reason="asked for")
    assert codes == [NONE, ErrorCode.UNKNOWN_MEMBER_ID]
    (gone,) = [what for what in told if isinstance(what, MemberChange)]
    assert gone.reason == f"{REMOVAL_REASON}: asked for"


async def test_a_long_reason_is_cut():
    asked = []

    def answer(key, version, message):
        if key == FIND_COORDINATOR.key:
            row = {"key": "g", "node_id": 1, "host": "127.0.0.1", "port": broker.port}
            return {"coordinators": [row]}
        asked.append(message)
        return {"members": [{"member_id": "m", "error_code": 0}]}

    broker = Scripted(answer)
    async with scripted(broker), Admin(broker.address) as admin:
        await admin.remove_members("g", [("m", None)], reason="x" * 1_000)
    assert len(asked[0].members[0].reason) == 255
    assert (LEAVE_GROUP.key, LEAVE_GROUP.max_version) in broker.asked


async def test_a_group_is_deleted_when_it_is_empty(desk):
    peer, admin = desk
    member = await stable(peer)
    assert await admin.delete_group("g") is ErrorCode.NON_EMPTY_GROUP
    await leave(peer, member)
    assert await admin.delete_group("g") is NONE
    assert await admin.delete_group("g") is ErrorCode.GROUP_ID_NOT_FOUND


async def test_a_group_is_described(desk):
    peer, admin = desk
    member = await stable(peer)
    group = await admin.describe_group("g")
    assert (group.group_state, [m.member_id for m in group.members]) == ("Stable", [member.id])
    assert (await admin.describe_group("nobody")).group_state == "Dead"


async def test_partitions_are_told_or_why_there_are_none(desk):
    _, admin = desk
    assert await admin.partitions(["t", "u", "t"]) == {"t": [0, 1], "u": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert await admin.partitions([]) == {}


async def test_offsets_are_found_by_time(desk):
    peer, admin = desk
    await produce(peer, "t", batch("a", at=1_000))
    await produce(peer, "t", batch("b", at=2_000))
    wanted = {("t", 0): 1_500, ("t", 1): LATEST, ("u", 0): EARLIEST, ("t", 7): LATEST}
    found = await admin.list_offsets(wanted)
    assert (found["t", 0].offset, found["t", 0].code) == (1, NONE)
    assert (found["t", 1].offset, found["t", 1].code) == (0, NONE)
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert (found["u", 0].code, found["t", 7].code) == (unknown, unknown)
    assert (await admin.list_offsets({("t", 0): EARLIEST}, read_committed=True))["t", 0].offset == 0
    assert (await admin.list_offsets({("t", 0): 9_000}))["t", 0].offset == -1


async def test_times_are_looked_up_with_one_request_for_all_partitions_of_a_broker():
    """A request for each partition kept brokers busy for minutes.

    https://github.com/redpanda-data/redpanda/issues/6083
    """

    def answer(key, version, message):
        if key == METADATA.key:
            rows = [{"error_code": 0, "partition_index": p, "leader_id": 1} for p in range(30)]
            broker_row = {"node_id": 1, "host": "127.0.0.1", "port": broker.port}
            return {"brokers": [broker_row], "topics": [{"name": "t", "error_code": 0, "partitions": rows}]}
        rows = [
            {"partition_index": row.partition_index, "error_code": 0, "timestamp": row.timestamp, "offset": 7}
            for row in message.topics[0].partitions
        ]
        return {"topics": [{"name": "t", "partitions": rows}]}

    broker = Scripted(answer)
    async with scripted(broker), Admin(broker.address) as admin:
        found = await admin.list_offsets({("t", p): 1_500 for p in range(30)})
    assert {row.offset for row in found.values()} == {7} and len(found) == 30
    assert [key for key, _ in broker.asked].count(LIST_OFFSETS.key) == 1


async def test_a_partition_without_a_leader_fails_alone():
    def answer(key, version, message):
        assert key == METADATA.key
        row = {"error_code": 5, "partition_index": 0, "leader_id": -1}
        return {"topics": [{"name": "t", "error_code": 0, "partitions": [row]}]}

    broker = Scripted(answer)
    async with scripted(broker), Admin(broker.address) as admin:
        found = await admin.list_offsets({("t", 0): LATEST})
    assert found["t", 0] == (-1, -1, ErrorCode.LEADER_NOT_AVAILABLE)


@pytest.mark.parametrize("highest", [1, 5, 7, 8, 9])
async def test_brokers_of_every_age_are_asked_for_offsets(highest):
    def answer(key, version, message):
        if key == FIND_COORDINATOR.key:
            row = {"key": "g", "node_id": 1, "host": "127.0.0.1", "port": broker.port}
            return {"coordinators": [row]}
        row = {
            "partition_index": 0,
            "committed_offset": 4,
            "committed_leader_epoch": 1,
            "metadata": None,
            "error_code": 0,
        }
        topics = [{"name": "t", "partitions": [row]}]
        return {"topics": topics, "groups": [{"group_id": "g", "topics": topics}]}

    broker = Scripted(answer)
    broker.versions[OFFSET_FETCH.key] = (0, highest)
    async with scripted(broker), Admin(broker.address) as admin:
        found = await admin.fetch_offsets("g", [("t", 0)])
    assert (found["t", 0].offset, found["t", 0].metadata) == (4, "")
    assert broker.asked[-1] == (OFFSET_FETCH.key, highest)


async def test_an_error_of_the_whole_group_is_raised():
    def answer(key, version, message):
        if key == FIND_COORDINATOR.key:
            return {"coordinators": [{"key": "g", "error_code": 30, "error_message": "not yours"}]}
        raise AssertionError(key)

    broker = Scripted(answer)
    async with scripted(broker), Admin(broker.address) as admin:
        with pytest.raises(KafkaError, match="not yours") as told:
            await admin.fetch_offsets("g")
    assert told.value.code is ErrorCode.GROUP_AUTHORIZATION_FAILED
