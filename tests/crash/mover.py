"""A group that moves from one protocol to the other and back, on a broker that will be killed.

A member under KIP-848 comes and goes beside one of the classic protocol: when it comes the group is a consumer group, when it
goes a classic one. After each life the group is what it was last told to be, or what the one request without an answer would
have made of it; the classic member is still in it, no number has gone back, and acknowledged commits are there.
"""

from __future__ import annotations

import random
from typing import Any

from kaas.consumer.connection import Connection
from kaas.wire.apis import CONSUMER_GROUP_DESCRIBE
from kaas.wire.consumer_protocol import Assignment, encode_assignment
from tests.crash.actors import PARTITIONS, TOPIC
from tests.crash.readers import TOLD_TO_JOIN, Client, Readers

BEHIND, NO_SUCH_GROUP = 22, 69
ALL = encode_assignment(Assignment(version=1, partitions={TOPIC: tuple(range(PARTITIONS))}))


class Mover(Readers):
    """`upgrades`: how often the group became a consumer group."""

    def __init__(self, name: str, dice: random.Random) -> None:
        super().__init__(name, dice)
        self.group = f"mover-{name}"
        self.upgrades = 0
        self.clients = [Client(f"{self.group}-modern", False), Client(f"{self.group}-classic", True)]

    async def _begin(self, connection: Connection) -> None:
        modern, classic = self.clients
        if modern.unsure or not modern.is_in:
            await self._upgrade(connection)
        if classic.unsure or not classic.is_in:
            await self._come(connection, classic)

    async def _upgrade(self, connection: Connection) -> None:
        await self._come(connection, self.clients[0])
        self.upgrades += 1

    async def _step(self, connection: Connection) -> None:
        modern, classic = self.clients
        what = self._dice.random()
        if what < 0.1:
            await (self._leave(connection, modern) if modern.is_in else self._upgrade(connection))
        elif what < 0.4:
            await self._beat_classic(connection, classic)  # so that it is not behind
            await self._commit(connection, classic)
        elif what < 0.7 and modern.is_in:
            await self._beat(connection, modern)
        else:
            await self._beat_classic(connection, classic)

    async def _beat_classic(self, connection: Connection, client: Client) -> None:
        """A member that is behind, as it had not joined again when the other went, stops reading and joins."""
        code = await self._heartbeat(connection, client)
        assert code in (0, TOLD_TO_JOIN, BEHIND), code
        if code == BEHIND:
            self._reads(client, frozenset())
        if code:
            await self._join(connection, client)

    def _shares(self, client: Client) -> list[dict[str, Any]]:
        """In a classic group it leads, being alone; a consumer group takes no shares from it."""
        return [{"member_id": client.id, "assignment": ALL}]

    # After a crash

    async def _check_described(self, connection: Connection) -> None:
        modern, _ = self.clients
        values = {"group_ids": [self.group], "include_authorized_operations": False}
        (group,) = (await connection.call(CONSUMER_GROUP_DESCRIBE.key, values)).groups
        is_consumer_group = group.error_code != NO_SUCH_GROUP
        assert modern.unsure or is_consumer_group == modern.is_in, f"{self.group}: {group}, {modern}"
        if is_consumer_group:
            await super()._check_described(connection)

    async def _goes_on(self, connection: Connection, client: Client) -> None:
        if client.is_classic:
            code = await self._heartbeat(connection, client)
            assert code in (0, TOLD_TO_JOIN, BEHIND), client
            if code == BEHIND:  # it was given a generation that never became Stable, and comes anew
                self._reads(client, frozenset())
                client.unsure = True
        else:
            await self._beat(connection, client)
