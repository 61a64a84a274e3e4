"""Many sequences at a time, and a report.

A sequence that shows a difference is played again, alone and with patience, before that counts: brokers that were asked too
much at a time may have met two requests in another order. What does not show again is counted as unsteady, and told as well.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter

from kaas.consumer.connection import Connection
from kaas.wire.apis import CREATE_TOPICS, DESCRIBE_GROUPS, FIND_COORDINATOR, INIT_PRODUCER_ID, LIST_OFFSETS
from tests.conformance.differential.player import CLASSIC, Difference, Kind, Twins
from tests.conformance.differential.steps import OTHER_TOPIC, PARTITIONS, SESSION_MS, TOPIC

AT_A_TIME = 8
PATIENCE = 10.0
READY_S = 120.0
WARM_NAMES = tuple(f"warm-up-{n}" for n in range(200))
"""Enough to meet every partition of Apache's internal topics."""


async def prepare(address: str) -> None:
    """Topics that the broker leads, and coordinators that answer, whatever name they are asked for."""
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
    """Groups and transactions; Apache makes their internal topics on the first question, then loads their partitions."""
    asked = [{"key": "g", "key_type": kind} for kind in (0, 1)]
    if any([(await connection.call(FIND_COORDINATOR.key, values, version=2)).error_code for values in asked]):
        return False
    groups = await connection.call(DESCRIBE_GROUPS.key, {"groups": list(WARM_NAMES)}, version=5)
    if any(group.error_code for group in groups.groups):
        return False
    return not any([await _begins(connection, name) for name in WARM_NAMES])


async def _begins(connection: Connection, transactional_id: str) -> int:
    """The error code of a first request of a producer."""
    nobody = {"producer_id": -1, "producer_epoch": -1, "transaction_timeout": SESSION_MS}
    answer = await connection.call(INIT_PRODUCER_ID.key, {"transactional_id": transactional_id, **nobody}, version=3)
    return int(answer.error_code)


class Report:
    """What came of a run."""

    def __init__(self) -> None:
        self.sequences = 0
        self.steps = 0
        self.differences: list[Difference] = []
        self.unsteady: list[Difference] = []
        self.excused: Counter[str] = Counter()

    def __str__(self) -> str:
        lines = [f"{self.sequences} sequences, {self.steps} steps, {len(self.differences)} differences"]
        lines += [f"  {count:5} excused: {reason}" for reason, count in self.excused.most_common()]
        lines += [f"unsteady, not seen again: {difference}" for difference in self.unsteady]
        return "\n".join([*lines, *map(str, self.differences)])


async def compare(apache: str, ours: str, seeds: range, kind: Kind = CLASSIC, stop_after: int = 10) -> Report:
    """Play a sequence for each seed. Ends early after so many differences."""
    await asyncio.gather(prepare(apache), prepare(ours))
    report, left, run = Report(), iter(seeds), f"{time.time_ns():x}"
    doubtful: list[Difference] = []

    async def some() -> None:
        twins = Twins(apache, ours, kind)
        for seed in left:
            difference = await twins.play(seed, f"differential-{run}-{seed}")
            report.sequences += 1
            if difference is not None:
                doubtful.append(difference)
            if len(doubtful) >= stop_after:
                break
        report.steps += twins.steps
        report.excused.update(twins.excused)
        await twins.close()

    await asyncio.gather(*(some() for _ in range(AT_A_TIME)))
    await _judge(doubtful, report, Twins(apache, ours, kind, PATIENCE), run)
    return report


async def _judge(doubtful: list[Difference], report: Report, twins: Twins, run: str) -> None:
    """Play what differed once more."""
    for once in doubtful:
        again = await twins.play(once.seed, f"differential-{run}-{once.seed}-again")
        if again is None:
            report.unsteady.append(once)
        else:
            report.differences.append(again)
    await twins.close()
