"""From the start of the process to the first answer, and the memory of an idle broker.

    python -m benchmarks.startup [--rounds 5]

Ours is to answer within a second and to take less than 90 MB; ten thousand groups without members are to add at most 60 MB.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
from pathlib import Path

from benchmarks import load, peers
from benchmarks.listing import make, names
from benchmarks.peers import APACHE, OURS, Row, Table
from tests.support.apache import ApacheBroker
from tests.support.broker import BrokerProcess

MB = 2**20
GROUPS = 10_000


def start_both(folder: Path) -> dict[str, tuple[float, float]]:
    """Seconds to the first answer and MB when idle, of each broker alone."""
    seen = {}
    for name, broker in ((OURS, BrokerProcess(folder / OURS)), (APACHE, ApacheBroker(folder / APACHE))):
        with broker:
            seen[name] = broker.startup_s, broker.resident_bytes() / MB
    return seen


def growth_mb(folder: Path) -> float:
    """What ten thousand groups add to ours."""
    with BrokerProcess(folder) as broker:
        asyncio.run(load.prepare(broker.address))
        before = broker.resident_bytes()
        asyncio.run(make(broker.address, names(GROUPS)))
        grown_mb = (broker.resident_bytes() - before) / MB
        broker.kill()
        return grown_mb


def main() -> None:
    chosen = peers.options(__doc__)
    table = Table("Start and memory")
    table.begin()
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        rounds = [start_both(folder / str(number)) for number in range(chosen.rounds)]
        for at, (what, unit) in enumerate((("to the first answer", "s"), ("resident when idle", "MB"))):
            medians = {peer: statistics.median(seen[peer][at] for seen in rounds) for peer in (OURS, APACHE)}
            row = {"what": what, "unit": unit, "more_is_better": False}
            table.add(Row(ours=medians[OURS], apache=medians[APACHE], **row))
        print(f"{GROUPS:,} groups without members add {growth_mb(folder / 'growth'):.1f} MB to ours")


if __name__ == "__main__":
    main()
