"""One group with many members, and the time until all of them are synced again after its leader rejoins."""

from __future__ import annotations

import asyncio
import time
import uuid
from typing import Any

from benchmarks.load import Connection, connect_many, join, sync
from kaas.wire.apis import HEARTBEAT

LOOK_AGAIN_S = 0.1


class Settling:
    """Members that act on their own until one generation has all of them, synced."""

    def __init__(self, group: str, connections: list[Connection], joined: list[Any] | None = None) -> None:
        self.group = group
        self.connections = connections
        self.joined: list[Any] = list(joined or [None] * len(connections))
        self._synced: dict[int, int] = {}
        self._full: int | None = None
        self._done = asyncio.Event()

    async def member(self, number: int, member_id: str = "") -> None:
        """One member: join, sync, beat, and again while the group does not hold everybody."""
        connection = self.connections[number]
        while True:
            answer = await join(connection, self.group, member_id)
            member_id = answer.member_id
            if answer.leader == member_id and len(answer.members) == len(self.connections):
                self._full = answer.generation_id
            if await sync(connection, self.group, answer) == 0:
                self.joined[number] = answer
                self._count(answer.generation_id)
                if await self._stays(number):
                    return

    def _count(self, generation: int) -> None:
        self._synced[generation] = self._synced.get(generation, 0) + 1
        if self._full is not None and self._synced.get(self._full) == len(self.connections):
            self._done.set()

    async def _stays(self, number: int) -> bool:
        """Whether this member is through; it is not when its group rebalances."""
        while not self._done.is_set():
            if self.joined[number].generation_id == self._full:
                return True
            await asyncio.sleep(LOOK_AGAIN_S)
            if await self.beat(number):
                return False
        return True

    async def beat(self, number: int) -> int:
        """The code of a heartbeat."""
        joined = self.joined[number]
        who = {"group_id": self.group, "generation_id": joined.generation_id, "member_id": joined.member_id}
        return int((await self.connections[number].call(HEARTBEAT, who)).error_code)


class BigGroup:
    """A group that is Stable once `gather` has returned."""

    def __init__(self, connections: list[Connection]) -> None:
        self.connections = connections
        self._group = f"rebalance-{uuid.uuid4().hex[:6]}"
        self._joined: list[Any] = []

    @classmethod
    async def gather(cls, address: str, members: int) -> BigGroup:
        made = cls(await connect_many(address, members))
        first = Settling(made._group, made.connections)
        await asyncio.gather(*(first.member(number) for number in range(members)))
        made._joined = first.joined
        return made

    async def rebalance_ms(self) -> float:
        """The leader rejoins; as soon as another member could know, all rejoin. Time until everybody is synced."""
        ids = [answer.member_id for answer in self._joined]
        leader = next(n for n, answer in enumerate(self._joined) if answer.leader == answer.member_id)
        other = (leader + 1) % len(ids)
        again = Settling(self._group, self.connections, self._joined)
        began = time.perf_counter()
        tasks = [asyncio.ensure_future(again.member(leader, ids[leader]))]
        while len(ids) > 1 and await again.beat(other) == 0:
            continue
        tasks += [asyncio.ensure_future(again.member(n, ids[n])) for n in range(len(ids)) if n != leader]
        await asyncio.gather(*tasks)
        elapsed_ms = (time.perf_counter() - began) * 1_000
        self._joined = again.joined
        return elapsed_ms

    def close(self) -> None:
        for connection in self.connections:
            connection.close()
