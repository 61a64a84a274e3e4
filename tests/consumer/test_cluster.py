"""A cluster as a client sees it."""

import pytest

from kaas.consumer import cluster as module
from kaas.consumer.cluster import Cluster, Passing, check, parse_bootstrap
from kaas.consumer.connection import Disconnected
from kaas.errors import ErrorCode, KafkaError
from kaas.wire.apis import FIND_COORDINATOR, HEARTBEAT, METADATA
from tests.consumer.scripted import Scripted, scripted
from tests.support.in_process import serving

BEAT = {"group_id": "g", "generation_id": 1, "member_id": "m"}


@pytest.mark.parametrize(
    ("text", "pairs"),
    [("a:1", [("a", 1)]), ("a:1, b:2", [("a", 1), ("b", 2)]), ("[::1]:9092", [("::1", 9092)])],
)
def test_bootstrap_addresses_are_pairs(text, pairs):
    assert parse_bootstrap(text) == pairs


@pytest.mark.parametrize("text", ["", "host", "host:", "host:port", "a:1,,b:2"])
def test_what_is_no_address_is_a_value_error(text):
    with pytest.raises(ValueError, match="host:port"):
        parse_bootstrap(text)


async def test_any_address_that_answers_will_do(tmp_path):
    """One address that was away took all data with it.

    https://github.com/seglo/kafka-lag-exporter/issues/194
    """
    async with serving(tmp_path) as peer:
        cluster = Cluster(f"127.0.0.1:1,127.0.0.1:{peer.broker.port}")
        assert (await (await cluster.any_broker()).call(METADATA.key, {"topics": []})).brokers
        await cluster.close()


async def test_where_nobody_answers_it_is_disconnected():
    with pytest.raises(Disconnected, match=r"127\.0\.0\.1:1"):
        await Cluster("127.0.0.1:1").any_broker()


async def test_a_connection_is_used_again_and_replaced_when_it_broke():
    broker = Scripted()
    async with scripted(broker):
        cluster = Cluster(broker.address)
        first = await cluster.any_broker()
        assert await cluster.any_broker() is first
        broker.hang_up()
        with pytest.raises(Disconnected):
            await first.call(HEARTBEAT.key, BEAT)
        assert await cluster.any_broker() is not first
        await cluster.close()


async def test_a_broker_is_reached_by_its_number(tmp_path):
    async with serving(tmp_path) as peer:
        cluster = Cluster(f"127.0.0.1:{peer.broker.port}")
        assert await cluster.node(1) is await cluster.any_broker()
        with pytest.raises(Disconnected, match="broker 7"):
            await cluster.node(7)
        await cluster.close()


class Moving:
    """Answers FindCoordinator with one code after another, then with the broker itself."""

    def __init__(self, *codes):
        self.codes = list(codes)
        self.broker = Scripted(self.answer)

    def answer(self, key, version, message):
        if key != FIND_COORDINATOR.key:
            return {"error_code": self.codes.pop(0) if self.codes else 0}
        row = {"key": message.coordinator_keys[0], "node_id": 1, "host": "127.0.0.1", "port": self.broker.port}
        return {"coordinators": [row]}


async def beat(connection):
    answer = await connection.call(HEARTBEAT.key, BEAT)
    check(ErrorCode(int(answer.error_code)))
    return int(answer.error_code)


async def test_codes_that_pass_are_asked_again(monkeypatch):
    monkeypatch.setattr(module, "PAUSE_S", 0.001)
    moving = Moving(14, 15, 16)
    async with scripted(moving.broker):
        cluster = Cluster(moving.broker.address)
        assert await cluster.at_coordinator("g", beat) == 0
        assert [key for key, _ in moving.broker.asked].count(FIND_COORDINATOR.key) == 4
        await cluster.close()


async def test_a_code_that_stays_is_told_at_the_deadline(monkeypatch):
    monkeypatch.setattr(module, "PAUSE_S", 0.001)
    moving = Moving(*[16] * 100_000)
    async with scripted(moving.broker):
        cluster = Cluster(moving.broker.address, deadline_s=0.05)
        with pytest.raises(KafkaError) as told:
            await cluster.at_coordinator("g", beat)
        assert told.value.code is ErrorCode.NOT_COORDINATOR
        await cluster.close()


async def test_any_other_code_is_told_at_once():
    moving = Moving(25)
    async with scripted(moving.broker):
        cluster = Cluster(moving.broker.address)
        with pytest.raises(KafkaError) as told:
            await cluster.at_coordinator("g", beat)
        assert told.value.code is ErrorCode.UNKNOWN_MEMBER_ID
        await cluster.close()


def test_a_code_is_nothing_something_that_passes_or_an_error():
    check(ErrorCode.NONE)
    with pytest.raises(Passing):
        check(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    with pytest.raises(KafkaError):
        check(ErrorCode.INVALID_GROUP_ID)
