"""One connection to one broker, from the client's side.

Job: send requests in a version that both sides know, give each caller its answer.
Rules: answers come in the order of requests, so several calls may be under way; a long poll or a JoinGroup needs a connection
of its own, because what is behind it waits. A call that is cancelled leaves its answer to be read and dropped, so the
connection stays usable. When the connection breaks every caller hears it.
Errors: `Disconnected` when there is no connection (any more), TimeoutError when no answer comes in time, `Unsupported` when the
two sides have no version in common.
Must not know: what a message is for.
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
from collections import deque
from types import TracebackType
from typing import Any, Self

from kaas.wire.apis import API_VERSIONS, APIS
from kaas.wire.decode import decode
from kaas.wire.encode import Values, encode_request
from kaas.wire.headers import skip_tags
from kaas.wire.schema import is_flexible

LARGEST_ANSWER_BYTES = 512 * 2**20
SOFTWARE_NAME, SOFTWARE_VERSION = "kaasadmin", "0.1.0"


class Disconnected(ConnectionError):
    """There is no connection; the reason is in the text."""


class Unsupported(Exception):
    """The broker does not serve this API in a version that is spoken here."""


def request_frame(key: int, version: int, correlation_id: int, client_id: str, values: Values) -> bytes:
    """A whole request."""
    name = client_id.encode()
    head = struct.pack(">hhih", key, version, correlation_id, len(name)) + name
    if is_flexible(key, version):
        head += b"\0"
    body = encode_request(key, version, values)
    return struct.pack(">i", len(head) + len(body)) + head + body


class Connection:
    """Open it with `Connection.open`; it is usable in `async with`."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, client_id: str, timeout_s: float
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._client_id = client_id
        self._timeout_s = timeout_s
        self._correlation_id = 0
        self._waiting: deque[tuple[int, int, int, asyncio.Future[Any]]] = deque()
        self._versions: dict[int, tuple[int, int]] = {}
        self._problem: Exception | None = None
        self._reading = asyncio.get_running_loop().create_task(self._read())

    @classmethod
    async def open(cls, host: str, port: int, *, client_id: str = "kaasadmin", timeout_s: float = 10.0) -> Self:
        """Connect and learn which versions the broker serves. Raises Disconnected, TimeoutError."""
        try:
            async with asyncio.timeout(timeout_s):
                reader, writer = await asyncio.open_connection(host, port, limit=2**20)
        except OSError as problem:
            if isinstance(problem, TimeoutError):
                raise
            raise Disconnected(f"{host}:{port}: {problem}") from None
        made = cls(reader, writer, client_id, timeout_s)
        try:
            await made._negotiate()
        except BaseException:
            await made.close()
            raise
        return made

    async def _negotiate(self) -> None:
        values = {"client_software_name": SOFTWARE_NAME, "client_software_version": SOFTWARE_VERSION}
        answer = await self._exchange(API_VERSIONS.key, 3, values)
        if answer.error_code.value:  # an old broker: ask again in the version that every broker knows
            answer = await self._exchange(API_VERSIONS.key, 0, {})
        self._versions = {row.api_key: (row.min_version, row.max_version) for row in answer.api_keys}

    def version(self, key: int) -> int:
        """The highest version of an API that both sides know. Raises Unsupported."""
        ours, theirs = APIS[key], self._versions.get(key, (0, -1))
        version = min(ours.max_version, theirs[1])
        if version < max(ours.min_version, theirs[0]):
            raise Unsupported(f"{ours.name}: the broker serves versions {theirs[0]} to {theirs[1]}")
        return version

    async def call(
        self, key: int, values: Values, *, version: int | None = None, timeout_s: float | None = None
    ) -> Any:
        """Send a request and wait for its answer (kio's entity)."""
        return await self._exchange(key, self.version(key) if version is None else version, values, timeout_s)

    async def _exchange(self, key: int, version: int, values: Values, timeout_s: float | None = None) -> Any:
        if self._problem is not None:
            raise Disconnected(str(self._problem))
        self._correlation_id += 1
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append((self._correlation_id, key, version, future))
        self._writer.write(request_frame(key, version, self._correlation_id, self._client_id, values))
        async with asyncio.timeout(self._timeout_s if timeout_s is None else timeout_s):
            return await future

    async def _read(self) -> None:
        """Give answers to those who wait, until the connection ends."""
        try:
            while True:
                size = struct.unpack(">i", await self._reader.readexactly(4))[0]
                if not 4 <= size <= LARGEST_ANSWER_BYTES:
                    raise Disconnected(f"an answer of {size} bytes")
                self._take(await self._reader.readexactly(size))
        except Exception as problem:  # whatever a peer sends, those who wait hear of it
            self._end(Disconnected(str(problem) or type(problem).__name__))
        except asyncio.CancelledError:
            self._end(Disconnected("closed"))
            raise

    def _take(self, payload: bytes) -> None:
        if not self._waiting:
            raise Disconnected("an answer that nobody waits for")
        correlation_id, key, version, future = self._waiting[0]  # until it has its answer, it hears what goes wrong
        if struct.unpack_from(">i", payload)[0] != correlation_id:
            raise Disconnected("answers came out of order")
        at = 4
        if key == API_VERSIONS.key and struct.unpack_from(">h", payload, at)[0] == 35:
            version = 0
        elif is_flexible(key, version) and key != API_VERSIONS.key:
            at = skip_tags(payload, at)
        answer = decode(key, version, "response", payload, at)
        self._waiting.popleft()
        if not future.done():
            future.set_result(answer)

    def _end(self, problem: Exception) -> None:
        self._problem = problem
        self._writer.close()
        while self._waiting:
            *_, future = self._waiting.popleft()
            if not future.done():
                future.set_exception(problem)

    @property
    def usable(self) -> bool:
        return self._problem is None

    async def close(self) -> None:
        self._reading.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await self._reading
        with contextlib.suppress(OSError, asyncio.CancelledError):
            await self._writer.wait_closed()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
