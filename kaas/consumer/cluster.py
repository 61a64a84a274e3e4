"""A cluster as a client sees it: addresses to begin with, its brokers, a connection to each that is used.

Job: connections by broker, and the coordinator of a group.
Rules: any bootstrap address that answers will do. Coordinator errors that pass (load in progress, not available, another
broker) come inside answers: `at_coordinator` looks after decoding and asks again until its deadline.
Errors: `Disconnected` when no address answers; KafkaError with the code of the last answer when the deadline passes.
Must not know: what a call is for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from kaas.consumer.connection import Connection, Disconnected
from kaas.errors import ErrorCode, KafkaError, error_code
from kaas.wire.apis import FIND_COORDINATOR, METADATA

T = TypeVar("T")

PASSING = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)
"""Codes after which the same question may be asked again, of the coordinator as it is then."""
PAUSE_S = 0.1


class Passing(Exception):
    """An answer said to ask again."""

    def __init__(self, code: ErrorCode) -> None:
        super().__init__(code.meaning)
        self.code = code


def parse_bootstrap(bootstrap: str) -> list[tuple[str, int]]:
    """`host:port,host:port` to pairs. Raises ValueError."""
    found = []
    for text in bootstrap.split(","):
        host, colon, port = text.strip().rpartition(":")
        if not colon or not port.isdigit():
            raise ValueError(f"{text!r} is not of the form host:port")
        found.append((host.strip("[]"), int(port)))
    return found


class Cluster:
    """`timeout_s` bounds one exchange, `deadline_s` all attempts of one call."""

    def __init__(
        self, bootstrap: str, *, client_id: str = "kaasadmin", timeout_s: float = 10.0, deadline_s: float = 30.0
    ) -> None:
        self._bootstrap = parse_bootstrap(bootstrap)
        self._client_id = client_id
        self._timeout_s = timeout_s
        self._deadline_s = deadline_s
        self._connections: dict[tuple[str, int], Connection] = {}
        self._nodes: dict[int, tuple[str, int]] = {}

    async def close(self) -> None:
        for connection in self._connections.values():
            await connection.close()
        self._connections.clear()

    async def _at(self, address: tuple[str, int]) -> Connection:
        connection = self._connections.get(address)
        if connection is None or not connection.usable:
            connection = await Connection.open(*address, client_id=self._client_id, timeout_s=self._timeout_s)
            self._connections[address] = connection
        return connection

    async def any_broker(self) -> Connection:
        """A connection to whoever answers first. Raises Disconnected."""
        problems = []
        for address in [*self._nodes.values(), *self._bootstrap]:
            try:
                return await self._at(address)
            except (OSError, TimeoutError) as problem:
                problems.append(str(problem) or type(problem).__name__)
        raise Disconnected("; ".join(dict.fromkeys(problems)))

    async def node(self, node_id: int) -> Connection:
        """A connection to one broker. Raises Disconnected."""
        if node_id not in self._nodes:
            answer = await (await self.any_broker()).call(METADATA.key, {"topics": []})
            self._nodes = {b.node_id: (b.host, b.port) for b in answer.brokers}
        if node_id not in self._nodes:
            raise Disconnected(f"broker {node_id} is not in the cluster")
        return await self._at(self._nodes[node_id])

    async def coordinator(self, key: str, kind: int = 0) -> Connection:
        """The coordinator of a group (kind 0) or transactional id (1). Raises Passing, KafkaError."""
        connection = await self.any_broker()
        values = {"key": key, "key_type": kind, "coordinator_keys": [key]}
        answer = await connection.call(FIND_COORDINATOR.key, values)
        found = answer.coordinators[0] if hasattr(answer, "coordinators") else answer
        check(error_code(found.error_code.value), getattr(found, "error_message", None))
        self._nodes[found.node_id] = (found.host, found.port)
        return await self._at((found.host, found.port))

    async def at_coordinator(self, group_id: str, ask: Callable[[Connection], Awaitable[T]]) -> T:
        """Ask the coordinator of a group; `ask` raises Passing where its answer says to ask again."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._deadline_s
        while True:
            try:
                return await ask(await self.coordinator(group_id))
            except Passing as passing:
                if loop.time() + PAUSE_S > deadline:
                    raise KafkaError(passing.code) from None
                await asyncio.sleep(PAUSE_S)


def check(code: ErrorCode, message: str | None = None) -> None:
    """Raises Passing or KafkaError for a code that is not NONE."""
    if code in PASSING:
        raise Passing(code)
    if code:
        raise KafkaError(code, message or "")
