"""Clients that have quotas: told how long to wait, and made to."""

import asyncio
import json
from contextlib import asynccontextmanager

import pytest

from kaas.broker.security import metering, quotas
from kaas.broker.security.metering import throttle_place
from kaas.storage.files import CLUSTER_FOLDER
from kaas.wire.apis import API_VERSIONS, FETCH, HEARTBEAT, METADATA, PRODUCE, SASL_HANDSHAKE
from tests.broker.handlers.topics import create, fetch_values, produce_values
from tests.storage.log.making import batch
from tests.support.in_process import Peer, serving

BEAT = {"group_id": "g", "generation_id": 1, "member_id": "m"}
ONE_WINDOW = {"quota_window_num": 1}


@asynccontextmanager
async def limited(folder, *rows, **settings):
    (folder / CLUSTER_FOLDER).mkdir(parents=True)
    (folder / CLUSTER_FOLDER / quotas.FILE_NAME).write_text(json.dumps({"quotas": rows}))
    async with serving(folder, **{**ONE_WINDOW, **settings}) as peer:
        peer.broker.clock.now_ms = lambda: 1_000_000
        yield peer


def waits(answer):
    return round(answer.throttle_time.total_seconds() * 1_000)


async def test_who_has_no_quota_is_never_told_to_wait(tmp_path):
    async with limited(tmp_path, {"client_id": "other", "request_rate": 1}) as peer:
        assert [waits(await peer.ask(HEARTBEAT, 3, **BEAT)) for _ in range(5)] == [0] * 5


@pytest.mark.parametrize("version", [3, 4])
async def test_one_request_too_many_is_answered_at_once_with_how_long_to_wait(tmp_path, version):
    async with limited(tmp_path, {"user": "ANONYMOUS", "client_id": "<default>", "request_rate": 4}) as peer:
        told = [waits(await peer.ask(HEARTBEAT, version, **BEAT)) for _ in range(5)]
        assert told == [0, 0, 0, 0, 250]
        (connection,) = peer.server.dispatcher._connections
        assert connection._mute is not None


async def test_a_connection_serves_nothing_until_the_wait_is_over(tmp_path):
    async with limited(tmp_path, {"client_id": "test", "request_rate": 5}) as peer:
        loop = asyncio.get_running_loop()
        began = loop.time()
        for _ in range(7):
            await peer.ask(HEARTBEAT, 3, **BEAT)
        assert loop.time() - began >= 0.19


async def test_others_are_not_held_up(tmp_path):
    async with limited(tmp_path, {"client_id": "test", "request_rate": 1}) as peer:
        for _ in range(2):
            await peer.ask(HEARTBEAT, 3, **BEAT)
        other = await Peer.connect(peer.server)
        assert (await other.ask(API_VERSIONS, 2)).error_code == 0
        other.close()


async def test_one_window_is_the_longest_wait_for_a_number_of_requests(tmp_path):
    async with limited(tmp_path, {"client_id": "test", "request_rate": 0.01}) as peer:
        assert waits(await peer.ask(HEARTBEAT, 3, **BEAT)) == 1_000


@pytest.mark.parametrize("version", [9, 12])
async def test_bytes_that_are_written_count(tmp_path, version):
    async with limited(tmp_path, {"client_id": "test", "producer_byte_rate": 1_000}) as peer:
        await create(peer, "t")
        data = batch("x" * 1_900)
        answer = await peer.ask(PRODUCE, version, **produce_values("t", data))
        assert answer.responses[0].partition_responses[0].error_code == 0
        assert 900 <= waits(answer) <= 1_200


async def test_a_produce_without_an_answer_counts_as_well(tmp_path):
    async with limited(tmp_path, {"client_id": "test", "producer_byte_rate": 10_000}) as peer:
        await create(peer, "t")
        peer.put(PRODUCE, 9, **produce_values("t", batch("x" * 12_000), acks=0))
        peer.forget()
        began = asyncio.get_running_loop().time()
        await peer.ask(METADATA, 5, topics=[])
        assert asyncio.get_running_loop().time() - began >= 0.15


async def test_bytes_that_are_read_count_and_nothing_more_is_read_until_some_are_left(tmp_path):
    async with limited(tmp_path, {"client_id": "test", "consumer_byte_rate": 5_000}) as peer:
        await create(peer, "t")
        await peer.ask(PRODUCE, 9, **produce_values("t", batch("x" * 5_200)))
        first = await peer.ask(FETCH, 11, **fetch_values("t"))
        assert first.responses[0].partitions[0].records and 0 < waits(first) <= 100
        second = await peer.ask(FETCH, 11, **fetch_values("t"))
        assert second.error_code == 0 and second.responses == () and waits(second) > 0


async def test_the_authentication_is_never_counted(tmp_path):
    async with limited(tmp_path, {"client_id": "test", "request_rate": 0.01}) as peer:
        for _ in range(3):
            assert waits(await peer.ask(API_VERSIONS, 2)) == 0
        await peer.ask(SASL_HANDSHAKE, 1, mechanism="PLAIN")
        (connection,) = peer.server.dispatcher._connections
        assert connection._mute is None


async def test_quotas_come_and_go_while_it_runs(tmp_path):
    async with serving(tmp_path, **ONE_WINDOW) as peer:
        peer.broker.clock.now_ms = lambda: 1_000_000
        path = tmp_path / CLUSTER_FOLDER / quotas.FILE_NAME
        for rows, limited_now in (([{"client_id": "test", "request_rate": 1}], True), ([], False)):
            for _ in range(3):
                await peer.ask(HEARTBEAT, 3, **BEAT)
            other = path.with_name("other")
            other.write_text(json.dumps({"quotas": rows}))
            other.rename(path)
            security = peer.server.security
            await asyncio.to_thread(security.refresh)  # unless the broker has looked by itself just before
            security._put_in_force()
            told = [waits(await peer.ask(HEARTBEAT, 3, **BEAT)) for _ in range(2)]
            assert any(told) is limited_now


def test_the_place_of_the_wait_is_known_of_every_version():
    assert throttle_place(HEARTBEAT.key, 0) is None and throttle_place(HEARTBEAT.key, 3) == 0
    assert throttle_place(FETCH.key, 11) == 0 and throttle_place(PRODUCE.key, 9) == 1
    assert metering.UNCOUNTED
