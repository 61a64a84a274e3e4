"""A producer in transactions that will see its broker die in the midst of one.

Each transaction writes a record and commits an offset of a group; some are aborted. What was committed and acknowledged must be
there, both parts or neither; what was aborted, or open when the broker died, must never be seen. Only the end of a transaction
that was asked for and not acknowledged may have gone either way.
"""

from __future__ import annotations

import asyncio
import random
from typing import Any

from kaas.consumer.connection import Connection
from kaas.wire.apis import (
    ADD_OFFSETS_TO_TXN,
    ADD_PARTITIONS_TO_TXN,
    CREATE_TOPICS,
    END_TXN,
    FETCH,
    INIT_PRODUCER_ID,
    PRODUCE,
    TXN_OFFSET_COMMIT,
)
from tests.conformance.oracle.records import CONTROL, TRANSACTIONAL, Batch, Producer, batch, parse
from tests.crash.actors import TOPIC, Actor, committed

BUSY = 51
PAUSE_S = 0.005
LOTS = 2**30


class Transactor(Actor):
    """`known` are the numbers of the transactions that were committed, `maybe` the one whose commit has no answer."""

    def __init__(self, name: str, dice: random.Random) -> None:
        self.name = f"transactor-{name}"
        self.group = f"group-of-{self.name}"
        self.topic = f"topic-of-{self.name}"
        self.known: list[int] = []
        self.maybe: int | None = None
        self.aborted = 0
        self._dice = dice
        self._next = 1
        self._producer = Producer()
        self._sequence = 0

    async def _begin(self, connection: Connection) -> None:
        """Take the transactional id over, which ends what an earlier life left open."""
        row = {"name": self.topic, "num_partitions": 1, "replication_factor": 1}
        await connection.call(CREATE_TOPICS.key, {"topics": [row], "timeout": 10_000})
        values = {"transactional_id": self.name, "transaction_timeout": 60_000, "producer_id": -1, "producer_epoch": -1}
        answer = await patiently(connection, INIT_PRODUCER_ID.key, values, 4)
        self._producer, self._sequence = Producer(answer.producer_id, answer.producer_epoch), 0

    async def _step(self, connection: Connection) -> None:
        number, self._next = self._next, self._next + 1
        commits = self._dice.random() < 0.7
        await self._add(connection)
        parts = [self._write, self._stage]
        self._dice.shuffle(parts)
        for part in parts:
            await part(connection, number)
        if commits:
            self.maybe = number
        answer = await connection.call(END_TXN.key, {**self._who, "committed": commits}, version=3)
        assert answer.error_code == 0, answer
        if commits:
            self.known.append(number)
        self.maybe = None
        self.aborted += not commits

    @property
    def _who(self) -> dict[str, Any]:
        producer = {"producer_id": self._producer.id, "producer_epoch": self._producer.epoch}
        return {"transactional_id": self.name, **producer}

    async def _add(self, connection: Connection) -> None:
        old = {f"v3_and_below_{name}": value for name, value in self._who.items()}
        topics = [{"name": self.topic, "partitions": [0]}]
        values = {**old, "v3_and_below_topics": topics}
        while True:
            answer = await connection.call(ADD_PARTITIONS_TO_TXN.key, values, version=3)
            (row,) = answer.results_by_topic_v3_and_below[0].results_by_partition
            if row.partition_error_code != BUSY:
                break
            await asyncio.sleep(PAUSE_S)
        assert row.partition_error_code == 0, answer
        await patiently(connection, ADD_OFFSETS_TO_TXN.key, {**self._who, "group_id": self.group}, 3)

    async def _write(self, connection: Connection, number: int) -> None:
        how = {"producer": self._producer, "sequence": self._sequence, "attributes": TRANSACTIONAL}
        self._sequence += 1
        data = [{"index": 0, "records": batch(str(number), **how)}]
        rows = [{"name": self.topic, "partition_data": data}]
        values = {"transactional_id": self.name, "acks": -1, "timeout": 10_000, "topic_data": rows}
        answer = await connection.call(PRODUCE.key, values, version=9)
        assert answer.responses[0].partition_responses[0].error_code == 0, answer

    async def _stage(self, connection: Connection, number: int) -> None:
        row = {"partition_index": 0, "committed_offset": number, "committed_metadata": ""}
        topics = [{"name": TOPIC, "partitions": [row]}]
        who = {"generation_id": -1, "member_id": "", "group_id": self.group}
        answer = await connection.call(TXN_OFFSET_COMMIT.key, {**self._who, **who, "topics": topics}, version=3)
        assert answer.topics[0].partitions[0].error_code == 0, answer

    async def check(self, connection: Connection) -> None:
        """Nothing acknowledged is lost, nothing else appears, and records and offset tell the same."""
        await self._begin(connection)
        records = await self._read_committed(connection)
        assert records in (self.known, [*self.known, self.maybe]), f"{records}, not {self.known} (or {self.maybe} too)"
        offsets = await committed(connection, self.group)
        assert offsets == ({0: records[-1]} if records else {}), f"{offsets} beside records {records[-3:]}"
        self.known, self.maybe = records, None

    async def _read_committed(self, connection: Connection) -> list[int]:
        """The numbers in the log, by the markers of their transactions, up to the last stable offset."""
        seen: list[int] = []
        open_batches: dict[int, list[Batch]] = {}
        row = {"partition": 0, "current_leader_epoch": -1, "fetch_offset": 0, "partition_max_bytes": LOTS}
        topics = [{"topic": self.topic, "partitions": [row]}]
        values = {"max_wait": 0, "min_bytes": 0, "max_bytes": LOTS, "isolation_level": 1, "topics": topics}
        answer = await connection.call(FETCH.key, values, version=11)
        partition = answer.responses[0].partitions[0]
        assert partition.last_stable_offset == partition.high_watermark, "a transaction hangs"
        for one in parse(partition.records):
            if not one.attributes & CONTROL:
                open_batches.setdefault(one.producer.id, []).append(one)
                continue
            ended = open_batches.pop(one.producer.id, [])
            if one.records[0][2] == COMMIT_MARKER:
                seen += [int(record[3]) for data in ended for record in data.records]
        assert not open_batches, "records of a transaction that has no end"
        return seen


COMMIT_MARKER = b"\0\0\0\1"
"""The key of the control record that ends a transaction well."""


async def patiently(connection: Connection, key: int, values: dict[str, Any], version: int) -> Any:
    """The first answer that does not say that the transaction before is still being ended."""
    while True:
        answer = await connection.call(key, values, version=version)
        if answer.error_code != BUSY:
            assert answer.error_code == 0, answer
            return answer
        await asyncio.sleep(PAUSE_S)
