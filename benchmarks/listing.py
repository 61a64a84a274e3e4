"""Ten thousand groups: the time to make them by commits, to list them, and to describe them all.

python -m benchmarks.listing [--rounds 5] [--groups 10000]
"""

from __future__ import annotations

import asyncio
import time

from benchmarks import load, peers
from benchmarks.load import Connection, Member, connect, connect_many, frame
from benchmarks.peers import APACHE, OURS, Peer, Row, Table
from kaas.wire.apis import DESCRIBE_GROUPS, LIST_GROUPS

MAKERS = 16
DESCRIBED_AT_ONCE = 500
VERSIONS = {LIST_GROUPS: 2, DESCRIBE_GROUPS: 4}


def names(count: int) -> list[str]:
    return [f"simple-{number:06d}" for number in range(count)]


async def make(address: str, groups: list[str]) -> float:
    """Commit once for each group, as nobody; seconds."""
    connections = await connect_many(address, MAKERS)

    async def some(connection: Connection, mine: list[str]) -> None:
        for group in mine:
            await connection.ask(load.commit_of(Member(connection=connection, group=group, id="", generation=-1), 1))

    began = time.perf_counter()
    await asyncio.gather(*(some(one, groups[number::MAKERS]) for number, one in enumerate(connections)))
    for connection in connections:
        connection.close()
    return time.perf_counter() - began


async def list_ms(peer: Peer) -> float:
    """ListGroups, without reading the answer."""
    connection = await connect(peer.address)
    began = time.perf_counter()
    await connection.ask(frame(LIST_GROUPS, {}))
    elapsed_s = time.perf_counter() - began
    connection.close()
    return elapsed_s * 1_000


def describe_all(groups: list[str]) -> peers.Measure:
    asked = [groups[at : at + DESCRIBED_AT_ONCE] for at in range(0, len(groups), DESCRIBED_AT_ONCE)]
    frames = [frame(DESCRIBE_GROUPS, {"groups": some}) for some in asked]

    async def describe_ms(peer: Peer) -> float:
        connection = await connect(peer.address)
        began = time.perf_counter()
        for data in frames:
            await connection.ask(data)
        elapsed_s = time.perf_counter() - began
        connection.close()
        return elapsed_s * 1_000

    return describe_ms


async def main() -> None:
    chosen = peers.options(__doc__, groups=10_000)
    groups = names(chosen.groups)
    load.VERSIONS.update(VERSIONS)
    with peers.both() as brokers:
        table = Table(f"{chosen.groups:,} groups")
        table.begin()
        took = {}
        for name, broker in brokers.items():
            await load.prepare(broker.address)
            took[name] = await make(broker.address, groups)
        table.add(
            Row(what="made by one commit each", unit="s", ours=took[OURS], apache=took[APACHE], more_is_better=False)
        )
        for what, measure in (("listed", list_ms), ("described, 500 at a time", describe_all(groups))):
            medians = await peers.alternate(brokers, measure, chosen.rounds)
            row = {"unit": "ms", "more_is_better": False, "claim": 0.5}
            table.add(Row(what=what, ours=medians[OURS], apache=medians[APACHE], **row))
        peers.kill_ours(brokers)


if __name__ == "__main__":
    peers.run(main())
