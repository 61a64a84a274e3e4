"""What the tests of transactions over the wire ask again and again."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple

from kaas.wire.apis import (
    ADD_OFFSETS_TO_TXN,
    ADD_PARTITIONS_TO_TXN,
    END_TXN,
    INIT_PRODUCER_ID,
    TXN_OFFSET_COMMIT,
)
from tests.broker.handlers.groups import Joined
from tests.broker.handlers.topics import list_offset, produce
from tests.storage.log.making import batch
from tests.support.in_process import WITHIN_S

COMMITTED_ONLY, LATEST = 1, -1
BUSY = 51


class Producer(NamedTuple):
    """Who holds a transactional id, as it was told."""

    name: str
    id: int = -1
    epoch: int = -1

    @property
    def values(self) -> dict[str, Any]:
        return {"transactional_id": self.name, "producer_id": self.id, "producer_epoch": self.epoch}


async def init(
    peer: Any, name: str | None = "pay", version: int = 5, known: Producer | None = None, timeout_ms: int = 60_000
) -> tuple[int, Producer]:
    """InitProducerId: its code and who one is now."""
    named = {} if known is None else {"producer_id": known.id, "producer_epoch": known.epoch}
    values = {"transactional_id": name, "transaction_timeout": timeout_ms, **named}
    answer = await peer.ask(INIT_PRODUCER_ID, version, **{"producer_id": -1, "producer_epoch": -1, **values})
    return int(answer.error_code), Producer(name or "", answer.producer_id, answer.producer_epoch)


async def begin(peer: Any, name: str = "pay", **about: Any) -> Producer:
    """A producer that has the id, as soon as the transaction before has ended."""
    async with asyncio.timeout(WITHIN_S):
        code, producer = await init(peer, name, **about)
        while code == BUSY:
            await asyncio.sleep(0.01)
            code, producer = await init(peer, name, **about)
    assert code == 0
    return producer


async def add(peer: Any, producer: Producer, partitions: Mapping[str, list[int]], version: int = 3) -> dict[Any, int]:
    """AddPartitionsToTxn below version 4: the code of each partition."""
    topics = [{"name": name, "partitions": numbers} for name, numbers in partitions.items()]
    values = {f"v3_and_below_{name}": value for name, value in {**producer.values, "topics": topics}.items()}
    answer = await peer.ask(ADD_PARTITIONS_TO_TXN, version, **values)
    return codes_of(answer.results_by_topic_v3_and_below)


async def add_many(
    peer: Any, rows: Mapping[Producer, Mapping[str, list[int]]], version: int = 5, *, verify: bool = False
) -> dict[str, dict[Any, int]]:
    """AddPartitionsToTxn from version 4 on: by transactional id, the code of each partition."""
    transactions = [
        {
            **producer.values,
            "verify_only": verify,
            "topics": [{"name": name, "partitions": numbers} for name, numbers in partitions.items()],
        }
        for producer, partitions in rows.items()
    ]
    answer = await peer.ask(ADD_PARTITIONS_TO_TXN, version, transactions=transactions)
    assert answer.error_code == 0, answer
    return {row.transactional_id: codes_of(row.topic_results) for row in answer.results_by_transaction}


def codes_of(topics: Any) -> dict[Any, int]:
    return {
        (topic.name, row.partition_index): int(row.partition_error_code)
        for topic in topics
        for row in topic.results_by_partition
    }


async def add_group(peer: Any, producer: Producer, group: str = "g", version: int = 3) -> int:
    """The code of AddOffsetsToTxn."""
    answer = await peer.ask(ADD_OFFSETS_TO_TXN, version, **producer.values, group_id=group)
    return int(answer.error_code)


async def stage(
    peer: Any,
    producer: Producer,
    offsets: Mapping[Any, int],
    group: str = "g",
    version: int = 5,
    member: Joined | None = None,
    metadata: str | None = None,
) -> dict[Any, int]:
    """TxnOffsetCommit: the code of each partition."""
    who = {"generation_id": -1, "member_id": "", "group_instance_id": None} if member is None else member.values
    topics: dict[str, list[dict[str, Any]]] = {}
    for (topic, partition), offset in offsets.items():
        row = {"partition_index": partition, "committed_offset": offset, "committed_leader_epoch": 3}
        topics.setdefault(topic, []).append({**row, "committed_metadata": metadata})
    rows = [{"name": topic, "partitions": partitions} for topic, partitions in topics.items()]
    answer = await peer.ask(TXN_OFFSET_COMMIT, version, **{**producer.values, **who, "group_id": group}, topics=rows)
    return {(t.name, p.partition_index): int(p.error_code) for t in answer.topics for p in t.partitions}


async def end(peer: Any, producer: Producer, version: int = 5, *, committed: bool = True) -> tuple[int, Producer]:
    """EndTxn: its code and who one is now, which versions below 5 do not say."""
    answer = await peer.ask(END_TXN, version, **producer.values, committed=committed)
    told = (answer.producer_id, answer.producer_epoch) if version >= 5 else (-1, -1)
    return int(answer.error_code), Producer(producer.name, *told)


async def write(
    peer: Any, producer: Producer, topic: str, *values: str, sequence: int = 0, version: int = 12, partition: int = 0
) -> int:
    """The code of a Produce of one transactional batch."""
    data = batch(*values, producer=producer.id, epoch=producer.epoch, sequence=sequence, transactional=True)
    row = await produce(peer, topic, data, partition, version, transactional_id=producer.name)
    return int(row.error_code)


async def ends_of(peer: Any, topic: str, partition: int = 0) -> tuple[int, int]:
    """Last stable offset and end of a partition."""
    stable = await list_offset(peer, topic, LATEST, partition, isolation_level=COMMITTED_ONLY)
    whole = await list_offset(peer, topic, LATEST, partition)
    return stable.offset, whole.offset
