"""Many sequences at a time, and a report."""

from __future__ import annotations

import asyncio
import time
from collections import Counter

from kaas.consumer.connection import Connection
from kaas.wire.apis import CREATE_TOPICS, FIND_COORDINATOR, LIST_OFFSETS
from tests.conformance.differential.player import Difference, Twins
from tests.conformance.differential.steps import OTHER_TOPIC, PARTITIONS, TOPIC

AT_A_TIME = 8
READY_S = 60.0


async def prepare(address: str) -> None:
    """Topics that both brokers lead, and a coordinator that answers."""
    host, _, port = address.rpartition(":")
    async with await Connection.open(host, int(port), timeout_s=30) as connection:
        rows = [{"name": n, "num_partitions": PARTITIONS, "replication_factor": 1} for n in (TOPIC, OTHER_TOPIC)]
        await connection.call(CREATE_TOPICS.key, {"topics": rows, "timeout": 10_000})
        deadline = time.monotonic() + READY_S
        while not (await _leads(connection) and await _coordinates(connection)):
            assert time.monotonic() < deadline, f"{address} is not ready"
            await asyncio.sleep(0.2)


async def _leads(connection: Connection) -> bool:
    partitions = [{"partition_index": p, "timestamp": -1} for p in range(PARTITIONS)]
    rows = [{"name": name, "partitions": partitions} for name in (TOPIC, OTHER_TOPIC)]
    answer = await connection.call(LIST_OFFSETS.key, {"replica_id": -1, "topics": rows}, version=7)
    return not any(p.error_code for t in answer.topics for p in t.partitions)


async def _coordinates(connection: Connection) -> bool:
    """Groups and transactions; Apache makes their internal topics on the first question."""
    asked = [{"key": "g", "key_type": kind} for kind in (0, 1)]
    return not any([(await connection.call(FIND_COORDINATOR.key, values, version=2)).error_code for values in asked])


class Report:
    """What came of a run."""

    def __init__(self) -> None:
        self.sequences = 0
        self.steps = 0
        self.differences: list[Difference] = []
        self.excused: Counter[str] = Counter()

    def __str__(self) -> str:
        lines = [f"{self.sequences} sequences, {self.steps} steps, {len(self.differences)} differences"]
        lines += [f"  {count:5} excused: {reason}" for reason, count in self.excused.most_common()]
        return "\n".join([*lines, *map(str, self.differences)])


async def compare(apache: str, ours: str, seeds: range, stop_after: int = 10) -> Report:
    """Play a sequence for each seed. Ends early after so many differences."""
    await asyncio.gather(prepare(apache), prepare(ours))
    report, left, run = Report(), iter(seeds), f"{time.time_ns():x}"

    async def some() -> None:
        twins = Twins(apache, ours)
        for seed in left:
            difference = await twins.play(seed, f"differential-{run}-{seed}")
            report.sequences += 1
            if difference is not None:
                report.differences.append(difference)
            if len(report.differences) >= stop_after:
                break
        report.steps += twins.steps
        report.excused.update(twins.excused)
        await twins.close()

    await asyncio.gather(*(some() for _ in range(AT_A_TIME)))
    return report
