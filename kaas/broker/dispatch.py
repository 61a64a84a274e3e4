"""From a payload to its handler, and the one place where failures become answers or the end of a connection.

Rules: what is not in the table of APIs, in a version that is served, ends the connection, save ApiVersions, which answers an
unknown version in version 0 (KIP-511). Bytes that are not the message end the connection. A fault of ours ends it as well,
with the traceback in the log: a client then reconnects and asks again, which is safe for every Kafka request. A connection on
which nothing came for `connections.max.idle.ms` is closed, unless it waits for an answer.
Must not know: what an API means.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import structlog

from kaas.broker.connection import Connection
from kaas.broker.handlers import HANDLERS, Handler
from kaas.broker.handlers.k18_api_versions import unknown_version_body
from kaas.broker.known import Known
from kaas.broker.request import Request
from kaas.wire.apis import API_VERSIONS, APIS
from kaas.wire.decode import Unreadable
from kaas.wire.headers import BadHeader, answer_frame, read_head, skip_tags
from kaas.wire.schema import is_flexible

if TYPE_CHECKING:
    from kaas.broker.server import Broker

log = structlog.get_logger("kaas.broker.dispatch")

IDLE_ROUNDS = 2
"""Silence is looked for so often per `connections.max.idle.ms`."""


class Dispatcher:
    """Serves payloads of any connection."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._connections: set[Connection] = set()
        self._served: dict[tuple[int, int], tuple[Handler, bool]] = {}
        self._idle_handle: asyncio.TimerHandle | None = None

    def opened(self, connection: Connection) -> bool:
        """Whether there is room for another connection."""
        if len(self._connections) >= self._broker.settings["max.connections"]:
            log.warning("connection refused", client=connection.client_host, reason="max.connections is reached")
            return False
        self._connections.add(connection)
        if self._idle_handle is None:
            self._look_later()
        return True

    def closed(self, connection: Connection) -> None:
        self._connections.discard(connection)

    def close_all(self) -> None:
        if self._idle_handle is not None:
            self._idle_handle.cancel()
        for connection in list(self._connections):
            if connection.transport is not None:
                connection.transport.close()

    def _look_later(self) -> None:
        idle_ms = self._broker.settings["connections.max.idle.ms"]
        if idle_ms > 0:
            loop = asyncio.get_running_loop()
            self._idle_handle = loop.call_later(idle_ms / 1_000 / IDLE_ROUNDS, self._close_idle)

    def _close_idle(self) -> None:
        """One round: who was silent in all rounds of the time that is given goes."""
        for connection in [one for one in self._connections if one.is_idle]:
            connection.silent_rounds += 1
            if connection.silent_rounds > IDLE_ROUNDS:
                connection.refuse("idle for connections.max.idle.ms")
        self._look_later()

    def __len__(self) -> int:
        return len(self._connections)

    @staticmethod
    def serve_known(connection: Connection, known: Known, data: bytes) -> bool:
        """Serve a frame that may have come before; whether it was recognised, and needs no more."""
        try:
            return known.serve(data)
        except Exception:
            log.exception("request failed", known=type(known).__name__, client=connection.client_host)
            connection.refuse("a fault of the broker")
            return True

    def serve(self, connection: Connection, payload: bytes) -> Request | None:
        """Serve one payload; the request, if its answer is still to come."""
        try:
            key, version, correlation_id, client_id, at = read_head(payload)
            row = self._served.get((key, version)) or self._look_up(key, version)
            if row is None:
                self._unserved(connection, key, version, correlation_id)
                return None
            handler, flexible = row
            if flexible:
                at = skip_tags(payload, at)
            tagged = flexible and key != API_VERSIONS.key
            request = Request(self._broker, connection, payload, key, version, correlation_id, client_id, at, tagged)
            handler(self._broker, request)
        except BadHeader as problem:
            connection.refuse(f"no request: {problem}")
            return None
        except Unreadable as problem:
            connection.refuse(f"{APIS[key].name} {version} cannot be read: {problem}")
            return None
        except Exception:
            log.exception("request failed", api=APIS[key].name, version=version, client=connection.client_host)
            connection.refuse("a fault of the broker")
            return None
        return None if request.done else request

    def _look_up(self, key: int, version: int) -> tuple[Handler, bool] | None:
        """The handler and whether the version is flexible; null if that is not served."""
        api = APIS.get(key)
        if api is None or not api.serves(version):
            return None
        row = self._served[key, version] = (HANDLERS[key], is_flexible(key, version))
        return row

    @staticmethod
    def _unserved(connection: Connection, key: int, version: int, correlation_id: int) -> None:
        if key == API_VERSIONS.key and connection.transport is not None:
            connection.transport.write(answer_frame(correlation_id, False, unknown_version_body()))
        else:
            connection.refuse(f"API {key} in version {version} is not served")
