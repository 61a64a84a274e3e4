"""Requests that came before: recognised, and answered exactly as if they had been read."""

import dataclasses
import random
from contextlib import asynccontextmanager
from unittest import mock

import pytest

from kaas.broker.connection import LONGEST_BYTES, MOST, Connection
from kaas.broker.dispatch import Dispatcher
from kaas.wire.apis import DELETE_TOPICS, HEARTBEAT, JOIN_GROUP, LEAVE_GROUP, OFFSET_COMMIT, OFFSET_FETCH, SYNC_GROUP
from tests.broker.handlers.groups import QUICK, commit_values, join, join_values, stable
from tests.broker.handlers.topics import create
from tests.support.in_process import Closed, Peer, serving, until

SEEDS = range(12)
STEPS = 60


class Reading:
    """Counts the requests that were read."""

    def __init__(self):
        self.count = 0
        self._serve = Dispatcher.serve

    def serve(self, dispatcher, connection, payload):
        self.count += 1
        return self._serve(dispatcher, connection, payload)


@pytest.fixture
def reading(monkeypatch):
    counter = Reading()
    monkeypatch.setattr(Dispatcher, "serve", lambda *arguments: counter.serve(*arguments))
    return counter


async def commit(peer, version, offsets, **more):
    """Offsets alone: what else is in a row says the same each time, so that the commit is recognised."""
    values = commit_values(offsets, **more)
    for topic in values["topics"]:
        for row in topic["partitions"]:
            row["committed_metadata"] = "same"
    answer = await peer.ask(OFFSET_COMMIT, version, **values)
    return [[row.error_code for row in topic.partitions] for topic in answer.topics]


async def fetch(peer, version):
    if version < 8:
        answer = await peer.ask(OFFSET_FETCH, version, group_id="g", topics=None)
        topics = answer.topics
    else:
        answer = await peer.ask(OFFSET_FETCH, version, groups=[{"group_id": "g", "topics": None}], require_stable=False)
        topics = answer.groups[0].topics
    rows = [(topic.name, row.partition_index, row) for topic in topics for row in topic.partitions]
    return {
        (name, partition): (row.committed_offset, row.metadata, getattr(row, "committed_leader_epoch", None))
        for name, partition, row in rows
    }


@pytest.mark.parametrize("version", range(5))
async def test_a_heartbeat_is_read_until_it_came_twice(tmp_path, reading, version):
    async with serving(tmp_path, **QUICK) as peer:
        member = await stable(peer, instance="i")
        reading.count = 0
        for _ in range(5):
            assert (await peer.ask(HEARTBEAT, version, **member.values)).error_code == 0
        assert reading.count == 2


@pytest.mark.parametrize("version", range(10))
async def test_a_member_that_comes_back_as_it_came_is_not_read_again(tmp_path, reading, version):
    async with serving(tmp_path, **QUICK) as peer:
        member = await stable(peer, instance="i" if version >= 5 else None)
        values = join_values("g", member.id, instance=member.instance) | {"rebalance_timeout": 30_001}
        reading.count = 0
        for _ in range(4):
            answer = await peer.ask(JOIN_GROUP, version, **values)
            assert (answer.error_code, answer.generation_id) == (0, member.generation + 1)
            assert (answer.leader, answer.member_id) == (member.id, member.id)
            assert [row.member_id for row in answer.members] == [member.id]
        assert reading.count == 2


@pytest.mark.parametrize("version", range(6))
async def test_a_sync_in_another_generation_is_not_read_again(tmp_path, reading, version):
    async with serving(tmp_path, **QUICK) as peer:
        member = await stable(peer, assignment=b"of another size")
        syncs = 0
        for _ in range(4):
            generation = (await join(peer, version=5, member=member.id)).generation_id
            values = member.values | {
                "generation_id": generation,
                "protocol_type": "consumer",
                "protocol_name": "range",
            }
            before = reading.count
            rows = [{"member_id": member.id, "assignment": b"mine"}]
            answer = await peer.ask(SYNC_GROUP, version, **values, assignments=rows)
            assert (answer.error_code, answer.assignment) == (0, b"mine")
            syncs += reading.count - before
        assert syncs == 2
        late = await peer.ask(SYNC_GROUP, version, **values | {"generation_id": generation - 1}, assignments=rows)
        assert late.error_code == 22


