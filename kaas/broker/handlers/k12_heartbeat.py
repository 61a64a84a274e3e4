"""Heartbeat (key 12), versions 0-4: a member of a classic group is alive.

Versions: 1 throttle time; 3 group instance id; 4 flexible.
Left out: nothing.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from kaas.coordinator import events
from kaas.errors import ErrorCode
from kaas.wire.apis import HEARTBEAT
from kaas.wire.encode import encode_response

if TYPE_CHECKING:
    from kaas.broker.request import Request
    from kaas.broker.server import Broker

API = HEARTBEAT


def handle(broker: Broker, request: Request) -> None:
    """Serve a Heartbeat."""
    message = request.decode()
    broker.groups.submit(
        events.Heartbeat(
            reply_to=functools.partial(reply, request),
            group_id=message.group_id,
            generation=message.generation_id,
            member_id=message.member_id,
            instance_id=message.group_instance_id if request.version >= 3 else None,
        )
    )


def reply(request: Request, code: ErrorCode) -> None:
    request.answer_body(body(request.version, code))


@functools.cache
def body(version: int, code: ErrorCode) -> bytes:
    """There are a handful of answers, so each is encoded once."""
    return encode_response(API.key, version, {"error_code": code})
