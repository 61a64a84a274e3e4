"""A broker of a test's own: it says what the test wants said, byte for byte."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from kaas.wire.apis import API_VERSIONS, APIS
from kaas.wire.decode import decode
from kaas.wire.encode import encode_response
from kaas.wire.headers import answer_frame, read_head, skip_tags
from kaas.wire.schema import is_flexible

Answer = dict[str, Any] | bytes | None
"""Values to encode, raw bytes to send, or null for silence."""


class Scripted:
    """`answer(key, version, message)` says what is answered; what it leaves to the broker is the table of versions.

    `asked` are the (key, version) of all requests, `versions` what the table says instead of everything.
    """

    def __init__(self, answer: Callable[[int, int, Any], Answer] | None = None) -> None:
        self.answer = answer or (lambda key, version, message: {})
        self.versions = {api.key: (api.min_version, api.max_version) for api in APIS.values()}
        self.asked: list[tuple[int, int]] = []
        self.port = 0
        self._writers: list[asyncio.StreamWriter] = []

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        while True:
            try:
                (size,) = struct.unpack(">i", await reader.readexactly(4))
                payload = await reader.readexactly(size)
            except (asyncio.IncompleteReadError, ConnectionError):
                writer.close()
                return
            writer.write(self._reply(payload))

    def _reply(self, payload: bytes) -> bytes:
        key, version, correlation_id, _, at = read_head(payload)
        self.asked.append((key, version))
        tagged = is_flexible(key, version)
        message = decode(key, version, "request", payload, skip_tags(payload, at) if tagged else at)
        said = self.table() if key == API_VERSIONS.key else self.answer(key, version, message)
        if said is None:
            return b""
        if isinstance(said, bytes):
            return said
        return answer_frame(correlation_id, tagged and key != API_VERSIONS.key, encode_response(key, version, said))

    def table(self) -> Answer:
        rows = [{"api_key": k, "min_version": low, "max_version": high} for k, (low, high) in self.versions.items()]
        return {"api_keys": rows}

    def hang_up(self) -> None:
        """Close every connection."""
        for writer in self._writers:
            writer.close()


@asynccontextmanager
async def scripted(broker: Scripted) -> AsyncIterator[Scripted]:
    """The broker listens within this block."""
    server = await asyncio.start_server(broker.serve, "127.0.0.1", 0)
    broker.port = server.sockets[0].getsockname()[1]
    try:
        yield broker
    finally:
        broker.hang_up()
        server.close()
        await server.wait_closed()
