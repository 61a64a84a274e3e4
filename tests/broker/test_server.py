"""The broker as a whole: it starts, serves, and stops in order."""

import asyncio
import socket
import struct

import pytest
import structlog

from kaas.broker.server import FolderTaken, Server, lock_folder
from kaas.broker.settings import BadSetting, parse
from kaas.wire.apis import API_VERSIONS, FIND_COORDINATOR, METADATA, OFFSET_FETCH
from tests.support.in_process import Closed, Peer, serving
from tests.support.waiting import until_async


def made(folder, *pairs, host="127.0.0.1", broker_id=1):
    return Server(data=folder, host=host, port=0, broker_id=broker_id, settings=parse(pairs))


async def test_it_answers_and_says_where_it_is(tmp_path):
    async with serving(tmp_path) as peer:
        (broker,) = (await peer.ask(METADATA, 1, topics=[])).brokers
        assert (broker.node_id, broker.host, broker.port) == (1, "127.0.0.1", peer.broker.port)


async def test_a_folder_serves_one_broker_of_an_id_at_a_time(tmp_path):
    async with serving(tmp_path):
        with pytest.raises(FolderTaken, match="broker with id 1"):
            await made(tmp_path).start()
    async with serving(tmp_path) as peer:
        assert (await peer.ask(API_VERSIONS, 0)).error_code == 0


def test_the_lock_of_a_folder_names_its_holder_and_ends_with_it(tmp_path):
    held = lock_folder(tmp_path, 1)
    with pytest.raises(FolderTaken, match=r"process \d+"):
        lock_folder(tmp_path, 1)
    lock_folder(tmp_path, 2).close()
    held.close()
    lock_folder(tmp_path, 1).close()


async def test_each_start_has_a_newer_assignment_and_the_same_cluster(tmp_path):
    seen = []
    for _ in range(3):
        async with serving(tmp_path) as peer:
            seen.append((peer.broker.cluster.assignment.assignment_version, peer.broker.cluster.cluster_id))
    assert [version for version, _ in seen] == [1, 2, 3]
    assert len({cluster_id for _, cluster_id in seen}) == 1


async def test_a_client_is_told_the_address_of_the_listener_it_came_in_on(tmp_path):
    pairs = (
        "listeners=IN://127.0.0.1:0,OUT://127.0.0.1:0",
        "advertised.listeners=OUT://broker.example.org:19092",
    )
    server = made(tmp_path, *pairs)
    await server.start()
    await server.loaded()
    try:
        inside, outside = (one.sockets[0].getsockname()[1] for one in server._servers)
        told = {}
        for port in (inside, outside):
            peer = Peer(server, *await asyncio.open_connection("127.0.0.1", port))
            answer = await peer.ask(FIND_COORDINATOR, 2, key="g", key_type=0)
            (node,) = (await peer.ask(METADATA, 1, topics=[])).brokers
            assert (answer.host, answer.port) == (node.host, node.port)
            told[port] = (answer.host, answer.port)
            peer.close()
        assert told == {inside: ("127.0.0.1", inside), outside: ("broker.example.org", 19092)}
    finally:
        await server.stop()


@pytest.mark.parametrize(("host", "warned"), [("127.0.0.1", False), ("0.0.0.0", True)])
async def test_a_listener_for_everybody_is_said_aloud(tmp_path, host, warned):
    server = made(tmp_path, host=host)
    with structlog.testing.capture_logs() as logs:
        await server.start()
    await server.loaded()
    await server.stop()
    assert any("anybody" in entry["event"] for entry in logs) is warned


async def test_a_port_that_is_taken_is_an_error(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        server = Server(data=tmp_path, host="127.0.0.1", port=port, broker_id=1, settings=parse([]))
        with pytest.raises(OSError, match="in use"):
            await server.start()


async def test_bad_listeners_are_a_bad_setting(tmp_path):
    with pytest.raises(BadSetting):
        await made(tmp_path, "listeners=nonsense").start()


async def test_requests_are_answered_while_the_groups_load(tmp_path):
    """The port is open before the groups are read: a client hears "wait", not silence.

    https://github.com/redpanda-data/redpanda/issues/23176
    """
    server = made(tmp_path)
    may_load = asyncio.Event()
    await server.start()
    load, server.broker.groups.load = server.broker.groups.load, may_load.wait
    server._loading.cancel()
    server.broker.groups.coordinator.loading = True
    peer = await Peer.connect(server)
    answer = await peer.ask(OFFSET_FETCH, 5, group_id="g", topics=None)
    assert answer.error_code == 14
    server.broker.groups.load = load
    server._loading = asyncio.get_running_loop().create_task(server._load())
    await server.loaded()
    assert (await peer.ask(OFFSET_FETCH, 5, group_id="g", topics=None)).error_code == 0
    peer.close()
    await server.stop()


async def test_a_stop_closes_connections_and_the_port(tmp_path):
    async with serving(tmp_path) as peer:
        server, port = peer.server, peer.broker.port
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(struct.pack(">ihhih", 10, 18, 0, 1, -1))
        await reader.readexactly(4)
        await server.stop()
        await reader.read()
        assert await reader.read() == b""
        writer.close()
        with pytest.raises(OSError, match=r"refused|Connect"):
            await asyncio.open_connection("127.0.0.1", port)


async def test_a_client_that_does_not_read_is_closed_and_others_are_served(tmp_path):
    async with serving(tmp_path, kaas_slow_reader_ms=100) as peer:
        deaf = socket.socket()
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        deaf.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(deaf, ("127.0.0.1", peer.broker.port))
        request = struct.pack(">ihhih", 10, API_VERSIONS.key, 0, 1, -1)
        with pytest.raises((ConnectionError, TimeoutError)):
            async with asyncio.timeout(20):
                while True:
                    await loop.sock_sendall(deaf, request * 500)
                    assert (await peer.ask(API_VERSIONS, 0)).error_code == 0
        await until_async(lambda: len(peer.server.dispatcher) == 1)
        assert (await peer.ask(API_VERSIONS, 0)).error_code == 0
        deaf.close()


async def test_half_a_request_and_then_silence_ends_the_connection(tmp_path):
    async with serving(tmp_path, connections_max_idle_ms=100) as peer:
        reader, writer = await asyncio.open_connection("127.0.0.1", peer.broker.port)
        writer.write(struct.pack(">ih", 10, API_VERSIONS.key))
        assert await asyncio.wait_for(reader.read(), 20) == b""
        writer.close()


async def test_a_connection_too_many_is_closed_at_once(tmp_path):
    async with serving(tmp_path, max_connections_per_ip=2) as peer:
        second = await Peer.connect(peer.server)
        third = await Peer.connect(peer.server)
        with pytest.raises(Closed):
            await third.ask(API_VERSIONS, 0)
        assert (await second.ask(API_VERSIONS, 0)).error_code == 0
        second.close()
        await until_async(lambda: len(peer.server.dispatcher) == 1)
        fourth = await Peer.connect(peer.server)
        assert (await fourth.ask(API_VERSIONS, 0)).error_code == 0
        fourth.close()
