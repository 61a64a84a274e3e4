"""The load generator and its tables work; what they measure is not judged here."""

import asyncio

import pytest

from benchmarks import load, peers
from benchmarks.cpu import own_time
from benchmarks.listing import describe_all, list_ms, make
from benchmarks.peers import APACHE, OURS, Row, Table
from benchmarks.rebalancing import BigGroup


@pytest.fixture
def broker(start_broker):
    started = start_broker()
    asyncio.run(load.prepare(started.address))
    return started


@pytest.mark.parametrize(
    ("what", "partitions"), [("heartbeat", 1), ("consumer heartbeat", 1), ("commit", 1), ("commit", 20), ("fetch", 20)]
)
def test_a_loop_counts_answers_without_errors(broker, monkeypatch, what, partitions):
    monkeypatch.setattr(load, "WARM_UP_S", 0.0)
    rate = asyncio.run(load.repeat(broker.address, what, 5, partitions, 0.3))
    assert rate.per_second > 0 and rate.errors == 0


@pytest.mark.parametrize("what", ["heartbeat", "consumer heartbeat", "commit"])
def test_a_loop_sees_errors(broker, what):
    async def stranger():
        loop = load.LOOPS[what]
        (member,) = await loop.members(broker.address, 1)
        other = load.Member(connection=member.connection, group=member.group, id="who", generation=1)
        return loop.failed(await member.connection.ask(loop.make(other, 1)))

    assert asyncio.run(stranger())


@pytest.mark.parametrize("members", [1, 5])
def test_a_rebalance_ends_with_everybody_synced(broker, members):
    async def twice():
        group = await BigGroup.gather(broker.address, members)
        took = [await group.rebalance_ms() for _ in range(2)]
        beats = [(await group_beat(group, number)) for number in range(members)]
        group.close()
        return took, beats

    async def group_beat(group, number):
        joined = group._joined[number]
        member = load.Member(
            connection=group.connections[number],
            group=group._group,
            id=joined.member_id,
            generation=joined.generation_id,
        )
        return (await member.connection.ask(load.heartbeat_of(member, 1)))[4:6]

    took, beats = asyncio.run(twice())
    assert all(ms > 0 for ms in took) and set(beats) == {b"\0\0"}


def test_groups_are_made_listed_and_described(broker):
    groups = [f"g{number}" for number in range(30)]
    assert asyncio.run(make(broker.address, groups)) > 0
    assert asyncio.run(list_ms(broker)) > 0 and asyncio.run(describe_all(groups)(broker)) > 0


def test_medians_are_of_rounds_that_alternate_and_warm_ups_do_not_count(monkeypatch):
    asked, rests = [], []

    async def at_rest(brokers):
        rests.append((list(brokers), len(asked)))

    async def measure(peer):
        asked.append(peer)
        return float(len(asked))

    monkeypatch.setattr(peers, "at_rest", at_rest)
    medians = asyncio.run(peers.alternate({OURS: OURS, APACHE: APACHE}, measure, rounds=3))
    assert rests == [([OURS, APACHE], before) for before in range(8)]
    assert asked == [OURS, APACHE, APACHE, OURS, OURS, APACHE, APACHE, OURS]
    assert medians == {OURS: 5.0, APACHE: 6.0}


def test_what_brokers_and_their_children_work_is_counted(broker):
    before_s = peers.worked_s([broker])
    asyncio.run(load.repeat(broker.address, "commit", 2, 1, 0.3))
    assert peers.worked_s([broker]) > before_s > 0
    asyncio.run(peers.at_rest([broker]))


def test_a_ratio_above_one_means_that_ours_is_better(capsys):
    faster = Row(what="a", unit="/s", ours=200.0, apache=100.0, claim=0.9)
    slower = Row(what="b", unit="ms", ours=20.0, apache=10.0, more_is_better=False, claim=1.0)
    assert (faster.ratio, slower.ratio) == (2.0, 0.5)
    table = Table("Title")
    table.begin()
    table.add(faster)
    table.add(slower)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Title (load average") and "MISSED" in lines[3] and "MISSED" not in lines[2]


def test_a_profile_names_the_functions_at_work():
    stacks = "MainThread;a (f:1);b (f:2) 3\nMainThread;a (f:1) 1\nother;c (f:3) 9"
    assert own_time(stacks, 5) == "   75.0%  b (f:2)\n   25.0%  a (f:1)"
