"""A real broker inside of a test, and a client that speaks any API in any version to it.

async with serving(tmp_path) as peer:
    answer = await peer.ask(METADATA, 12, topics=None)
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from kaas.broker.server import Server
from kaas.broker.settings import parse
from kaas.wire.apis import API_VERSIONS, Api
from kaas.wire.decode import decode
from kaas.wire.encode import encode_request
from kaas.wire.schema import is_flexible

WITHIN_S = 20


class Closed(Exception):
    """The broker has ended the connection."""


class Peer:
    """One connection to a broker: `server` is all of it, `broker` the parts that requests reach."""

    def __init__(self, server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.server = server
        self.broker = server.broker
        self._reader = reader
        self._writer = writer
        self._sent: list[tuple[Api, int]] = []

    @classmethod
    async def connect(cls, server: Server) -> Peer:
        return cls(server, *await asyncio.open_connection("127.0.0.1", server.broker.port))

    def put(self, api: Api, version: int, **values: Any) -> None:
        """Sends a request, whose answer is left for `get`."""
        tagged = is_flexible(api.key, version)
        body = encode_request(api.key, version, values)
        head = struct.pack(">hhih", api.key, version, len(self._sent), 4) + b"test" + (b"\0" if tagged else b"")
        self._writer.write(struct.pack(">i", len(head) + len(body)) + head + body)
        self._sent.append((api, version))

    async def get(self) -> Any:
        """The answer to the oldest request that has none yet. Raises: Closed."""
        api, version = self._sent.pop(0)
        tagged = is_flexible(api.key, version) and api is not API_VERSIONS
        return decode(api.key, version, "response", await self.payload(), 5 if tagged else 4)

    async def payload(self) -> bytes:
        try:
            (size,) = struct.unpack(">i", await asyncio.wait_for(self._reader.readexactly(4), WITHIN_S))
            return await asyncio.wait_for(self._reader.readexactly(size), WITHIN_S)
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            raise Closed from error

    async def ask(self, api: Api, version: int, **values: Any) -> Any:
        """The answer to a request."""
        self.put(api, version, **values)
        return await self.get()

    def forget(self) -> None:
        """The last request gets no answer."""
        self._sent.pop()

    def close(self) -> None:
        self._writer.close()


@asynccontextmanager
async def serving(folder: Path, *, broker_id: int = 1, **settings: Any) -> AsyncIterator[Peer]:
    """A broker with settings, whose names are written with underscores, and a connection to it."""
    named = [f"{name.replace('_', '.')}={value}" for name, value in settings.items()]
    server = Server(data=folder, host="127.0.0.1", port=0, broker_id=broker_id, settings=parse(named))
    await server.start()
    try:
        await server.loaded()
        peer = await Peer.connect(server)
        try:
            yield peer
        finally:
            peer.close()
    finally:
        await server.stop()


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Returns when a condition holds."""
    async with asyncio.timeout(WITHIN_S):
        while not await condition():
            await asyncio.sleep(0.01)
