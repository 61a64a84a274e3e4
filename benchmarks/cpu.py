"""Processor time per heartbeat, offset fetch and commit, and where ours spends it.

    python -m benchmarks.cpu [--rounds 5] [--seconds 3] [--connections 50] [--lines 25]

The profile comes from py-spy where that is installed, else from cProfile (which slows small functions down).
"""

from __future__ import annotations

import asyncio
import pstats
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from benchmarks import load, peers
from benchmarks.peers import APACHE, OURS, Peer, Row, Table
from tests.support.broker import BrokerProcess

WHATS = ("heartbeat", "fetch", "commit")
PROFILED_S = 4
SAMPLES_PER_S = 500
MAIN_THREAD = "MainThread"


def cpu_us(what: str, connections: int, seconds: float) -> peers.Measure:
    """Microseconds of processor time per request, all threads of the broker together."""

    async def measure(peer: Peer) -> float:
        running = asyncio.ensure_future(load.repeat(peer.address, what, connections, 1, seconds))
        await asyncio.sleep(load.WARM_UP_S)
        before_s = peer.cpu_s()
        rate = await running
        return (peer.cpu_s() - before_s) / (rate.per_second * seconds) * 1e6

    return measure


async def profiled(what: str, connections: int, lines: int) -> str:
    """Where ours spends its time while it is asked one thing."""
    with tempfile.TemporaryDirectory(prefix="profile-") as name:
        folder = Path(name)
        spy = shutil.which("py-spy", path=str(Path(sys.executable).parent)) or shutil.which("py-spy")
        if spy is None:
            return await by_cprofile(folder, what, connections, lines)
        return await by_spy(spy, folder, what, connections, lines)


async def by_spy(spy: str, folder: Path, what: str, connections: int, lines: int) -> str:
    stacks = folder / "stacks"
    with BrokerProcess(folder / "data") as broker:
        await load.prepare(broker.address)
        running = asyncio.ensure_future(load.repeat(broker.address, what, connections, 1, PROFILED_S + 2))
        await asyncio.sleep(load.WARM_UP_S + 0.5)
        how = ("--duration", str(PROFILED_S), "--rate", str(SAMPLES_PER_S), "--threads", "--format", "raw")
        record = (spy, "record", "--pid", str(broker.pid), *how, "--output", str(stacks))
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = await asyncio.create_subprocess_exec(*record, **quiet)
        await process.wait()
        await running
    return own_time(stacks.read_text(), lines)


def own_time(stacks: str, lines: int) -> str:
    """Which functions of the event loop's thread were at work when samples were taken, of stacks as py-spy writes them.

    The loop itself (waiting for sockets, reading them) shows as asyncio's runner.
    """
    seen: Counter[str] = Counter()
    for line in stacks.splitlines():
        frames, _, count = line.rpartition(" ")
        if MAIN_THREAD in frames:
            seen[frames.split(";")[-1]] += int(count)
    total = sum(seen.values()) or 1
    return "\n".join(f"  {count / total:6.1%}  {where}" for where, count in seen.most_common(lines))


async def by_cprofile(folder: Path, what: str, connections: int, lines: int) -> str:
    told = folder / "profile"
    with BrokerProcess(folder / "data", launcher=("-m", "cProfile", "-o", str(told))) as broker:
        await load.prepare(broker.address)
        await load.repeat(broker.address, what, connections, 1, PROFILED_S)
    with (folder / "text").open("w+") as text:
        pstats.Stats(str(told), stream=text).sort_stats("tottime").print_stats(lines)
        text.seek(0)
        return text.read()


async def main() -> None:
    chosen = peers.options(__doc__, seconds=3.0, connections=50, lines=25)
    with peers.both() as brokers:
        for broker in brokers.values():
            await load.prepare(broker.address)
        table = Table(f"Microseconds of processor time per request, {chosen.connections} connections")
        table.begin()
        for what in WHATS:
            measure = cpu_us(what, chosen.connections, chosen.seconds)
            medians = await peers.alternate(brokers, measure, chosen.rounds)
            table.add(Row(what=what, unit="us", ours=medians[OURS], apache=medians[APACHE], more_is_better=False))
    for what in WHATS:
        print(f"\nOurs while it answers {what}s:\n{await profiled(what, chosen.connections, chosen.lines)}")


if __name__ == "__main__":
    peers.run(main())
