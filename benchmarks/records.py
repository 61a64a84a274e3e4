"""Records written and read per second, by Kafka's own ProducerPerformance and ConsumerPerformance.

python -m benchmarks.records [--rounds 5] [--records 500000] [--size 100]
"""

from __future__ import annotations

import asyncio
import re
import subprocess
import uuid

from benchmarks import peers
from benchmarks.load import connect
from benchmarks.peers import APACHE, OURS, Peer, Row, Table
from kaas.wire.apis import CREATE_TOPICS
from tests.support.apache import java

PRODUCER = "org.apache.kafka.tools.ProducerPerformance"
CONSUMER = "org.apache.kafka.tools.ConsumerPerformance"
HEAP = ("-Xmx512m",)
PRODUCED = re.compile(r"records sent, ([0-9.]+) records/sec")
CLAIM = 0.3


async def tool(*arguments: str) -> str:
    """What a tool of Kafka's prints."""
    process = await asyncio.create_subprocess_exec(
        *java(*arguments, options=HEAP), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    told, _ = await process.communicate()
    assert process.returncode == 0, told.decode()
    return told.decode()


async def new_topic(peer: Peer, partitions: int = 4) -> str:
    topic = f"records-{uuid.uuid4().hex[:8]}"
    connection = await connect(peer.address)
    row = {"name": topic, "num_partitions": partitions, "replication_factor": 1}
    await connection.call(CREATE_TOPICS, {"topics": [row], "timeout": 10_000})
    connection.close()
    return topic


class Records:
    """One broker's topics: what was written last is what is read next."""

    def __init__(self, count: int, size: int, acks: str) -> None:
        self._count, self._size, self._acks = count, size, acks
        self._topics: dict[str, str] = {}

    async def produce(self, peer: Peer) -> float:
        """Records per second into a new topic."""
        topic = self._topics[peer.address] = await new_topic(peer)
        amount = ("--num-records", str(self._count), "--record-size", str(self._size), "--throughput", "-1")
        how = ("--producer-props", f"acks={self._acks}", f"bootstrap.servers={peer.address}")
        told = await tool(PRODUCER, "--topic", topic, *amount, *how)
        return float(PRODUCED.findall(told)[-1])

    async def consume(self, peer: Peer) -> float:
        """Records per second out of the topic that was written last, joining its group not counted."""
        where = ("--bootstrap-server", peer.address, "--topic", self._topics[peer.address])
        told = await tool(CONSUMER, *where, "--num-records", str(self._count))
        lines = [line.split(", ") for line in told.splitlines() if line.count(",") > 5]
        row = dict(zip((cell.strip() for cell in lines[0]), lines[-1], strict=False))
        assert int(row["data.consumed.in.nMsg"]) >= self._count, told
        return float(row["fetch.nMsg.sec"])


async def main() -> None:
    chosen = peers.options(__doc__, records=500_000, size=100)
    with peers.both() as brokers:
        table = Table(f"Records of {chosen.size} bytes per second, {chosen.records:,} at a time")
        table.begin()
        for acks in ("all", "1"):
            records = Records(chosen.records, chosen.size, acks)
            written = await peers.alternate(brokers, records.produce, chosen.rounds)
            row = {"unit": "/s", "claim": CLAIM}
            table.add(Row(what=f"written, acks={acks}", ours=written[OURS], apache=written[APACHE], **row))
        read = await peers.alternate(brokers, records.consume, chosen.rounds)
        table.add(Row(what="read", ours=read[OURS], apache=read[APACHE], **row))


if __name__ == "__main__":
    peers.run(main())
