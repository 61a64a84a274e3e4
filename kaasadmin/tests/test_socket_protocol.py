"""kaasadmin.socket_protocol, under a real uvicorn and with real clients."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest
import uvicorn
from uvicorn.protocols.utils import ClientDisconnected
from websockets.asyncio.client import connect
from websockets.extensions.permessage_deflate import ClientPerMessageDeflateFactory

from groups.frames import ALIKE, Frames
from kaasadmin.socket_protocol import SharingProtocol

TEXTS = ["one", "zwei é 😀", "three" * 40_000]


@asynccontextmanager
async def served(application, **more):
    config = uvicorn.Config(application, port=0, ws=SharingProtocol, lifespan="off", log_level="warning", **more)
    server = uvicorn.Server(config)
    config.load()
    server.lifespan = config.lifespan_class(config)
    await server.startup()
    try:
        yield f"ws://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/"
    finally:
        await server.shutdown()


class Telling:
    """An application that sends every socket the same frames, between messages of its own."""

    def __init__(self):
        self.frames = Frames(TEXTS)
        self.refused = asyncio.Event()

    async def __call__(self, scope, receive, send):
        assert ALIKE in scope["extensions"]
        await receive()
        await send({"type": "websocket.accept"})
        await send({"type": "websocket.send", "text": "own " * 100})
        await send({"type": ALIKE, "frames": self.frames})
        await send({"type": "websocket.send", "text": "own again " * 100})
        assert (await receive())["type"] == "websocket.disconnect"
        try:
            await send({"type": ALIKE, "frames": self.frames})
        except ClientDisconnected:
            self.refused.set()


async def told(url, **more):
    async with connect(url, **more) as socket:
        return [await socket.recv() for _ in range(len(TEXTS) + 2)]


@pytest.mark.parametrize(
    "client",
    [
        {"compression": None},
        {"compression": "deflate"},
        {"compression": None, "extensions": [ClientPerMessageDeflateFactory(server_max_window_bits=9)]},
    ],
    ids=["plain", "compressed", "small window"],
)
async def test_every_client_reads_the_same_messages(client):
    application = Telling()
    async with served(application) as url:
        for _ in range(2):
            assert await told(url, **client) == ["own " * 100, *TEXTS, "own again " * 100]


async def test_compressed_bytes_are_made_once_for_all_and_no_more_than_are_needed():
    application = Telling()
    async with served(application) as url:
        await asyncio.gather(*(told(url) for _ in range(5)))
        assert application.frames._deflated and application.frames._plain is None


async def test_a_server_may_do_without_compression():
    application = Telling()
    async with served(application, ws_per_message_deflate=False) as url:
        await told(url)
        assert application.frames._plain and application.frames._deflated is None


async def test_who_left_is_told_nothing_more():
    application = Telling()
    async with served(application) as url:
        await told(url)
        async with asyncio.timeout(10):
            await application.refused.wait()
