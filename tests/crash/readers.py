"""Members of consumer groups (KIP-848) on a broker that will be killed, members of the classic protocol among them.

Each client reads what it was told to and nothing else, and asks one thing at a time, so that at a crash there is one request
at most of which nobody knows whether it was carried out. After each life: no partition is read by two, nor given to one while
another may still read it; no epoch is lower than one that was told; everybody goes on; acknowledged commits are there.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from kaas.consumer.connection import Connection
from kaas.wire.apis import (
    CONSUMER_GROUP_DESCRIBE,
    CONSUMER_GROUP_HEARTBEAT,
    HEARTBEAT,
    JOIN_GROUP,
    LEAVE_GROUP,
    OFFSET_COMMIT,
    SYNC_GROUP,
)
from kaas.wire.consumer_protocol import Subscription, decode_assignment, encode_subscription
from tests.crash.actors import PARTITIONS, REBALANCE_MS, SESSION_MS, TOPIC, Actor, Offsets, committed

TOLD_TO_JOIN = 27


@dataclass(slots=True)
class Client:
    """One process. `held`: what it reads. `unsure`: its last request may have been to join or to leave, and has no answer."""

    id: str
    is_classic: bool
    instance: str | None = None
    epoch: int = 0
    held: frozenset[int] = frozenset()
    is_in: bool = False
    unsure: bool = False


class Readers(Actor):
    """One group. The first client always speaks KIP-848 and never leaves, so that the group stays what it is."""

    def __init__(self, name: str, dice: random.Random) -> None:
        self.group = f"readers-{name}"
        self.known: Offsets = {}
        self.maybe: Offsets | None = None
        self.group_epoch = 0
        self.moves = 0
        self._dice = dice
        self._next = 1
        self._topic_id: Any = None
        self.clients = [
            Client(f"{self.group}-{n}", n > 0 and dice.random() < 0.4, f"i{n}" if dice.random() < 0.3 else None)
            for n in range(dice.randint(2, 5))
        ]

    async def _begin(self, connection: Connection) -> None:
        for client in self.clients:
            if client.unsure or not client.is_in:
                await self._come(connection, client)

    async def _step(self, connection: Connection) -> None:
        client = self._dice.choice(self.clients)
        what = self._dice.random()
        if what < 0.05 and client is not self.clients[0]:
            await self._leave(connection, client)
            await self._come(connection, client)
        elif what < 0.4:
            await self._commit(connection, client)
        elif client.is_classic:
            await self._beat_classic(connection, client)
        else:
            await self._beat(connection, client)

    def _reads(self, client: Client, held: frozenset[int]) -> None:
        """What a client reads from now on. Nobody else does."""
        others = {p: other.id for other in self.clients if other is not client for p in other.held}
        taken = {p: others[p] for p in held if p in others}
        assert not taken, f"{client.id} is told to read what others read: {taken}"
        self.moves += held != client.held
        client.held = held

    # KIP-848

    async def _ask(self, connection: Connection, client: Client, **values: Any) -> Any:
        who = {"group_id": self.group, "member_id": client.id, "member_epoch": client.epoch}
        answer = await connection.call(CONSUMER_GROUP_HEARTBEAT.key, {**who, **values}, version=1)
        assert answer.error_code == 0, answer
        return answer

    def _owned(self, client: Client) -> list[dict[str, Any]]:
        return [{"topic_id": self._topic_id, "partitions": sorted(client.held)}] if client.held else []

    async def _beat(self, connection: Connection, client: Client) -> None:
        """What the client reads is in it, as after a lost answer it must be."""
        self._learn(client, await self._ask(connection, client, topic_partitions=self._owned(client)))

    def _learn(self, client: Client, answer: Any) -> None:
        assert client.unsure or answer.member_epoch >= client.epoch, f"{client.id} was at {client.epoch}: {answer}"
        client.epoch = answer.member_epoch
        if answer.assignment is not None:
            rows = answer.assignment.topic_partitions
            self._topic_id = rows[0].topic_id if rows else self._topic_id
            self._reads(client, frozenset(p for row in rows for p in row.partitions))

    # The classic protocol

    async def _beat_classic(self, connection: Connection, client: Client) -> None:
        code = await self._heartbeat(connection, client)
        assert code in (0, TOLD_TO_JOIN), code
        if code:
            await self._join(connection, client)

    async def _heartbeat(self, connection: Connection, client: Client) -> int:
        who = {"group_id": self.group, "generation_id": client.epoch, "member_id": client.id}
        answer = await connection.call(HEARTBEAT.key, {**who, "group_instance_id": client.instance})
        return int(answer.error_code)

    async def _join(self, connection: Connection, client: Client) -> None:
        """Join and Sync. What the client reads it says, and keeps until it is told otherwise.

        Without an answer it does not know its epoch, so it comes anew.
        """
        owned = {TOPIC: tuple(sorted(client.held))} if client.held else {}
        said = Subscription(version=2, topics=(TOPIC,), owned=owned, generation=client.epoch)
        values = {
            "group_id": self.group,
            "member_id": client.id,
            "group_instance_id": client.instance,
            "session_timeout": SESSION_MS,
            "rebalance_timeout": REBALANCE_MS,
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": encode_subscription(said)}],
        }
        before, client.unsure = client.unsure, True
        answer = await connection.call(JOIN_GROUP.key, values, version=8)
        assert answer.error_code == 0 and (before or answer.generation_id >= client.epoch), answer
        client.id, client.epoch, client.is_in, client.unsure = answer.member_id, answer.generation_id, True, False
        await self._sync(connection, client)

    async def _sync(self, connection: Connection, client: Client) -> None:
        values = {
            "group_id": self.group,
            "generation_id": client.epoch,
            "member_id": client.id,
            "group_instance_id": client.instance,
            "protocol_type": "consumer",
            "protocol_name": "range",
            "assignments": self._shares(client),
        }
        answer = await connection.call(SYNC_GROUP.key, values)
        assert answer.error_code in (0, TOLD_TO_JOIN), answer
        if answer.error_code == 0:
            held = decode_assignment(answer.assignment).partitions
            self._reads(client, frozenset(held.get(TOPIC, ())))

    def _shares(self, client: Client) -> list[dict[str, Any]]:
        """What it hands out when it syncs; nobody leads a consumer group."""
        return []

    # Coming and going

    async def _come(self, connection: Connection, client: Client) -> None:
        """Into the group; a client that does not know whether it is in has stopped reading."""
        self._reads(client, frozenset())
        client.unsure = True
        if client.is_classic:
            client.id = client.id if client.instance is None else ""  # static: whatever holds the instance is replaced
            await self._join(connection, client)
            return
        first = {
            "member_epoch": 0,
            "instance_id": client.instance,
            "rebalance_timeout": REBALANCE_MS,
            "subscribed_topic_names": [TOPIC],
            "topic_partitions": [],
        }
        self._learn(client, await self._ask(connection, client, **first))
        client.is_in, client.unsure = True, False

    async def _leave(self, connection: Connection, client: Client) -> None:
        self._reads(client, frozenset())
        client.unsure = True
        if client.is_classic:
            rows = [{"member_id": client.id, "group_instance_id": client.instance}]
            answer = await connection.call(LEAVE_GROUP.key, {"group_id": self.group, "members": rows}, version=4)
            assert answer.members[0].error_code == 0, answer
        else:
            await self._ask(connection, client, member_epoch=-1, instance_id=client.instance)
        client.is_in, client.epoch = False, 0

    async def _commit(self, connection: Connection, client: Client) -> None:
        """The epoch may have moved on since the client was told; what is refused changes nothing."""
        partition = self._dice.randrange(PARTITIONS)
        self.maybe = {**self.known, partition: self._next}
        row = {"partition_index": partition, "committed_offset": self._next, "committed_metadata": ""}
        who = {"generation_id_or_member_epoch": client.epoch, "member_id": client.id}
        values = {"group_id": self.group, **who, "topics": [{"name": TOPIC, "partitions": [row]}]}
        answer = await connection.call(OFFSET_COMMIT.key, values, version=9)
        assert answer.topics[0].partitions[0].error_code == 0, answer
        self.known, self.maybe = self.maybe, None
        self._next += 1

    # After a crash

    async def check(self, connection: Connection) -> None:
        """Nobody is forgotten, nothing is given twice, no number goes back, and everybody goes on."""
        found = await committed(connection, self.group)
        assert found in (self.known, self.maybe), f"{self.group}: {found}, not {self.known} (or {self.maybe})"
        self.known, self.maybe = found, None
        if not any(client.is_in for client in self.clients):
            return
        await self._check_described(connection)
        for client in self.clients:
            if client.is_in and not client.unsure:
                await self._goes_on(connection, client)

    async def _check_described(self, connection: Connection) -> None:
        values = {"group_ids": [self.group], "include_authorized_operations": False}
        (group,) = (await connection.call(CONSUMER_GROUP_DESCRIBE.key, values)).groups
        assert group.error_code == 0 and group.group_epoch >= self.group_epoch, group
        self.group_epoch = group.group_epoch
        members = {member.member_id: member for member in group.members}
        shares = [
            (p, member_id)
            for member_id, member in members.items()
            for row in member.assignment.topic_partitions
            for p in row.partitions
        ]
        assert len({p for p, _ in shares}) == len(shares), f"{self.group}: a partition of two: {shares}"
        given = dict(shares)
        for client in self.clients:
            if client.is_in and not client.unsure:
                assert members[client.id].member_epoch >= client.epoch, f"{client.id} was at {client.epoch}: {group}"
                taken = {p: given[p] for p in client.held if given.get(p, client.id) != client.id}
                assert not taken, f"{client.id} reads what others have: {taken}"

    async def _goes_on(self, connection: Connection, client: Client) -> None:
        if client.is_classic:
            assert await self._heartbeat(connection, client) in (0, TOLD_TO_JOIN), client
        else:
            await self._beat(connection, client)