@pytest.mark.parametrize("version", range(2, 10))
async def test_a_commit_with_other_offsets_is_not_read_again(tmp_path, reading, version):
    async with serving(tmp_path, **QUICK) as peer:
        await create(peer, "t", 3)
        await create(peer, "u", 1)
        member = await stable(peer)
        reading.count = 0
        for offset in (7, 8, 2**62, 0):
            rows = {("t", 0): offset, ("t", 2): offset + 1, ("u", 0): offset + 2}
            values = commit_values(rows, member=member)
            for topic in values["topics"]:
                for row in topic["partitions"]:
                    row |= {"committed_metadata": "same", "committed_leader_epoch": offset % 7}
            answer = await peer.ask(OFFSET_COMMIT, version, **values)
            assert [row.error_code for topic in answer.topics for row in topic.partitions] == [0, 0, 0]
            found = await fetch(peer, 7)
            epoch = offset % 7 if version >= 6 else -1
            assert found == {key: (value, "same", epoch) for key, value in rows.items()}
        assert reading.count == 2 + 4, "each fetch is read, as the group has changed since the one before"


@pytest.mark.parametrize("version", range(1, 10))
async def test_a_fetch_is_answered_from_before_until_the_group_changes(tmp_path, reading, version):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        await commit(peer, 8, {("t", 0): 5})
        reading.count = 0
        for _ in range(4):
            assert (await fetch(peer, version))["t", 0][0] == 5
        assert reading.count == 2
        await commit(peer, 8, {("t", 0): 6})
        assert (await fetch(peer, version))["t", 0][0] == 6


