"""Load on any Kafka coordinator, in raw frames, so that every broker is measured the same way.

Job: members of groups, each on a connection of its own, that ask the same thing again and again with one request in flight.
Rules: frames are encoded once, before the clock runs; answers are checked by the bytes of their error code only, so that the
generator costs the same whatever it talks to. What a group's members do otherwise stands in benchmarks/rebalancing.py.
Must not know: which broker it talks to.
"""

from __future__ import annotations

import asyncio
import struct
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kaas.wire.apis import (
    CONSUMER_GROUP_HEARTBEAT,
    CREATE_TOPICS,
    FIND_COORDINATOR,
    HEARTBEAT,
    JOIN_GROUP,
    LIST_OFFSETS,
    OFFSET_COMMIT,
    OFFSET_FETCH,
    SYNC_GROUP,
    Api,
)
from kaas.wire.decode import decode
from kaas.wire.encode import encode_request
from kaas.wire.schema import is_flexible
from tests.support.heartbeats import STEADY

TOPIC = "bench"
CLIENT = b"bench"
SUBSCRIPTION = b"\0\0\0\0\0\1\0\5bench\xff\xff\xff\xff"
ASSIGNMENT = b"\0\0\0\0\0\0\xff\xff\xff\xff"
VERSIONS = {
    CREATE_TOPICS: 4,
    FIND_COORDINATOR: 2,
    JOIN_GROUP: 5,
    SYNC_GROUP: 3,
    HEARTBEAT: 3,
    OFFSET_COMMIT: 7,
    OFFSET_FETCH: 5,
    LIST_OFFSETS: 2,
}
"""What is asked in: the last versions before compact encodings, which every broker serves."""
WARM_UP_S = 1.0
SAMPLE_EVERY = 16
"""One answer in so many has its latency noted."""
READY_S = 60.0
AT_ONCE = 200
MEMBER_ID_REQUIRED = 79


def version_of(api: Api) -> int:
    return VERSIONS.get(api, api.max_version)


def frame(api: Api, values: dict[str, Any]) -> bytes:
    """A whole request."""
    version = version_of(api)
    head = struct.pack(">hhih", api.key, version, 7, len(CLIENT)) + CLIENT + b"\0" * is_flexible(api.key, version)
    body = encode_request(api.key, version, values)
    return struct.pack(">i", len(head) + len(body)) + head + body


