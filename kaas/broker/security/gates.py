"""What stands between a listener's connections and the dispatcher until it is known who they are.

Job: a gate per listener: connections with certificates are named by them; on SASL listeners nothing is served but ApiVersions
and the authentication itself.
Rules
- A gate that has done its work takes itself out of the way: `connection.desk` becomes the dispatcher. It stays where clients
  must sign in again after a time.
- Before a client has signed in its requests are small (`sasl.server.max.receive.size`), so that nobody can fill the memory.
- Wrong credentials are answered after a delay, with one sentence that does not say what was wrong, and the connection ends.
  The log has one line with the name that was given.
- What takes milliseconds runs in a thread of its own.
Must not know: mechanisms, what APIs mean.
Source: KIP-43, KIP-152, KIP-306 (delay), KIP-368 (re-authentication); Apache Kafka 4.2, SaslServerAuthenticator.
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
from collections.abc import Callable, Mapping
from concurrent.futures import Executor

import structlog

from kaas.broker.connection import Connection, Desk, Serve
from kaas.broker.security.failure import AuthenticationFailed
from kaas.broker.security.names import USER, BadName, MappingRule, certificate_name
from kaas.broker.security.sasl import Exchange, Phase, SaslSession
from kaas.wire.apis import API_VERSIONS, APIS, SASL_AUTHENTICATE, SASL_HANDSHAKE
from kaas.wire.frames import LENGTH

log = structlog.get_logger("kaas.broker.security")

BEFORE = (SASL_HANDSHAKE.key, API_VERSIONS.key, SASL_AUTHENTICATE.key)
"""The APIs that are served to anybody."""
KEY = struct.Struct(">h")

Answered = Callable[["bytes | AuthenticationFailed"], None]


class RawToken:
    """A bare token whose answer is still to come."""

    __slots__ = ("done",)

    def __init__(self) -> None:
        self.done = False


class CertificateGate:
    """Names connections by their certificates. One without a certificate stays anonymous, where that is allowed."""

    def __init__(self, desk: Desk, rules: list[MappingRule]) -> None:
        self._desk = desk
        self._rules = rules

    def opened(self, connection: Connection) -> bool:
        assert connection.transport is not None
        encrypted = connection.transport.get_extra_info("ssl_object")
        certificate = encrypted.getpeercert() if encrypted is not None else None
        try:
            if certificate:
                connection.principal = USER + certificate_name(certificate["subject"], self._rules)
        except BadName as problem:
            log.warning("connection refused", client=connection.client_host, reason=str(problem))
            return False
        connection.desk = self._desk
        return self._desk.opened(connection)

    def closed(self, connection: Connection) -> None:
        self._desk.closed(connection)

    def serve(self, connection: Connection, payload: bytes) -> object | None:
        raise AssertionError("a connection is served by the desk behind this gate")

    def hold(self, connection: Connection) -> None:
        raise AssertionError("a connection is served by the desk behind this gate")

    def serve_known(self, connection: Connection, known: Serve, data: bytes) -> bool:
        raise AssertionError("a connection is served by the desk behind this gate")


class SaslGate:
    """Lets those through who sign in. `offered`: how to begin an exchange, by mechanism; times are ms, sizes bytes."""

    def __init__(
        self,
        desk: Desk,
        offered: Mapping[str, Callable[[], Exchange]],
        *,
        now_ms: Callable[[], int],
        lifetime_ms: int,
        failure_delay_ms: int,
        max_bytes_before: int,
        threads: Executor,
    ) -> None:
        self._desk = desk
        self._offered = offered
        self._now_ms = now_ms
        self._lifetime_ms = lifetime_ms
        self._failure_delay_ms = failure_delay_ms
        self._max_bytes_before = max_bytes_before
        self._threads = threads

    def opened(self, connection: Connection) -> bool:
        connection.session = SaslSession(self._offered)
        connection.take_frames_up_to(self._max_bytes_before)
        return self._desk.opened(connection)

    def closed(self, connection: Connection) -> None:
        self._desk.closed(connection)

    def hold(self, connection: Connection) -> None:
        self._desk.hold(connection)

    def serve_known(self, connection: Connection, known: Serve, data: bytes) -> bool:
        session = self._session(connection)
        if session.phase is not Phase.OPEN or session.has_expired(self._now_ms()):
            return False
        return self._desk.serve_known(connection, known, data)

    def serve(self, connection: Connection, payload: bytes) -> object | None:
        """Serve one payload, if it may be served now."""
        session = self._session(connection)
        if session.phase is Phase.TOKENS and session.is_raw:
            return self._raw(connection, payload)
        key = KEY.unpack_from(payload)[0] if len(payload) >= KEY.size else None
        if session.phase is Phase.OPEN:
            if key == SASL_HANDSHAKE.key or not session.has_expired(self._now_ms()):
                return self._desk.serve(connection, payload)
            connection.refuse("it has not signed in again within connections.max.reauth.ms")
        elif key in BEFORE:
            return self._desk.serve(connection, payload)
        else:
            name = APIS[key].name if key in APIS else f"API {key}"
            connection.refuse(f"{name} before it has signed in")
        return None

    # What the handlers of SaslHandshake and SaslAuthenticate ask

    def handshake(self, connection: Connection, mechanism: str, *, raw: bool, answered: Answered) -> None:
        """A mechanism is chosen; the answer is empty, or why not."""
        session = self._session(connection)
        try:
            session.begin(mechanism, raw=raw)
        except AuthenticationFailed as failure:
            self._fail(connection, failure, answered)
            return
        connection.desk = self
        answered(b"")

    def take(self, connection: Connection, token: bytes, answered: Answered) -> None:
        """A token came; its answer, or why there is none."""
        session = self._session(connection)
        exchange = session.exchange
        if not exchange.is_costly:
            self._stepped(connection, _step(exchange, token), answered)
            return
        loop = asyncio.get_running_loop()

        def stepped(result: bytes | AuthenticationFailed) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits for this any more
                loop.call_soon_threadsafe(self._stepped, connection, result, answered)

        self._threads.submit(lambda: stepped(_step(exchange, token)))

    def lifetime_ms(self, connection: Connection) -> int:
        """How long what was shown holds; 0 is for ever."""
        return self._lifetime_ms if self._session(connection).phase is Phase.OPEN else 0

    def _stepped(self, connection: Connection, result: bytes | AuthenticationFailed, answered: Answered) -> None:
        session = self._session(connection)
        try:
            if isinstance(result, AuthenticationFailed):
                raise result
            if session.settle(self._now_ms(), self._lifetime_ms):
                self._open(connection, session)
        except AuthenticationFailed as failure:
            self._fail(connection, failure, answered)
            return
        answered(result)

    def _open(self, connection: Connection, session: SaslSession) -> None:
        connection.principal = session.principal
        connection.take_frames_up_to(connection.max_bytes)
        if not self._lifetime_ms:
            connection.desk = self._desk

    def _fail(self, connection: Connection, failure: AuthenticationFailed, answered: Answered) -> None:
        session = self._session(connection)
        session.fail()
        log.warning(
            "authentication failed",
            client=connection.client_host,
            listener=connection.listener,
            mechanism=session.mechanism,
            user=failure.user,
            reason=failure.reason,
        )
        asyncio.get_running_loop().call_later(self._failure_delay_ms / 1_000, answered, failure)

    def _raw(self, connection: Connection, token: bytes) -> RawToken | None:
        """A token without a request around it (version 0 of the handshake)."""
        parked = RawToken()

        def answered(result: bytes | AuthenticationFailed) -> None:
            parked.done = True
            if isinstance(result, AuthenticationFailed):
                connection.refuse("authentication failed")
            else:
                connection.answered(parked, LENGTH.pack(len(result)) + result)

        self.take(connection, token, answered)
        return None if parked.done else parked

    @staticmethod
    def _session(connection: Connection) -> SaslSession:
        assert connection.session is not None
        return connection.session


def _step(exchange: Exchange, token: bytes) -> bytes | AuthenticationFailed:
    try:
        return exchange.step(token)
    except AuthenticationFailed as failure:
        return failure
