"""From a payload to its handler, and the one place where failures become answers or the end of a connection.

Rules: what is not in the table of APIs, in a version that is served, ends the connection, save ApiVersions, which answers an
unknown version in version 0 (KIP-511). Bytes that are not the message end the connection. A fault of ours ends it as well,
with the traceback in the log: a client then reconnects and asks again, which is safe for every Kafka request. A connection on
which nothing came for `connections.max.idle.ms` is closed, unless it waits for an answer; so is one whose client reads
nothing of what it was answered for as long, or for `kaas.slow.reader.ms`.
Must not know: what an API means, how a client shows who it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from kaas.broker.broker import Broker
from kaas.broker.connection import FAULT, Connection, Serve
from kaas.broker.handlers import HANDLERS, Handler
from kaas.broker.handlers.k18_api_versions import unknown_version_body
from kaas.broker.request import Request
from kaas.broker.security.limits import Admission
from kaas.broker.security.metering import MeteredRequest
from kaas.wire.apis import API_VERSIONS, APIS
from kaas.wire.decode import Unreadable
from kaas.wire.headers import BadHeader, answer_frame, read_head, skip_tags
from kaas.wire.schema import is_flexible

log = structlog.get_logger("kaas.broker.dispatch")

ROUNDS = 2
"""Silence is looked for so often in the time after which a connection is closed for it."""


class Dispatcher:
    """Serves payloads of any connection."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._connections: set[Connection] = set()
        self._admission = Admission()
        self._served: dict[tuple[int, int], tuple[Handler, bool]] = {}
        self._request: type[Request] = Request
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._holding: list[Connection] = []

    def opened(self, connection: Connection) -> bool:
        """Whether there is room for another connection."""
        settings = self._broker.settings
        refusal = self._admission.refusal(
            connection.address,
            most=settings["max.connections"],
            per_address=settings["max.connections.per.ip"],
            overrides=settings["max.connections.per.ip.overrides"],
        )
        if refusal is not None:
            log.warning("connection refused", client=connection.client_host, reason=refusal)
            return False
        self._admission.came(connection.address)
        self._connections.add(connection)
        if not self._timers:
            self._later("idle", self._idle_ms, self._close_idle)
            self._later("stalled", self._stalled_ms, self._close_stalled)
        return True

    def closed(self, connection: Connection) -> None:
        if connection in self._connections:
            self._connections.remove(connection)
            self._admission.left(connection.address)

    def close_all(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        for connection in list(self._connections):
            if connection.transport is not None:
                connection.transport.close()

    def rights_changed(self, *, is_metered: bool) -> None:
        """What clients may do, or how much of it, is different from now on."""
        self._request = MeteredRequest if is_metered else Request
        for connection in self._connections:
            connection.forget()

    @property
    def _idle_ms(self) -> int:
        limit_ms: int = self._broker.settings["connections.max.idle.ms"]
        return limit_ms

    @property
    def _stalled_ms(self) -> int:
        limit_ms: int = self._broker.settings["kaas.slow.reader.ms"]
        return self._idle_ms if limit_ms < 0 else limit_ms

    def _later(self, name: str, limit_ms: int, look: Callable[[], None]) -> None:
        if limit_ms > 0:
            loop = asyncio.get_running_loop()
            self._timers[name] = loop.call_later(limit_ms / 1_000 / ROUNDS, look)

    def _close_idle(self) -> None:
        """One round: who was silent in all rounds of the time that is given goes."""
        for connection in [one for one in self._connections if one.is_idle]:
            connection.silent_rounds += 1
            if connection.silent_rounds > ROUNDS:
                connection.refuse("idle for connections.max.idle.ms")
        self._later("idle", self._idle_ms, self._close_idle)

    def _close_stalled(self) -> None:
        """One round: whose client has read nothing of its answers in all rounds goes, and they with it."""
        for connection in list(self._connections):
            if not connection.is_stalled():
                connection.stalled_rounds = 0
                continue
            connection.stalled_rounds += 1
            if connection.stalled_rounds > ROUNDS:
                connection.refuse("its client does not read", at_once=True)
        self._later("stalled", self._stalled_ms, self._close_stalled)

    def __len__(self) -> int:
        return len(self._connections)

    def hold(self, connection: Connection) -> None:
        """Have it serve what it holds at the end of this round of the loop, together with the others that the round brought.

        For requests of which many come at once: what serves and decides about them stays in the processor's caches then, which
        makes each of them a fifth cheaper than with a socket read between every two.
        """
        if not self._holding:
            asyncio.get_running_loop().call_soon(self._serve_held)
        self._holding.append(connection)

    def _serve_held(self) -> None:
        holding, self._holding = self._holding, []
        self._broker.clock.look()
        for connection in holding:
            try:
                connection.serve_held()
            except Exception:  # it must not keep back the others
                log.exception("request failed", client=connection.client_host)
                connection.refuse(FAULT)
        self._broker.groups.decide_gathered()

    @staticmethod
    def serve_known(connection: Connection, known: Serve, data: bytes) -> bool:
        """Serve a frame that may have come before; whether it was recognised, and needs no more."""
        return known(data)

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
            broker = self._broker
            request = self._request(broker, connection, payload, key, version, correlation_id, client_id, at, tagged)
            handler(broker, request)
        except BadHeader as problem:
            connection.refuse(f"no request: {problem}")
            return None
        except Unreadable as problem:
            connection.refuse(f"{APIS[key].name} {version} cannot be read: {problem}")
            return None
        except Exception:
            log.exception("request failed", api=APIS[key].name, version=version, client=connection.client_host)
            connection.refuse(FAULT)
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
        if key == API_VERSIONS.key:
            connection.answered(None, answer_frame(correlation_id, False, unknown_version_body()))
        else:
            connection.refuse(f"API {key} in version {version} is not served")
