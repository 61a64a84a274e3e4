"""Damaged requests against a broker, many connections at a time, and what may be seen of it.

What may come of a request: an answer that can be decoded, the end of its connection, or silence (a parked Join, a long poll).
Meanwhile a well-behaved client on a connection of its own must notice nothing.
"""

from __future__ import annotations

import asyncio
import struct
import time
import uuid
from collections import Counter
from typing import Any

from kaas.consumer.connection import Connection
from kaas.wire.apis import API_VERSIONS, APIS, HEARTBEAT, JOIN_GROUP, METADATA, SYNC_GROUP
from kaas.wire.decode import decode
from kaas.wire.schema import is_flexible
from tests.conformance.frames.mutations import Frame, Requests

CONNECTIONS = 96
PATIENCE_S = 0.5
"""A request that has no answer by then counts as parked; its connection is given up."""
BYSTANDER_S = 30.0
"""By then it is not a busy machine: the broker hangs."""
KIOS_LIMIT = "Cannot parse negative timestamp"
"""A transaction that has not begun says -1 for when it did, as Apache Kafka does; kio takes no such time."""


class BadAnswer(AssertionError):
    """The broker said something that no client can make sense of."""


def check_answer(frame: Frame, payload: bytes) -> None:
    """The answer is one to this request, and nothing follows it. Raises BadAnswer."""
    key, version = frame.key, frame.version
    if key is None or version is None or key not in APIS:
        raise BadAnswer(f"an answer to {frame.payload[:40]!r}, which is no request")
    if struct.unpack_from(">i", payload)[0] != frame.correlation_id:
        raise BadAnswer(f"API {key} in version {version}: another request's correlation id")
    if key == API_VERSIONS.key and not API_VERSIONS.serves(version):
        version = 0
    at = 5 if is_flexible(key, version) and key != API_VERSIONS.key else 4
    try:
        decode(key, version, "response", payload, at)
    except Exception as problem:
        if KIOS_LIMIT in str(problem):
            return
        raise BadAnswer(f"API {key} in version {version}: {problem}; asked {frame.payload.hex()}") from problem


class Sender(asyncio.Protocol):
    """One connection: a request, what comes of it, the next one."""

    def __init__(self, fuzzer: Fuzzer) -> None:
        self.fuzzer = fuzzer
        self.frame: Frame | None = None
        self.given_up = False
        self.sent_at = 0.0
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._data = b""
        self.transport: Any = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self._next()

    def _next(self) -> None:
        self.frame = self.fuzzer.take()
        if self.frame is None:
            self.transport.abort()
            return
        self.sent_at = time.monotonic()
        self.transport.write(self.frame.wire)

    def data_received(self, data: bytes) -> None:
        self._data += data
        if len(self._data) < 4:
            return
        size = struct.unpack_from(">i", self._data)[0]
        if len(self._data) < 4 + size:
            return
        payload, self._data = self._data[4 : 4 + size], self._data[4 + size :]
        assert self.frame is not None
        try:
            if self._data:
                raise BadAnswer(f"two answers to one request: {self.frame.payload.hex()}")
            check_answer(self.frame, payload)
        except BadAnswer as problem:
            self.fuzzer.problems.append(str(problem))
        self.fuzzer.counts["answered"] += 1
        self._next()

    def connection_lost(self, exc: Exception | None) -> None:
        if self.frame is not None:
            self.fuzzer.counts["parked" if self.given_up else "closed"] += 1
        self.ended.set_result(None)

    def give_up(self) -> None:
        """The request is parked."""
        self.given_up = True
        self.transport.abort()


class Fuzzer:
    """Sends `count` requests. `counts` says what became of them, `problems` what must not have happened."""

    def __init__(self, port: int, requests: Requests, count: int) -> None:
        self.port = port
        self.counts: Counter[str] = Counter()
        self.problems: list[str] = []
        self._requests = requests
        self._left = count
        self._senders: set[Sender] = set()

    def take(self) -> Frame | None:
        if self._left <= 0:
            return None
        self._left -= 1
        return next(self._requests)

    async def run(self) -> None:
        watching = asyncio.ensure_future(self._give_up_parked())
        await asyncio.gather(*(self._keep_sending() for _ in range(CONNECTIONS)))
        watching.cancel()

    async def _keep_sending(self) -> None:
        loop = asyncio.get_running_loop()
        while self._left > 0:
            _, sender = await loop.create_connection(lambda: Sender(self), "127.0.0.1", self.port)
            self._senders.add(sender)
            await sender.ended
            self._senders.discard(sender)

    async def _give_up_parked(self) -> None:
        while True:
            await asyncio.sleep(PATIENCE_S / 4)
            for sender in [s for s in self._senders if time.monotonic() - s.sent_at > PATIENCE_S]:
                sender.give_up()


class Bystander:
    """A member of a group who beats and looks at topics, on one connection, and must never be disturbed."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.rounds = 0
        self._group = f"bystander-{uuid.uuid4()}"
        self._who: dict[str, Any] = {}

    async def run(self, until: asyncio.Future[Any]) -> None:
        """Raises when anything is not as it should be."""
        async with await Connection.open("127.0.0.1", self.port, timeout_s=BYSTANDER_S) as connection:
            await self._join(connection)
            while not until.done():
                beat = await connection.call(HEARTBEAT.key, self._who)
                assert beat.error_code == 0, beat
                assert (await connection.call(METADATA.key, {"topics": []})).brokers
                self.rounds += 1
                await asyncio.sleep(0.02)

    async def _join(self, connection: Connection) -> None:
        values = {
            "group_id": self._group,
            "session_timeout": 10_000,
            "rebalance_timeout": 10_000,
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": b"\0\0\0\0\0\0\xff\xff\xff\xff"}],
        }
        answer = await connection.call(JOIN_GROUP.key, values, version=3)
        assert answer.error_code == 0, answer
        self._who = {"group_id": self._group, "generation_id": answer.generation_id, "member_id": answer.member_id}
        named = {"protocol_type": "consumer", "protocol_name": answer.protocol_name}
        assert (await connection.call(SYNC_GROUP.key, {**self._who, **named})).error_code == 0


async def fuzz(port: int, requests: Requests, count: int) -> Fuzzer:
    """One run with a bystander. Raises when the bystander is disturbed."""
    fuzzer, bystander = Fuzzer(port, requests, count), Bystander(port)
    running = asyncio.ensure_future(fuzzer.run())
    await bystander.run(running)
    await running
    assert bystander.rounds > 0
    return fuzzer
