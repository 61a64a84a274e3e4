"""Heartbeat (key 12), versions 0-4: a member of a classic group is alive.

Versions: 1 throttle time; 3 group instance id; 4 flexible.
Left out: nothing.
"""

from __future__ import annotations

import functools

from kaas.broker.broker import Broker
from kaas.broker.known import KnownBeat
from kaas.broker.request import Request
from kaas.broker.security.guard import may
from kaas.broker.security.operations import Kind, Operation
from kaas.coordinator import events
from kaas.errors import ErrorCode
from kaas.wire.apis import HEARTBEAT
from kaas.wire.encode import encode_response

API = HEARTBEAT


def handle(broker: Broker, request: Request) -> None:
    """Serve a Heartbeat."""
    message = request.decode()
    if not may(request, Operation.READ, Kind.GROUP, message.group_id):
        reply(request, ErrorCode.GROUP_AUTHORIZATION_FAILED)
        return
    event = events.Heartbeat(
        reply_to=functools.partial(reply, request),
        group_id=message.group_id,
        generation=message.generation_id,
        member_id=message.member_id,
        instance_id=message.group_instance_id if request.version >= 3 else None,
    )
    broker.groups.submit(event)
    if request.comes_again():
        request.remember(KnownHeartbeat(request, event).serve)


def reply(request: Request, code: ErrorCode) -> None:
    request.answer_body(body(request.version, code))


@functools.cache
def body(version: int, code: ErrorCode) -> bytes:
    """There are a handful of answers, so each is encoded once."""
    return encode_response(API.key, version, {"error_code": code})


class KnownHeartbeat(KnownBeat):
    """A heartbeat of the same member in the same generation."""

    __slots__ = ()

    def _reply(self, code: ErrorCode) -> None:
        self.send(self._answers.get(code) or self._kept(code, body(self._version, code)))
