"""Requests of clients that have quotas: counted when they are answered, told how long to wait, and made to.

Job: a request that counts itself. While there are quotas the dispatcher makes requests of this kind.
Rules: the answer goes out at once and says how long the client is to wait; the connection serves nothing for that time,
whether the client waits or not. Bytes that are written count as they come, bytes that are read as they go; a fetch while
nothing is left of the quota is answered empty. A wait for the number of requests is at most one window. ApiVersions and the
authentication are never counted. While it is counted a request is not recognised by its bytes (kaas.broker.known).
Must not know: what an API means.
Source: KIP-124, KIP-219.
"""

from __future__ import annotations

import dataclasses
import functools
import struct

from kaas.broker.request import Request
from kaas.broker.security.names import USER
from kaas.broker.security.quotas import Bucket, Measure
from kaas.wire.apis import API_VERSIONS, FETCH, PRODUCE, SASL_AUTHENTICATE, SASL_HANDSHAKE
from kaas.wire.encode import Values
from kaas.wire.schema import message_class

UNCOUNTED = (API_VERSIONS.key, SASL_HANDSHAKE.key, SASL_AUTHENTICATE.key)
THROTTLE = "throttle_time"
THROTTLE_MS = struct.Struct(">i")
LONGEST_S = 86_400.0
"""Nobody waits longer at once."""


class MeteredRequest(Request):
    """One request. `wait_s` is what its client has to wait, once it is counted."""

    __slots__ = ("wait_s",)

    def answer(self, values: Values) -> None:
        """Encode, count and send."""
        place = throttle_place(self.key, self.version)
        if place is not None and place > 0:
            self._count(0)
            values = {**values, THROTTLE: self._wait_ms}
        super().answer(values)

    def answer_body(self, body: bytes) -> None:
        """Count and send a body that is encoded already."""
        self._count(len(body))
        if self._wait_ms:
            if throttle_place(self.key, self.version) == 0:
                body = THROTTLE_MS.pack(self._wait_ms) + body[THROTTLE_MS.size :]
            if not self.done:
                self.connection.mute(self.wait_s)
        super().answer_body(body)

    def answer_nothing(self) -> None:
        """Count a request that has no answer."""
        self._count(0)
        if self._wait_ms and not self.done:
            self.connection.mute(self.wait_s)
        super().answer_nothing()

    def comes_again(self) -> bool:
        """It would not be counted then."""
        return False

    def has_used_up(self, measure: Measure) -> bool:
        """Whether nothing is left for its client."""
        now_s = self._now_s
        bucket = self._bucket(measure, now_s)
        return bucket is not None and bucket.wait_s(now_s) > 0

    @property
    def _now_s(self) -> float:
        return self.broker.clock.now_ms() / 1_000

    @property
    def _wait_ms(self) -> int:
        return round(self.wait_s * 1_000)

    def _bucket(self, measure: Measure, now_s: float) -> Bucket | None:
        user = self.connection.principal.removeprefix(USER)
        return self.broker.quotas.bucket(measure, user, self.client_id or "", now_s)

    def _count(self, sent_bytes: int) -> None:
        """Once."""
        if hasattr(self, "wait_s"):
            return
        self.wait_s = 0.0
        if self.key in UNCOUNTED:
            return
        longest_s = self.broker.settings["quota.window.size.seconds"]
        wait_s = min(self._take(Measure.REQUESTS, 1), longest_s)
        if self.key == PRODUCE.key:
            wait_s = max(wait_s, self._take(Measure.PRODUCED_BYTES, len(self.payload)))
        elif self.key == FETCH.key:
            wait_s = max(wait_s, self._take(Measure.FETCHED_BYTES, sent_bytes))
        self.wait_s = min(wait_s, LONGEST_S)

    def _take(self, measure: Measure, amount: int) -> float:
        now_s = self._now_s
        bucket = self._bucket(measure, now_s)
        return 0.0 if bucket is None else bucket.take(amount, now_s)


def is_held_back(request: Request, measure: Measure) -> bool:
    """Whether a request is to be answered without what it asks for, because nothing is left of a quota."""
    return isinstance(request, MeteredRequest) and request.has_used_up(measure)


@functools.cache
def throttle_place(key: int, version: int) -> int | None:
    """Which field of an answer says how long to wait; null when this version does not say."""
    names = [field.name for field in dataclasses.fields(message_class(key, version, "response"))]
    return names.index(THROTTLE) if THROTTLE in names else None
