"""How much memory the broker takes. (How fast it starts is measured in benchmarks/, as other work shares a test machine.)"""

import asyncio

from kaas.consumer.connection import Connection
from kaas.wire.apis import CREATE_TOPICS, LIST_GROUPS, OFFSET_COMMIT
from tests.support.waiting import until

MB = 2**20
IDLE_BYTES = 90 * MB
GROUPS = 10_000
GROWTH_BYTES = 60 * MB
CONNECTIONS, TOPIC = 20, "t"


def test_an_idle_broker_is_small(start_broker):
    assert start_broker().resident_bytes() < IDLE_BYTES


def test_ten_thousand_groups_without_members_add_little(start_broker):
    broker = start_broker()
    before = broker.resident_bytes()
    assert asyncio.run(fill(broker.port)) == GROUPS
    assert broker.resident_bytes() - before < GROWTH_BYTES
    broker.restart()
    until(lambda: asyncio.run(count(broker.port)) == GROUPS)
    assert broker.resident_bytes() - before < GROWTH_BYTES, "loaded from the journal they are as small"
    broker.kill()  # in order it would write every group's file first


def commit_values(group):
    row = {"partition_index": 0, "committed_offset": 1, "committed_metadata": ""}
    return {
        "group_id": group,
        "generation_id_or_member_epoch": -1,
        "topics": [{"name": TOPIC, "partitions": [row]}],
    }


async def fill(port):
    """Make the groups by commits of nobody; how many are listed then."""
    async with await Connection.open("127.0.0.1", port) as first:
        await first.call(CREATE_TOPICS.key, {"topics": [{"name": TOPIC, "num_partitions": 1, "replication_factor": 1}]})
    await asyncio.gather(*(commit_some(port, range(n, GROUPS, CONNECTIONS)) for n in range(CONNECTIONS)))
    return await count(port)


async def commit_some(port, numbers):
    async with await Connection.open("127.0.0.1", port) as connection:
        for number in numbers:
            answer = await connection.call(OFFSET_COMMIT.key, commit_values(f"group-{number}"), version=8)
            assert answer.topics[0].partitions[0].error_code == 0


async def count(port):
    async with await Connection.open("127.0.0.1", port) as connection:
        return len((await connection.call(LIST_GROUPS.key, {})).groups)
