"""Sockets that are opened and never read: they cost bounded memory, and nobody else waits for them.

`make sockets` does the same with ten thousand.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import socket
from contextlib import ExitStack

import psutil
import pytest
from websockets.asyncio.client import connect

from groups.testing.feed import member_view, snapshot
from kaasadmin.tests.product import running

COUNT = int(os.environ.get("KAAS_IDLE_SOCKETS", "300"))
EVENTS = 3_000
PER_SOCKET_BYTES = 250_000
"""What a socket may cost at most: its tasks, its bounded queue, and what the kernel does not take any more."""

HANDSHAKE = (
    "GET /ws/clusters/local/groups/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nAuthorization: Bearer {token}\r\n\r\n"
)


@pytest.fixture
def product(valkey, tmp_path):
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if most < COUNT + 500:
        pytest.skip(f"{COUNT} sockets need more files than the {most} that a process may have open here")
    with running(valkey, tmp_path, db=7) as made:
        yield made


def idle(product):
    """A socket of a client that asks for a small buffer and reads nothing but the handshake's first bytes."""
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    one.connect(("127.0.0.1", product.port))
    one.sendall(HANDSHAKE.format(port=product.port, token=product.token).encode())
    assert one.recv(12) == b"HTTP/1.1 101"
    return one


def tell_much(feed):
    members = [member_view(f"m-{number}", {"orders": [number]}) for number in range(10)]
    for number in range(EVENTS):
        feed.group(snapshot(f"busy-{number % 50}", members=members, generation=number))


async def test_sockets_that_never_read_cost_little_and_nobody_waits_for_them(product):
    server = psutil.Process(product.process.pid)
    url = f"ws://127.0.0.1:{product.port}/ws/clusters/local/groups/busy-49/"
    bearer = {"Authorization": f"Bearer {product.token}"}
    with ExitStack() as opened:
        before = server.memory_info().rss
        for _ in range(COUNT):
            opened.enter_context(await asyncio.to_thread(idle, product))
        async with connect(url, additional_headers=bearer) as reader, asyncio.timeout(150):
            telling = asyncio.create_task(asyncio.to_thread(tell_much, product.feed))
            while True:
                message = json.loads(await reader.recv())
                if message["type"] == "event" and message["changes"].get("generation") == EVENTS - 1:
                    break
            await telling
        grown = server.memory_info().rss - before
        status, _ = await asyncio.to_thread(product.get, "/healthz")
    assert status == 200
    assert grown < 50_000_000 + COUNT * PER_SOCKET_BYTES, f"{grown / COUNT:.0f} bytes for each socket"
