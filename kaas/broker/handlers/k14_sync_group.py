"""SyncGroup (key 14), versions 0-5: the leader of a classic group hands out assignments, every member asks for its own.

Versions: 1 throttle time; 3 group instance id; 4 flexible; 5 protocol type and name, in the request (where both must stand) and
in the answer (KIP-559).
Left out: nothing.
"""

from __future__ import annotations

import functools

from kaas.broker.broker import Broker
from kaas.broker.request import Request
from kaas.broker.security.guard import may
from kaas.broker.security.operations import Kind, Operation
from kaas.coordinator import events
from kaas.coordinator.answers import SyncAnswer
from kaas.errors import ErrorCode
from kaas.wire.apis import SYNC_GROUP

API = SYNC_GROUP


def handle(broker: Broker, request: Request) -> None:
    """Serve a SyncGroup."""
    message, version = request.decode(), request.version
    if not may(request, Operation.READ, Kind.GROUP, message.group_id):
        reply(request, SyncAnswer(code=ErrorCode.GROUP_AUTHORIZATION_FAILED))
        return
    protocol_type = message.protocol_type if version >= 5 else None
    protocol_name = message.protocol_name if version >= 5 else None
    broker.groups.submit(
        events.Sync(
            reply_to=functools.partial(reply, request),
            group_id=message.group_id,
            generation=message.generation_id,
            member_id=message.member_id,
            instance_id=message.group_instance_id if version >= 3 else None,
            protocol_type=protocol_type,
            protocol_name=protocol_name,
            assignments={row.member_id: row.assignment for row in message.assignments},
            protocol_missing=version >= 5 and (protocol_type is None or protocol_name is None),
        )
    )


def reply(request: Request, answer: SyncAnswer) -> None:
    request.answer(
        {
            "error_code": answer.code,
            "protocol_type": answer.protocol_type,
            "protocol_name": answer.protocol_name,
            "assignment": answer.assignment,
        }
    )