async def test_a_commit_that_parks_keeps_the_next_request_waiting(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        for offset in (1, 2, 3):
            await commit(peer, 8, {("t", 0): offset})
        peer.put(OFFSET_COMMIT, 8, **commit_values({("t", 0): 4}))
        peer.put(OFFSET_FETCH, 7, group_id="g", topics=None)
        await peer.get()
        assert (await peer.get()).topics[0].partitions[0].committed_offset == 4


async def test_a_commit_for_a_topic_that_is_gone_or_new_is_read_again(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        for offset in (1, 2, 3):
            assert await commit(peer, 8, {("t", 0): offset}) == [[0]]
        await peer.ask(DELETE_TOPICS, 5, topic_names=["t"])
        assert await commit(peer, 8, {("t", 0): 4}) == [[3]]
        await create(peer, "t")
        assert await commit(peer, 8, {("t", 0): 5}) == [[0]]


async def test_a_commit_stays_recognised_when_other_topics_come_and_go(tmp_path, reading):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        for offset in (1, 2, 3):
            await commit(peer, 8, {("t", 0): offset})
        await create(peer, "u")
        reading.count = 0
        assert await commit(peer, 8, {("t", 0): 4}) == [[0]]
        await peer.ask(DELETE_TOPICS, 5, topic_names=["u"])
        assert await commit(peer, 8, {("t", 0): 5}) == [[0]]
        assert reading.count == 1, "the deletion alone is read"


async def test_a_refused_heartbeat_and_commit_say_why(tmp_path):
    async with serving(tmp_path, **QUICK) as peer:
        await create(peer, "t")
        member = await stable(peer)
        for offset in (1, 2, 3):
            assert (await peer.ask(HEARTBEAT, 4, **member.values)).error_code == 0
            assert await commit(peer, 8, {("t", 0): offset}, member=member) == [[0]]
        await peer.ask(LEAVE_GROUP, 3, group_id="g", members=[{"member_id": member.id, "group_instance_id": None}])
        assert (await peer.ask(HEARTBEAT, 4, **member.values)).error_code == 25
        assert await commit(peer, 8, {("t", 0): 9}, member=member) == [[25]]


async def test_only_short_frames_and_only_some_are_remembered(tmp_path):
    connection = Connection(mock.Mock(), "PLAINTEXT", 1)
    assert not connection.comes_again(LONGEST_BYTES + 1) and not connection.comes_again(LONGEST_BYTES + 1)
    assert not connection.comes_again(50) and connection.comes_again(50)
    for size in range(100, 100 + 3 * MOST):
        connection.comes_again(size)
    assert len(connection._known) <= MOST
    connection.remember(60, mock.Mock())
    connection.forget()
    assert not connection._known


async def test_a_fault_ends_the_connection_and_no_other(tmp_path):
    async with serving(tmp_path, **QUICK) as peer:
        member = await stable(peer)
        for _ in range(3):
            await peer.ask(HEARTBEAT, 4, **member.values)
        other = await Peer.connect(peer.server)
        with mock.patch.object(peer.broker.groups.coordinator, "decide", side_effect=RuntimeError("broken")):
            peer.put(HEARTBEAT, 4, **member.values)
            with pytest.raises(Closed):
                await peer.get()
        assert (await other.ask(HEARTBEAT, 4, **member.values)).error_code == 0
        other.close()


@asynccontextmanager
async def a_pair(folder):
    """The same broker twice; the second one recognises nothing."""
    async with serving(folder / "one", **QUICK) as first, serving(folder / "two", **QUICK) as second:
        for peer in (first, second):
            await create(peer, "t", 2)
        (plain,) = second.server.dispatcher._connections
        with mock.patch.object(Connection, "comes_again", partial_for(plain)):
            yield first, second


def partial_for(plain):
    """`comes_again` of every connection but one."""
    usual = Connection.comes_again
    return lambda connection, size: connection is not plain and usual(connection, size)


class Script:
    """One side of a run: the same steps have the same results, whatever a connection recognises."""

    def __init__(self, peer):
        self.peer = peer
        self.member = None

    async def beat(self, version, offsets):
        return (await self.peer.ask(HEARTBEAT, 4, **self.values())).error_code

    async def beat_late(self, version, offsets):
        return (await self.peer.ask(HEARTBEAT, 4, **self.values() | {"generation_id": 99})).error_code

    async def commit(self, version, offsets):
        return await commit(self.peer, version, offsets, member=self.member)

    async def fetch(self, version, offsets):
        return await fetch(self.peer, version)

    async def rejoin(self, version, offsets):
        if self.member is None:
            return "nobody"
        answer = await join(self.peer, version=version, member=self.member.id)
        self.member = dataclasses.replace(self.member, generation=answer.generation_id)
        return answer.generation_id, len(answer.members)

    async def sync(self, version, offsets):
        named = {"protocol_type": "consumer", "protocol_name": "range"}
        rows = [{"member_id": self.values()["member_id"], "assignment": b"x" * len(offsets)}]
        answer = await self.peer.ask(SYNC_GROUP, 5, **self.values(), **named, assignments=rows)
        return answer.error_code, answer.assignment

    async def come_or_go(self, version, offsets):
        if self.member is None:
            self.member = await stable(self.peer)
            return "here"
        rows = [{"member_id": self.member.id, "group_instance_id": None}]
        self.member = None
        return (await self.peer.ask(LEAVE_GROUP, 3, group_id="g", members=rows)).members[0].error_code

    async def make_or_delete(self, version, offsets):
        if self.peer.broker.topics.partitions_of("t"):
            code = (await self.peer.ask(DELETE_TOPICS, 5, topic_names=["t"])).responses[0].error_code
            await until(self.offsets_are_gone)  # they go a moment after the topic
            return code
        await create(self.peer, "t", 2)
        return "made"

    async def offsets_are_gone(self):
        group = self.peer.broker.groups.coordinator.groups.get("g")
        return group is None or not group.offsets

    def values(self):
        nobody = {"group_id": "g", "generation_id": 1, "member_id": "nobody", "group_instance_id": None}
        return nobody if self.member is None else self.member.values


KINDS = (
    ["beat"] * 6
    + ["commit"] * 8
    + ["fetch"] * 4
    + ["rejoin", "sync"] * 3
    + ["beat_late", "come_or_go", "make_or_delete"]
)


@pytest.mark.parametrize("seed", SEEDS)
async def test_what_is_recognised_is_answered_as_what_is_read(tmp_path, seed):
    dice = random.Random(seed)
    async with a_pair(tmp_path) as peers:
        scripts = [Script(peer) for peer in peers]
        for _ in range(STEPS):
            kind, version = dice.choice(KINDS), dice.choice([4, 8, 9])
            offsets = {("t", partition): dice.randrange(9) for partition in range(dice.randint(1, 2))}
            first, second = [await getattr(script, kind)(version, offsets) for script in scripts]
            assert first == second, (seed, kind, version, offsets)
