"""Killed at any moment under load, the broker comes back with everything that it acknowledged.

50 lives in the suite; KAAS_CRASH_ROUNDS sets another number.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import time

import pytest

from kaas.consumer.connection import Connection
from kaas.wire.apis import CREATE_TOPICS, LIST_GROUPS
from tests.crash.actors import PARTITIONS, TOPIC, Committer, Membership
from tests.crash.mover import Mover
from tests.crash.readers import Readers
from tests.crash.transactor import Transactor
from tests.support.broker import BrokerProcess

ROUNDS = int(os.environ.get("KAAS_CRASH_ROUNDS", "50"))
SEEDS = 5
COMMITTERS, MEMBERSHIPS, TRANSACTORS, READERS, MOVERS = 14, 5, 3, 5, 3
LONGEST_LIFE_S = 0.5
SETTINGS = {"kaas.checkpoint.interval.ms": 20, "kaas.journal.roll.bytes": 20_000}
"""Checkpoints and new journal files all the time, so that kills meet them in every state."""

pytestmark = pytest.mark.timeout(60 + ROUNDS * 10)


class World:
    """A broker, its load, and the rounds in which it dies."""

    def __init__(self, broker: BrokerProcess, seed: int) -> None:
        self.broker = broker
        self.dice = random.Random(seed)
        self.actors: list[Committer | Membership | Transactor | Readers] = [
            *(Committer(str(n), random.Random(self.dice.random())) for n in range(COMMITTERS)),
            *(Membership(str(n), random.Random(self.dice.random())) for n in range(MEMBERSHIPS)),
            *(Transactor(str(n), random.Random(self.dice.random())) for n in range(TRANSACTORS)),
            *(Readers(str(n), random.Random(self.dice.random())) for n in range(READERS)),
            *(Mover(str(n), random.Random(self.dice.random())) for n in range(MOVERS)),
        ]

    async def connect(self) -> Connection:
        return await Connection.open("127.0.0.1", self.broker.port, timeout_s=30)

    async def create_topic(self) -> None:
        async with await self.connect() as connection:
            topic = {"name": TOPIC, "num_partitions": PARTITIONS, "replication_factor": 1}
            await connection.call(CREATE_TOPICS.key, {"topics": [topic], "timeout": 10_000})

    async def live_and_die(self) -> None:
        """Load, and a kill in the midst of it."""
        running = [asyncio.ensure_future(actor.run(self.connect)) for actor in self.actors]
        await asyncio.sleep(self.dice.random() * LONGEST_LIFE_S)
        os.kill(self.broker.pid, 9)
        for problem in await asyncio.gather(*running, return_exceptions=True):
            if problem is not None and not isinstance(problem, ConnectionError):
                raise problem
        self.broker.kill()

    async def check(self) -> None:
        """What every actor knows is true, whoever asks."""
        async with await self.connect() as connection:
            await until_loaded(connection)
            for actor in self.actors:
                await actor.check(connection)

    @property
    def acknowledged(self) -> int:
        return sum(actor.acknowledged for actor in self.actors if isinstance(actor, Committer))

    @property
    def rebalances(self) -> int:
        return sum(actor.rebalances for actor in self.actors if isinstance(actor, Membership))

    @property
    def moves(self) -> int:
        return sum(actor.moves for actor in self.actors if isinstance(actor, Readers))

    @property
    def upgrades(self) -> int:
        return sum(actor.upgrades for actor in self.actors if isinstance(actor, Mover))

    @property
    def transactions(self) -> int:
        return sum(len(actor.known) for actor in self.actors if isinstance(actor, Transactor))


async def until_loaded(connection: Connection) -> None:
    deadline = time.monotonic() + 10
    while (await connection.call(LIST_GROUPS.key, {})).error_code:
        assert time.monotonic() < deadline, "the groups do not load"
        await asyncio.sleep(0.01)


def faults(log: str) -> list[str]:
    """What the broker said about its stored groups, save torn ends, which a kill leaves."""
    lines = [line for line in log.splitlines() if re.search(r"level=(error|warning)", line)]
    return [line for line in lines if "torn end" not in line]


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_broker_that_is_killed_under_load_loses_nothing_that_it_acknowledged(tmp_path, seed):
    broker = BrokerProcess(tmp_path / "data", SETTINGS)
    world = World(broker, seed)
    with broker:
        asyncio.run(world.create_topic())
        for _ in range(max(ROUNDS // SEEDS, 1)):
            asyncio.run(world.live_and_die())
            broker.start()
            asyncio.run(world.check())
            assert faults(broker.log) == []
    assert world.acknowledged > 0 and world.rebalances > 0 and world.transactions > 0
    assert world.moves > 0 and world.upgrades > 0


def test_a_group_that_was_deleted_stays_deleted(tmp_path):
    """A kill after the tombstone, with offsets and membership of the group in older journal files and checkpoints."""

    async def commit_and_delete(world: World) -> None:
        async with await world.connect() as connection:
            await until_loaded(connection)
            (actor,) = world.actors
            assert isinstance(actor, Committer)
            for _ in range(20):
                await actor._commit(connection)
                actor.known = actor.maybe or {}
            await actor._delete_group(connection)
            actor.known, actor.maybe = {}, None

    broker = BrokerProcess(tmp_path / "data", SETTINGS)
    world = World(broker, 1)
    world.actors = world.actors[:1]
    with broker:
        asyncio.run(world.create_topic())
        for _ in range(3):
            asyncio.run(commit_and_delete(world))
            broker.restart()
            asyncio.run(world.check())
