"""Coordinators side by side: this broker, Apache Kafka, and kfake; the table of docs/PERFORMANCE.md.

    python -m benchmarks.coordinators [--rounds 5] [--seconds 3] [--groups 10000] [--write 1]

Job: what each does per second, how long a rebalance takes by the number of members, and how many groups 100 MB hold.
Rules: one run on one machine, in turns, medians; the ratios count, absolute figures are those of the machine. Commits are on
disk when ours answers, in the page cache when Apache answers, and in memory when kfake answers. Memory is what groups add: to
the resident memory of ours and of kfake, to the live heap of Apache after a full collection.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import platform
import subprocess
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks import load, peers, requests
from benchmarks.kfake import KfakeBroker
from benchmarks.listing import make, names
from benchmarks.peers import APACHE, OURS, Peer, shown
from benchmarks.rebalance_time import MEMBERS, medians_ms
from tests.support.apache import ApacheBroker

KFAKE = "kfake"
PAGE = Path(__file__).parents[1] / "docs" / "PERFORMANCE.md"
BEGIN, END = "<!-- the table begins -->", "<!-- the table ends -->"
RATES = (
    ("heartbeat", 50, 1),
    ("heartbeat", 400, 1),
    ("fetch", 50, 1),
    ("fetch", 50, 20),
    ("commit", 50, 1),
    ("commit", 50, 20),
    ("commit", 400, 1),
    ("commit", 400, 20),
)
"""What, connections, partitions."""
NAMES = {"heartbeat": "heartbeats", "fetch": "offset fetches", "commit": "commits"}
MB = 2**20
GROUPS_PER_MB = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A row of the table; a value by peer. `more_is_better` decides which way the ratios go."""

    what: str
    unit: str
    values: Mapping[str, float]
    more_is_better: bool = True

    def ratio(self, peer: str) -> float:
        """Above 1, ours is better."""
        ours, theirs = self.values[OURS], self.values[peer]
        return ours / theirs if self.more_is_better else theirs / ours

    def __str__(self) -> str:
        cells = [f"{shown(self.values[peer])}{self.unit}" for peer in (OURS, APACHE, KFAKE)]
        return "| " + " | ".join([self.what, *cells, *(f"{self.ratio(peer):.2f}" for peer in (APACHE, KFAKE))]) + " |"


@contextlib.contextmanager
def all_three() -> Iterator[dict[str, Peer]]:
    with peers.both() as brokers, KfakeBroker() as kfake:
        yield {**brokers, KFAKE: kfake}


def held_bytes(peer: Peer) -> int:
    """Memory in use, as the rules above say."""
    if isinstance(peer, ApacheBroker):
        command = [
            "jcmd",
            str(peer.pid),
            "GC.class_histogram",
        ]  # collects first, and ends with the total of live objects
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return int(told.split("Total")[1].split()[1])
    return peer.held_bytes() if isinstance(peer, KfakeBroker) else peer.resident_bytes()


async def rates(brokers: Mapping[str, Peer], rounds: int, seconds: float) -> list[Line]:
    lines = []
    for what, connections, partitions in RATES:
        medians = await peers.alternate(brokers, requests.one(what, connections, partitions, seconds), rounds)
        told = f"{NAMES[what]}, {connections} connections, {partitions} partition{'s' * (partitions > 1)}"
        lines.append(told_of(Line(what=told, unit="/s", values=medians)))
    return lines


async def rebalances(brokers: Mapping[str, Peer], rounds: int) -> list[Line]:
    lines = []
    for members in MEMBERS:
        medians = await medians_ms(brokers, members, rounds)
        told = f"rebalance of {members:,} member{'s' * (members > 1)}"
        lines.append(told_of(Line(what=told, unit=" ms", values=medians, more_is_better=False)))
    return lines


async def memory(brokers: Mapping[str, Peer], count: int) -> list[Line]:
    """How many groups 100 MB hold, of those without members and of those with one."""
    lines = []
    for what, fill in (("with one committed offset", simple_groups), ("with one member", live_groups)):
        held = {}
        for name, broker in brokers.items():
            before = held_bytes(broker)
            await fill(broker.address, count)
            grown_mb = max(held_bytes(broker) - before, MB) / MB
            held[name] = count / grown_mb * GROUPS_PER_MB
        lines.append(told_of(Line(what=f"groups {what} per {GROUPS_PER_MB} MB", unit="", values=held)))
    return lines


async def simple_groups(address: str, count: int) -> None:
    await make(address, names(count))


async def live_groups(address: str, count: int) -> None:
    """Members of many groups share a connection, as no client would do, so that connections are not what is measured."""
    connections = await load.connect_many(address, 16)
    run = uuid.uuid4().hex[:6]

    async def some(connection: load.Connection, numbers: range) -> None:
        for number in numbers:
            group = f"live-{run}-{number:06d}"
            assert await load.sync(connection, group, await load.join(connection, group)) == 0

    await asyncio.gather(*(some(one, range(at, count, len(connections))) for at, one in enumerate(connections)))
    for connection in connections:
        connection.close()


def told_of(line: Line) -> Line:
    print(line, flush=True)
    return line


def heading() -> list[str]:
    load_now = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    machine = (
        f"{os.cpu_count()} processors, Linux {platform.release().split('-')[0]}, Python {platform.python_version()}"
    )
    return [
        f"Measured on {machine}; load average before it began: {load_now}.",
        "",
        "| | kaasadmin | Apache Kafka | kfake | ratio to Apache | ratio to kfake |",
        "|---|---:|---:|---:|---:|---:|",
    ]


def write(lines: list[str]) -> None:
    """Put the table into its page."""
    before, rest = PAGE.read_text().split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n{chr(10).join(lines)}\n{END}{after}")


async def main() -> None:
    chosen = peers.options(__doc__, seconds=3.0, groups=10_000, write=0)
    said = heading()
    print("\n".join(said), flush=True)
    with all_three() as brokers:
        for broker in brokers.values():
            await load.prepare(broker.address)
        lines = await memory(brokers, chosen.groups)
        peers.kill_ours(brokers)
    with all_three() as brokers:
        for broker in brokers.values():
            await load.prepare(broker.address)
        lines = await rates(brokers, chosen.rounds, chosen.seconds) + await rebalances(brokers, chosen.rounds) + lines
        peers.kill_ours(brokers)
    if chosen.write:
        write([*said, *map(str, lines)])


if __name__ == "__main__":
    peers.run(main())
