"""What the tests of topics over the wire ask again and again."""

from __future__ import annotations

from typing import Any

from kaas.wire.apis import CREATE_TOPICS, FETCH, LIST_OFFSETS, METADATA, PRODUCE
from tests.storage.log.making import seen

LOTS = 10**6


async def create(peer: Any, name: str, partitions: int = 1, **configs: str) -> Any:
    """Makes a topic: its id."""
    settings = [{"name": key.replace("_", "."), "value": value} for key, value in configs.items()]
    row = {"name": name, "num_partitions": partitions, "replication_factor": 1, "configs": settings}
    answer = await peer.ask(CREATE_TOPICS, 7, topics=[row])
    assert answer.topics[0].error_code == 0, answer
    return answer.topics[0].topic_id


async def produce(peer: Any, topic: Any, data: bytes | None, partition: int = 0, version: int = 9, **more: Any) -> Any:
    """The row of one partition; from version 13 on `topic` is an id."""
    answer = await peer.ask(PRODUCE, version, **produce_values(topic, data, partition, **more))
    return answer.responses[0].partition_responses[0]


def produce_values(topic: Any, data: bytes | None, partition: int = 0, acks: int = -1, **more: Any) -> dict[str, Any]:
    rows = [{"name": topic, "topic_id": topic, "partition_data": [{"index": partition, "records": data}]}]
    return {"acks": acks, "timeout": 5000, "topic_data": rows, **more}


def fetch_values(topic: Any, offset: int = 0, partition: int = 0, **more: Any) -> dict[str, Any]:
    row = {"partition": partition, "current_leader_epoch": -1, "fetch_offset": offset, "partition_max_bytes": LOTS}
    row |= {key: more.pop(key) for key in ("partition_max_bytes", "current_leader_epoch") if key in more}
    rows = [{"topic": topic, "topic_id": topic, "partitions": [row]}]
    return {"max_wait": 0, "min_bytes": 1, "max_bytes": LOTS, "topics": rows, **more}


async def fetch(peer: Any, topic: Any, offset: int = 0, version: int = 11, **more: Any) -> Any:
    """The row of one partition; from version 13 on `topic` is an id."""
    answer = await peer.ask(FETCH, version, **fetch_values(topic, offset, **more))
    return answer.responses[0].partitions[0]


def values(row: Any) -> list[tuple[int, str]]:
    """(offset, value) of the records of a fetched partition."""
    return seen([bytes(row.records or b"")])


async def list_offset(peer: Any, topic: str, timestamp: int, partition: int = 0, version: int = 11, **more: Any) -> Any:
    """The row of one partition."""
    row = {"partition_index": partition, "timestamp": timestamp, "current_leader_epoch": -1}
    row |= {key: more.pop(key) for key in ("current_leader_epoch",) if key in more}
    answer = await peer.ask(LIST_OFFSETS, version, topics=[{"name": topic, "partitions": [row]}], **more)
    return answer.topics[0].partitions[0]


async def described(peer: Any, name: str, version: int = 12) -> Any:
    """The topic in a Metadata answer; it is not created."""
    answer = await peer.ask(METADATA, version, topics=[{"name": name}], allow_auto_topic_creation=False)
    return answer.topics[0]
