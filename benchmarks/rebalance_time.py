"""Time of a rebalance by the number of members: the leader rejoins, all others follow, until everybody is synced.

python -m benchmarks.rebalance_time [--rounds 5] [--most 2000]
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping

from benchmarks import load, peers
from benchmarks.peers import APACHE, OURS, Peer, Row, Table
from benchmarks.rebalancing import BigGroup

MEMBERS = (1, 10, 100, 500, 1_000, 2_000)
CLAIMED = {100: 1.0, 1_000: 1.0}
IN_A_ROW = 3
"""A rebalance is over in milliseconds, and one may meet with anything: a round is the median of so many."""


async def medians_ms(brokers: Mapping[str, Peer], members: int, rounds: int) -> dict[str, float]:
    """The median time of each broker with a group of so many members."""
    groups = {broker.address: await BigGroup.gather(broker.address, members) for broker in brokers.values()}

    async def measure(peer: Peer) -> float:
        return statistics.median([await groups[peer.address].rebalance_ms() for _ in range(IN_A_ROW)])

    medians = await peers.alternate(brokers, measure, rounds)
    for group in groups.values():
        group.close()
    return medians


async def main() -> None:
    chosen = peers.options(__doc__, most=MEMBERS[-1])
    with peers.both() as brokers:
        for broker in brokers.values():
            await load.prepare(broker.address)
        table = Table("Milliseconds of a rebalance")
        table.begin()
        for members in [count for count in MEMBERS if count <= chosen.most]:
            medians = await medians_ms(brokers, members, chosen.rounds)
            row = {"unit": "ms", "more_is_better": False, "claim": CLAIMED.get(members)}
            table.add(Row(what=f"{members} members", ours=medians[OURS], apache=medians[APACHE], **row))


if __name__ == "__main__":
    peers.run(main())
