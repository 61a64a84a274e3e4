"""The slowest heartbeats (p99) of quiet members while others make a broker busy.

    python -m benchmarks.latency [--rounds 5] [--seconds 4] [--members 1000]

Fifty members beat a hundred times a second each. Meanwhile, from a process of its own: nothing; a group of a thousand members
that rebalances again and again; commits to ever new groups, whose files ours writes.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
import uuid
from collections.abc import AsyncIterator

from benchmarks import load, peers
from benchmarks.load import Member, connect_many, heartbeat_of, lone_members, quantile
from benchmarks.peers import APACHE, OURS, Peer, Row, Table
from benchmarks.rebalancing import BigGroup

BEATING = 50
PAUSE_S = 0.01
SETTLE_S = 1.0
CLAIM = 0.5


async def beat(member: Member, until: float, latencies_s: list[float]) -> None:
    data = heartbeat_of(member, 1)
    while time.perf_counter() < until:
        began = time.perf_counter()
        await member.connection.ask(data)
        latencies_s.append(time.perf_counter() - began)
        await asyncio.sleep(PAUSE_S)


def p99_ms(disturbance: str, seconds: float, members: int) -> peers.Measure:
    async def measure(peer: Peer) -> float:
        beating = await lone_members(peer.address, BEATING)
        latencies_s: list[float] = []
        async with disturbed(peer.address, disturbance, members):
            until = time.perf_counter() + seconds
            await asyncio.gather(*(beat(member, until, latencies_s) for member in beating))
        for member in beating:
            member.connection.close()
        return quantile(sorted(latencies_s), 0.99) * 1_000

    return measure


@contextlib.asynccontextmanager
async def disturbed(address: str, disturbance: str, members: int) -> AsyncIterator[None]:
    """Within this block another process keeps the broker busy."""
    if disturbance not in DISTURBANCES:
        yield
        return
    command = (sys.executable, "-m", "benchmarks.latency", disturbance, address, str(members))
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    await process.stdout.readline()  # it has begun
    await asyncio.sleep(SETTLE_S)
    try:
        yield
    finally:
        process.kill()
        await process.wait()


async def rebalance(address: str, members: int) -> None:
    group = await BigGroup.gather(address, members)
    print("begun", flush=True)
    while True:
        await group.rebalance_ms()


async def commit_anew(address: str, members: int) -> None:
    """Each commit makes another group."""
    print("begun", flush=True)
    connections = await connect_many(address, 8)

    async def endless(connection: load.Connection) -> None:
        while True:
            nobody = Member(connection=connection, group=uuid.uuid4().hex, id="", generation=-1)
            await connection.ask(load.commit_of(nobody, 1))

    await asyncio.gather(*(endless(connection) for connection in connections))


DISTURBANCES = {"rebalance": rebalance, "commits": commit_anew}


async def main() -> None:
    chosen = peers.options(__doc__, seconds=4.0, members=1_000)
    with peers.both() as brokers:
        for broker in brokers.values():
            await load.prepare(broker.address)
        table = Table("p99 of a heartbeat in milliseconds")
        table.begin()
        cases = {
            "nothing": "alone",
            "rebalance": f"{chosen.members:,} members rebalance",
            "commits": "new groups commit",
        }
        for disturbance, what in cases.items():
            measure = p99_ms(disturbance, chosen.seconds, chosen.members)
            medians = await peers.alternate(brokers, measure, chosen.rounds)
            row = {"unit": "ms", "more_is_better": False, "claim": CLAIM}
            table.add(Row(what=what, ours=medians[OURS], apache=medians[APACHE], **row))
        peers.kill_ours(brokers)


if __name__ == "__main__":
    peers.allow_many_files()
    if len(sys.argv) > 1 and sys.argv[1] in DISTURBANCES:
        peers.run(DISTURBANCES[sys.argv[1]](sys.argv[2], int(sys.argv[3])))
    else:
        peers.run(main())
