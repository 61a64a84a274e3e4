"""Heartbeats of both protocols, offset fetches and commits per second, on 50 and 400 connections with one request in flight.

    python -m benchmarks.requests [--rounds 5] [--seconds 3]

Ours answers a commit when it is on disk; Apache, with one replica, when it is in the page cache.
"""

from __future__ import annotations

from benchmarks import load, peers
from benchmarks.peers import APACHE, OURS, Peer, Row, Table

CASES = (
    ("heartbeat", 50, 1, 0.9),
    ("heartbeat", 400, 1, 0.9),
    ("consumer heartbeat", 50, 1, 0.9),
    ("consumer heartbeat", 400, 1, 0.9),
    ("fetch", 50, 1, 0.9),
    ("fetch", 50, 20, 0.9),
    ("fetch", 400, 1, 0.9),
    ("commit", 50, 1, 0.6),
    ("commit", 50, 20, 0.6),
    ("commit", 400, 1, 0.9),
    ("commit", 400, 20, 0.9),
)
"""What, connections, partitions, and the ratio that is claimed."""


def one(what: str, connections: int, partitions: int, seconds: float) -> peers.Measure:
    async def measure(peer: Peer) -> float:
        rate = await load.repeat(peer.address, what, connections, partitions, seconds)
        assert rate.errors == 0, f"{rate.errors} errors"
        return rate.per_second

    return measure


async def main() -> None:
    chosen = peers.options(__doc__, seconds=3.0)
    with peers.both() as brokers:
        for broker in brokers.values():
            await load.prepare(broker.address)
        table = Table("Requests per second")
        table.begin()
        for what, connections, partitions, claim in CASES:
            measure = one(what, connections, partitions, chosen.seconds)
            medians = await peers.alternate(brokers, measure, chosen.rounds)
            told = f"{what}, {connections} connections, {partitions} partition{'s' * (partitions > 1)}"
            table.add(Row(what=told, unit="/s", ours=medians[OURS], apache=medians[APACHE], claim=claim))


if __name__ == "__main__":
    peers.run(main())
