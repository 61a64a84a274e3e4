"""One connection from the client's side."""

import asyncio
import struct

import pytest

from kaas.consumer.connection import Connection, Disconnected, Unsupported, request_frame
from kaas.wire.apis import API_VERSIONS, FIND_COORDINATOR, HEARTBEAT, LIST_GROUPS, METADATA
from kaas.wire.encode import encode_request, encode_response
from kaas.wire.headers import answer_frame
from tests.consumer.scripted import Scripted, scripted
from tests.support.in_process import serving

BEAT = {"group_id": "g", "generation_id": 1, "member_id": "m"}


def beat_answer(correlation_id, code):
    """A whole answer in the highest version."""
    return answer_frame(correlation_id, True, encode_response(HEARTBEAT.key, 4, {"error_code": code}))


def opened(broker, **options):
    return Connection.open("127.0.0.1", broker.port, **options)


@pytest.mark.parametrize(("version", "tags"), [(3, b""), (4, b"\0")])
def test_a_request_is_a_frame_with_a_head_of_its_version(version, tags):
    frame = request_frame(HEARTBEAT.key, version, 7, "me", BEAT)
    head = struct.pack(">hhih", 12, version, 7, 2) + b"me" + tags
    assert frame == struct.pack(">i", len(frame) - 4) + head + encode_request(HEARTBEAT.key, version, BEAT)


async def test_it_talks_to_a_broker(tmp_path):
    async with serving(tmp_path) as peer, await Connection.open("127.0.0.1", peer.broker.port) as connection:
        answer = await connection.call(FIND_COORDINATOR.key, {"key": "g", "coordinator_keys": ["g"]})
        assert answer.coordinators[0].port == peer.broker.port
        assert connection.usable


async def test_the_highest_version_that_both_know_is_spoken():
    broker = Scripted()
    broker.versions[HEARTBEAT.key] = (0, 2)
    broker.versions[LIST_GROUPS.key] = (1, 99)
    async with scripted(broker), await opened(broker) as connection:
        await connection.call(HEARTBEAT.key, BEAT)
        await connection.call(LIST_GROUPS.key, {})
        await connection.call(HEARTBEAT.key, BEAT, version=1)
    assert broker.asked[1:] == [(HEARTBEAT.key, 2), (LIST_GROUPS.key, LIST_GROUPS.max_version), (HEARTBEAT.key, 1)]


@pytest.mark.parametrize("theirs", [(7, 9), None])
async def test_a_broker_without_a_common_version_is_unsupported(theirs):
    broker = Scripted()
    broker.versions.pop(HEARTBEAT.key)
    if theirs:
        broker.versions[HEARTBEAT.key] = theirs
    async with scripted(broker), await opened(broker) as connection:
        with pytest.raises(Unsupported, match="Heartbeat"):
            await connection.call(HEARTBEAT.key, BEAT)


async def test_a_broker_that_knows_only_the_first_version_of_its_table_is_understood():
    broker = Scripted()
    table = broker.table
    broker.table = lambda: {"error_code": 35, "api_keys": []} if len(broker.asked) == 1 else table()
    reply = broker._reply

    def as_version_0(payload):
        old = payload[:2] + b"\0\0" + payload[4:]
        return reply(old) if payload[:2] == struct.pack(">h", API_VERSIONS.key) else reply(payload)

    broker._reply = as_version_0
    async with scripted(broker), await opened(broker) as connection:
        assert connection.version(HEARTBEAT.key) == HEARTBEAT.max_version


async def test_calls_under_way_get_their_own_answers():
    broker = Scripted(lambda key, version, message: {"error_code": message.generation_id})
    async with scripted(broker), await opened(broker) as connection:
        calls = (connection.call(HEARTBEAT.key, {**BEAT, "generation_id": n}) for n in (22, 25, 27, 0, 16))
        assert [int(answer.error_code) for answer in await asyncio.gather(*calls)] == [22, 25, 27, 0, 16]


async def test_an_answer_that_does_not_come_in_time_is_a_timeout_and_the_connection_stays_usable():
    silent = [True]
    broker = Scripted(lambda key, version, message: None if silent.pop() else {"error_code": 22})
    async with scripted(broker), await opened(broker) as connection:
        with pytest.raises(TimeoutError):
            await connection.call(HEARTBEAT.key, BEAT, timeout_s=0.05)
        assert connection.usable


async def test_a_late_answer_is_dropped():
    both = beat_answer(2, 25) + beat_answer(3, 27)
    broker = Scripted(lambda key, version, message: None if len(broker.asked) == 2 else both)
    async with scripted(broker), await opened(broker) as connection:
        with pytest.raises(TimeoutError):
            await connection.call(HEARTBEAT.key, BEAT, timeout_s=0.05)
        assert int((await connection.call(HEARTBEAT.key, BEAT)).error_code) == 27


async def test_a_connection_that_breaks_is_heard_of_by_everyone_who_waits():
    broker = Scripted(lambda key, version, message: None)
    async with scripted(broker), await opened(broker) as connection:
        calls = [asyncio.ensure_future(connection.call(HEARTBEAT.key, BEAT)) for _ in range(3)]
        while len(broker.asked) < 4:
            await asyncio.sleep(0.005)
        broker.hang_up()
        results = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(result) for result in results] == [Disconnected] * 3
        assert not connection.usable
        with pytest.raises(Disconnected):
            await connection.call(HEARTBEAT.key, BEAT)


@pytest.mark.parametrize(
    "said",
    [
        struct.pack(">i", -5),
        struct.pack(">i", 2**31 - 1),
        struct.pack(">ii", 4, 2),
        struct.pack(">iibi", 11, 99, 0, 0) + b"\0\0\0",
        struct.pack(">iiB", 5, 2, 255),
        struct.pack(">iiB", 12, 2, 0) + b"\xff" * 7,
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
    ],
    ids=["negative size", "huge size", "no body", "another's answer", "cut tags", "no message", "HTTP"],
)
async def test_nonsense_ends_the_connection_and_the_caller_hears_of_it(said):
    broker = Scripted(lambda key, version, message: said)
    async with scripted(broker), await opened(broker) as connection:
        with pytest.raises((Disconnected, TimeoutError)):
            await connection.call(HEARTBEAT.key, BEAT, timeout_s=2)
        assert not connection.usable


async def test_an_answer_that_nobody_asked_for_ends_the_connection():
    broker = Scripted(lambda key, version, message: beat_answer(2, 0) * 2)
    async with scripted(broker), await opened(broker) as connection:
        await connection.call(HEARTBEAT.key, BEAT)
        with pytest.raises(Disconnected):
            await connection.call(METADATA.key, {"topics": []})


async def test_where_nobody_listens_it_is_disconnected():
    with pytest.raises(Disconnected, match=r"127\.0\.0\.1:1"):
        await Connection.open("127.0.0.1", 1)


async def test_a_connection_that_is_closed_says_so():
    broker = Scripted()
    async with scripted(broker):
        connection = await opened(broker)
        await connection.close()
        with pytest.raises(Disconnected, match="closed"):
            await connection.call(HEARTBEAT.key, BEAT)
