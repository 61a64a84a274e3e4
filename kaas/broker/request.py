"""One request while it is served.

Job: what a handler sees of a request, and the one way to answer it: now, later, or not at all.
Rules: a request is answered once; later calls do nothing, as a client that went away and came back may have two parked
requests that end together. Encoding happens here, so that handlers deal in values.
Must not know: what any API means.
"""

from __future__ import annotations

from typing import Any

import structlog

from kaas.broker.broker import Broker
from kaas.broker.connection import Connection, Serve
from kaas.wire.apis import APIS
from kaas.wire.decode import decode
from kaas.wire.encode import Values, encode_response
from kaas.wire.frames import LENGTH
from kaas.wire.headers import answer_frame

log = structlog.get_logger("kaas.broker.request")


class Request:
    """`flexible`: the answer's header has a tag section."""

    __slots__ = (
        "_payload",
        "body_at",
        "broker",
        "client_id",
        "connection",
        "correlation_id",
        "done",
        "flexible",
        "key",
        "version",
    )

    def __init__(
        self,
        broker: Broker,
        connection: Connection,
        payload: bytes,
        key: int,
        version: int,
        correlation_id: int,
        client_id: str | None,
        body_at: int,
        flexible: bool,
    ) -> None:
        self.broker = broker
        self.connection = connection
        self._payload = payload
        self.key = key
        self.version = version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.body_at = body_at
        self.flexible = flexible
        self.done = False

    def decode(self) -> Any:
        """The message (kio's entity). Raises Unreadable, which ends the connection."""
        return decode(self.key, self.version, "request", self._payload, self.body_at)

    @property
    def payload(self) -> bytes:
        """The request's bytes behind the length; the body begins at `body_at`."""
        return self._payload

    @property
    def frame(self) -> bytes:
        """The request's bytes as they came."""
        return LENGTH.pack(len(self._payload)) + self._payload

    def comes_again(self) -> bool:
        """Whether it is worth being recognised when it comes once more."""
        return self.connection.comes_again(LENGTH.size + len(self._payload))

    def remember(self, known: Serve) -> None:
        """Recognise it when it comes once more."""
        self.connection.remember(LENGTH.size + len(self._payload), known)

    def answer(self, values: Values) -> None:
        """Encode and send."""
        body = encoded(self.connection, self.key, self.version, values)
        if body is None:
            self.done = True
        else:
            self.answer_body(body)

    def answer_body(self, body: bytes) -> None:
        """Send a body that is encoded already."""
        if not self.done:
            self.done = True
            self.connection.answered(self, answer_frame(self.correlation_id, self.flexible, body))

    def answer_nothing(self) -> None:
        """The request has no answer (Produce with acks=0)."""
        if not self.done:
            self.done = True
            self.connection.answered(self, None)

    def refuse(self, reason: str) -> None:
        """End the connection instead of answering."""
        self.done = True
        self.connection.refuse(reason)


def encoded(connection: Connection, key: int, version: int, values: Values) -> bytes | None:
    """The body of an answer; null if this version cannot carry it (a longer id, say), which ends the connection."""
    try:
        return encode_response(key, version, values)
    except Exception:
        log.exception("an answer cannot be written", api=APIS[key].name, version=version)
        connection.refuse("an answer that cannot be written")
        return None
