"""Who puts load on a broker that will be killed, and what each of them knows for certain afterwards.

An actor owns groups that nobody else touches and asks one thing at a time, so that at a crash there is at most one request of
which it does not know whether it was carried out. What it was told before must be there.
"""

from __future__ import annotations

import asyncio
import random
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from kaas.consumer.connection import Connection, Disconnected
from kaas.wire.apis import DELETE_GROUPS, HEARTBEAT, JOIN_GROUP, LEAVE_GROUP, OFFSET_COMMIT, OFFSET_DELETE, OFFSET_FETCH
from kaas.wire.apis import SYNC_GROUP as SYNC
from kaas.wire.consumer_protocol import Subscription, encode_subscription

TOPIC, PARTITIONS = "crash", 6
SESSION_MS, REBALANCE_MS = 60_000, 5_000
Offsets = dict[int, int]
"""Partition to committed offset."""
Connect = Callable[[], Awaitable[Connection]]


async def committed(connection: Connection, group: str) -> Offsets:
    """The offsets of a group as the broker has them."""
    asked = {"groups": [{"group_id": group, "topics": None}], "require_stable": False}
    (found,) = (await connection.call(OFFSET_FETCH.key, asked, version=8)).groups
    assert found.error_code == 0, found
    return {row.partition_index: row.committed_offset for topic in found.topics for row in topic.partitions}


async def commit(connection: Connection, group: str, offsets: Offsets, who: dict[str, Any] | None = None) -> None:
    rows = [{"partition_index": p, "committed_offset": o, "committed_metadata": ""} for p, o in offsets.items()]
    topics = [{"name": TOPIC, "partitions": rows}]
    about = who or {"generation_id_or_member_epoch": -1, "member_id": ""}
    answer = await connection.call(OFFSET_COMMIT.key, {"group_id": group, "topics": topics, **about}, version=8)
    assert {int(row.error_code) for topic in answer.topics for row in topic.partitions} == {0}, answer


class Actor(ABC):
    """Acts on one connection, one request after another."""

    async def run(self, connect: Connect) -> None:
        """Until the broker dies."""
        connection = await connect()
        try:
            await self._begin(connection)
            while True:
                await self._step(connection)
        except Disconnected:
            pass
        finally:
            await connection.close()

    @abstractmethod
    async def _begin(self, connection: Connection) -> None:
        """What a new life of the broker begins with."""

    @abstractmethod
    async def _step(self, connection: Connection) -> None:
        """Do the next thing."""


class Committer(Actor):
    """Commits, deletes offsets and deletes its group. `known`: what it was told is there; `maybe`: what an unanswered
    request would have made of it."""

    def __init__(self, name: str, dice: random.Random) -> None:
        self.group = f"commits-{name}"
        self.known: Offsets = {}
        self.maybe: Offsets | None = None
        self.acknowledged = 0
        self._dice = dice
        self._next = 1

    async def _begin(self, connection: Connection) -> None:
        pass

    async def _step(self, connection: Connection) -> None:
        what = self._dice.random()
        if what < 0.02:
            await self._delete_group(connection)
        elif what < 0.10 and self.known:
            await self._delete_offset(connection)
        else:
            await self._commit(connection)
        assert self.maybe is not None
        self.known, self.maybe = self.maybe, None
        self.acknowledged += 1

    async def _commit(self, connection: Connection) -> None:
        partitions = self._dice.sample(range(PARTITIONS), self._dice.randint(1, 3))
        offsets = {}
        for partition in partitions:
            offsets[partition] = self._next
            self._next += 1
        self.maybe = {**self.known, **offsets}
        await commit(connection, self.group, offsets)

    async def _delete_offset(self, connection: Connection) -> None:
        partition = self._dice.choice(sorted(self.known))
        self.maybe = {p: o for p, o in self.known.items() if p != partition}
        topics = [{"name": TOPIC, "partitions": [{"partition_index": partition}]}]
        answer = await connection.call(OFFSET_DELETE.key, {"group_id": self.group, "topics": topics})
        assert answer.error_code == 0, answer

    async def _delete_group(self, connection: Connection) -> None:
        self.maybe = {}
        answer = await connection.call(DELETE_GROUPS.key, {"groups_names": [self.group]})
        assert answer.results[0].error_code in (0, 69), answer

    async def check(self, connection: Connection) -> None:
        """What was acknowledged is there; the one request without an answer was carried out whole or not at all."""
        found = await committed(connection, self.group)
        assert found in (self.known, self.maybe), f"{self.group}: {found}, not {self.known} (or {self.maybe})"
        self.known, self.maybe = found, None


@dataclass(slots=True)
class Member:
    """One consumer, on connections of its own."""

    instance: str | None
    id: str = ""
    assignment: bytes = b""
    connection: Connection | None = None


@dataclass(slots=True)
class Generations:
    """Every generation that a group was given, with the members that its leader was told."""

    given: dict[int, frozenset[str]] = field(default_factory=dict)

    def note(self, generation: int, members: frozenset[str]) -> None:
        before = self.given.setdefault(generation, members)
        assert before == members, f"generation {generation} was given to {sorted(before)} and then to {sorted(members)}"

    @property
    def newest(self) -> int:
        return max(self.given, default=0)