class Connection(asyncio.Protocol):
    """One connection with one request in flight. `count` and `errors` grow while it repeats a frame; latencies are seconds."""

    def __init__(self) -> None:
        self.count = 0
        self.errors = 0
        self.latencies_s: list[float] = []
        self.transport: Any = None
        self._buffer = b""
        self._waiter: asyncio.Future[bytes] | None = None
        self._repeated: bytes | None = None
        self._failed: Callable[[bytes], bool] = bool
        self._sent = 0.0

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(ConnectionError(f"closed: {exc}"))

    def data_received(self, data: bytes) -> None:
        buffer = self._buffer + data if self._buffer else data
        while len(buffer) >= 4:
            end = 4 + struct.unpack_from(">i", buffer)[0]
            if len(buffer) < end:
                break
            self._answered(buffer[8:end])
            buffer = buffer[end:]
        self._buffer = buffer

    def _answered(self, body: bytes) -> None:
        if self._repeated is not None:
            now = time.perf_counter()
            self.count += 1
            if self.count % SAMPLE_EVERY == 0:
                self.latencies_s.append(now - self._sent)
            if self._failed(body):
                self.errors += 1
            self._sent = now
            self.transport.write(self._repeated)
        elif self._waiter is not None:
            waiter, self._waiter = self._waiter, None
            if not waiter.done():
                waiter.set_result(body)

    async def ask(self, data: bytes) -> bytes:
        """The body of the answer to a frame."""
        self._waiter = asyncio.get_running_loop().create_future()
        self.transport.write(data)
        return await self._waiter

    async def call(self, api: Api, values: dict[str, Any]) -> Any:
        """The decoded answer."""
        body = await self.ask(frame(api, values))
        version = version_of(api)
        return decode(api.key, version, "response", body, 1 if is_flexible(api.key, version) else 0)

    def repeat(self, data: bytes, failed: Callable[[bytes], bool]) -> None:
        """Send this again and again; `failed` looks at the body of each answer."""
        self._repeated, self._failed, self._sent = data, failed, time.perf_counter()
        self.transport.write(data)

    def forget(self) -> None:
        """The measurement begins here."""
        self.count = self.errors = 0
        self.latencies_s = []

    def close(self) -> None:
        self._repeated = None
        self.transport.abort()


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A member of a Stable group, and its connection."""

    connection: Connection
    group: str
    id: str
    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """What a loop measured. `errors` must be 0 for the rest to count."""

    per_second: float
    errors: int
    p50_ms: float
    p99_ms: float


async def connect(address: str) -> Connection:
    host, port = address.rsplit(":", 1)
    _, connection = await asyncio.get_running_loop().create_connection(Connection, host, int(port))
    return connection


async def connect_many(address: str, count: int) -> list[Connection]:
    made: list[Connection] = []
    while len(made) < count:
        made += await asyncio.gather(*(connect(address) for _ in range(min(AT_ONCE, count - len(made)))))
    return made


async def prepare(address: str, partitions: int = 20) -> None:
    """The topic, led by the broker, and a coordinator that answers."""
    connection = await connect(address)
    row = {"name": TOPIC, "num_partitions": partitions, "replication_factor": 1}
    await connection.call(CREATE_TOPICS, {"topics": [row], "timeout": 10_000})
    deadline = time.monotonic() + READY_S
    while not (await _leads(connection, partitions) and await _coordinates(connection)):
        assert time.monotonic() < deadline, f"{address} is not ready"
        await asyncio.sleep(0.2)
    connection.close()


async def _leads(connection: Connection, partitions: int) -> bool:
    rows = [{"partition_index": p, "timestamp": -1} for p in range(partitions)]
    topics = [{"name": TOPIC, "partitions": rows}]
    answer = await connection.call(LIST_OFFSETS, {"replica_id": -1, "topics": topics})
    return not any(row.error_code for topic in answer.topics for row in topic.partitions)


async def _coordinates(connection: Connection) -> bool:
    return not (await connection.call(FIND_COORDINATOR, {"key": "g", "key_type": 0})).error_code


def join_values(group: str, member_id: str) -> dict[str, Any]:
    return {
        "group_id": group,
        "member_id": member_id,
        "session_timeout": 45_000,
        "rebalance_timeout": 60_000,
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": SUBSCRIPTION}],
    }


async def join(connection: Connection, group: str, member_id: str = "") -> Any:
    """The answer to a Join that was taken."""
    answer = await connection.call(JOIN_GROUP, join_values(group, member_id))
    if answer.error_code == MEMBER_ID_REQUIRED:
        answer = await connection.call(JOIN_GROUP, join_values(group, answer.member_id))
    assert not answer.error_code, answer
    return answer


async def sync(connection: Connection, group: str, joined: Any) -> int:
    """The code of a Sync; the leader hands out empty assignments."""
    rows = [{"member_id": row.member_id, "assignment": ASSIGNMENT} for row in joined.members]
    who = {"group_id": group, "generation_id": joined.generation_id, "member_id": joined.member_id}
    return int((await connection.call(SYNC_GROUP, {**who, "assignments": rows})).error_code)


async def lone_members(address: str, count: int) -> list[Member]:
    """So many groups of one member."""

    async def one(connection: Connection, group: str) -> Member:
        joined = await join(connection, group)
        assert await sync(connection, group, joined) == 0
        return Member(connection=connection, group=group, id=joined.member_id, generation=joined.generation_id)

    return await each_in_a_group(address, count, one)


async def lone_consumers(address: str, count: int) -> list[Member]:
    """So many consumer groups (KIP-848) of one member; its generation is its epoch."""

    async def one(connection: Connection, group: str) -> Member:
        first = {"rebalance_timeout": 60_000, "subscribed_topic_names": [TOPIC], "topic_partitions": []}
        who = {"group_id": group, "member_id": str(uuid.uuid4()), "member_epoch": 0}
        answer = await connection.call(CONSUMER_GROUP_HEARTBEAT, {**STEADY, **who, **first})
        assert not answer.error_code, answer
        return Member(connection=connection, group=group, id=answer.member_id, generation=answer.member_epoch)

    return await each_in_a_group(address, count, one)


async def each_in_a_group(
    address: str, count: int, one: Callable[[Connection, str], Awaitable[Member]]
) -> list[Member]:
    """So many members, each made by `one` on a connection and in a group of its own."""
    run = uuid.uuid4().hex[:6]
    connections = await connect_many(address, count)
    made: list[Member] = []
    for start in range(0, count, AT_ONCE):
        some = range(start, min(start + AT_ONCE, count))
        made += await asyncio.gather(*(one(connections[number], f"bench-{run}-{number}") for number in some))
    return made


def heartbeat_of(member: Member, partitions: int) -> bytes:
    who = {"group_id": member.group, "generation_id": member.generation, "member_id": member.id}
    return frame(HEARTBEAT, who)


def consumer_heartbeat_of(member: Member, partitions: int) -> bytes:
    who = {"group_id": member.group, "member_id": member.id, "member_epoch": member.generation}
    return frame(CONSUMER_GROUP_HEARTBEAT, {**STEADY, **who})


def commit_of(member: Member, partitions: int) -> bytes:
    rows = [{"partition_index": p, "committed_offset": 42, "committed_metadata": ""} for p in range(partitions)]
    who = {"generation_id_or_member_epoch": member.generation, "member_id": member.id}
    topics = [{"name": TOPIC, "partitions": rows}]
    return frame(OFFSET_COMMIT, {"group_id": member.group, **who, "topics": topics})


def fetch_of(member: Member, partitions: int) -> bytes:
    topics = [{"name": TOPIC, "partition_indexes": list(range(partitions))}]
    return frame(OFFSET_FETCH, {"group_id": member.group, "topics": topics})


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """What may be repeated: by whom, how the frame is made, and where in the answer an error code stands."""

    members: Callable[[str, int], Awaitable[list[Member]]] = lone_members
    make: Callable[[Member, int], bytes]
    failed: Callable[[bytes], bool]


LOOPS: dict[str, Loop] = {
    "heartbeat": Loop(make=heartbeat_of, failed=lambda body: body[4:6] != b"\0\0"),
    "consumer heartbeat": Loop(
        members=lone_consumers, make=consumer_heartbeat_of, failed=lambda body: body[5:7] != b"\0\0"
    ),
    "commit": Loop(make=commit_of, failed=lambda body: body[-2:] != b"\0\0"),
    "fetch": Loop(make=fetch_of, failed=lambda body: body[-2:] != b"\0\0"),
}
"""By name."""


async def repeat(address: str, what: str, connections: int, partitions: int, seconds: float) -> Rate:
    """So many connections ask the same thing again and again for so long."""
    loop = LOOPS[what]
    members = await loop.members(address, connections)
    for member in members:
        member.connection.repeat(loop.make(member, partitions), loop.failed)
    await asyncio.sleep(WARM_UP_S)
    rate = await measure([member.connection for member in members], seconds)
    for member in members:
        member.connection.close()
    return rate


async def measure(connections: Sequence[Connection], seconds: float) -> Rate:
    """What connections that are busy do from now on for so long."""
    for connection in connections:
        connection.forget()
    began = time.perf_counter()
    await asyncio.sleep(seconds)
    elapsed_s = time.perf_counter() - began
    latencies_s = sorted(latency for connection in connections for latency in connection.latencies_s)
    return Rate(
        per_second=sum(connection.count for connection in connections) / elapsed_s,
        errors=sum(connection.errors for connection in connections),
        p50_ms=quantile(latencies_s, 0.5) * 1_000,
        p99_ms=quantile(latencies_s, 0.99) * 1_000,
    )


def quantile(ordered: Sequence[float], share: float) -> float:
    """0 of nothing."""
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0