class Membership:
    """Members of one group, which rebalance, beat and commit. `settled`: all of them know that the group is Stable."""

    def __init__(self, name: str, dice: random.Random) -> None:
        self.group = f"members-{name}"
        self.generation = 0
        self.settled = False
        self.generations = Generations()
        self.rebalances = 0
        self.known: Offsets = {}
        self.maybe: Offsets | None = None
        self._dice = dice
        self._next = 1
        self.members = [Member(f"i{n}" if dice.random() < 0.5 else None) for n in range(dice.randint(1, 4))]

    async def run(self, connect: Connect) -> None:
        """Until the broker dies."""
        for member in self.members:
            member.connection = await connect()
        try:
            if not self.settled:
                await self.settle()
            while True:
                await self._step()
        except Disconnected:
            pass
        finally:
            for member in self.members:
                await self._link(member).close()

    async def _step(self) -> None:
        what = self._dice.random()
        if what < 0.02:
            self.settled = False
            await self._leave(self._dice.choice(self.members))
            await self.settle()
        elif what < 0.06:
            await self.settle()
        elif what < 0.5:
            await self._commit()
        else:
            assert {await self.beat(member) for member in self.members} == {0}

    @staticmethod
    def _link(member: Member) -> Connection:
        assert member.connection is not None
        return member.connection

    async def _commit(self) -> None:
        member = self._dice.choice(self.members)
        partition = self._dice.randrange(PARTITIONS)
        self.maybe = {**self.known, partition: self._next}
        who = {"generation_id_or_member_epoch": self.generation, "member_id": member.id}
        await commit(self._link(member), self.group, {partition: self._next}, who)
        self.known, self.maybe = self.maybe, None
        self._next += 1

    async def beat(self, member: Member) -> int:
        who = {"group_id": self.group, "generation_id": self.generation, "member_id": member.id}
        answer = await self._link(member).call(HEARTBEAT.key, {**who, "group_instance_id": member.instance})
        return int(answer.error_code)

    async def _leave(self, member: Member) -> None:
        rows = [{"member_id": member.id, "group_instance_id": member.instance}]
        answer = await self._link(member).call(LEAVE_GROUP.key, {"group_id": self.group, "members": rows}, version=4)
        assert answer.members[0].error_code == 0, answer
        member.id = ""

    async def settle(self) -> None:
        """Rebalance until one generation has every member, and all have their assignments."""
        self.settled = False
        while not await self._round():
            pass
        self.settled = True
        self.rebalances += 1

    async def _round(self) -> bool:
        answers = await asyncio.gather(*(self._join(member) for member in self.members))
        generations = {answer.generation_id for answer in answers}
        leads = [a for a in answers if a.leader == a.member_id]
        ids = frozenset(member.id for member in self.members)
        if len(generations) > 1 or not leads or {row.member_id for row in leads[0].members} != ids:
            return False
        self.generation = generations.pop()
        assigned = {member_id: f"{self.generation} {member_id}".encode() for member_id in ids}
        codes = await asyncio.gather(*(self._sync(member, leads[0].member_id, assigned) for member in self.members))
        return set(codes) == {0}

    async def _join(self, member: Member) -> Any:
        metadata = encode_subscription(Subscription(version=1, topics=(TOPIC,)))
        while True:
            values = {
                "group_id": self.group,
                "member_id": member.id,
                "group_instance_id": member.instance,
                "session_timeout": SESSION_MS,
                "rebalance_timeout": REBALANCE_MS,
                "protocol_type": "consumer",
                "protocols": [{"name": "range", "metadata": metadata}],
            }
            answer = await self._link(member).call(JOIN_GROUP.key, values, version=8, timeout_s=30)
            code = int(answer.error_code)
            assert code in (0, 25, 79, 82), answer
            member.id = answer.member_id if code in (0, 79) else ""
            if code == 0:
                if answer.leader == answer.member_id:
                    listed = frozenset(row.member_id for row in answer.members)
                    self.generations.note(answer.generation_id, listed)
                return answer

    async def _sync(self, member: Member, leader: str, assigned: dict[str, bytes]) -> int:
        rows = [{"member_id": m, "assignment": a} for m, a in assigned.items()] if member.id == leader else []
        values = {
            "group_id": self.group,
            "generation_id": self.generation,
            "member_id": member.id,
            "group_instance_id": member.instance,
            "protocol_type": "consumer",
            "protocol_name": "range",
            "assignments": rows,
        }
        answer = await self._link(member).call(SYNC.key, values, timeout_s=30)
        member.assignment = answer.assignment
        return int(answer.error_code)

    async def check(self, connection: Connection) -> None:
        """Offsets are there; a group that was Stable still is, for the same members with the same assignments."""
        found = await committed(connection, self.group)
        assert found in (self.known, self.maybe), f"{self.group}: {found}, not {self.known} (or {self.maybe})"
        self.known, self.maybe = found, None
        if self.settled:
            for member in self.members:
                member.connection, before = connection, member.assignment
                assert await self.beat(member) == 0, f"{self.group}: {member.id} is to rebalance after a crash"
                assert await self._sync(member, "", {}) == 0 and member.assignment == before
