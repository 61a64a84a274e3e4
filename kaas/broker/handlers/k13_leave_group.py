"""LeaveGroup (key 13), versions 0-5: members go, or an operator removes them.

Versions: 0-2 one member, its error at the top; 1 throttle time; 3 many members with instance ids, an error each (KIP-345); 4
flexible; 5 a reason each (KIP-800).
Left out: nothing.
"""

from __future__ import annotations

import functools

from kaas.broker.broker import Broker
from kaas.broker.request import Request
from kaas.broker.security.guard import may
from kaas.broker.security.operations import Kind, Operation
from kaas.coordinator import events
from kaas.coordinator.answers import LeaveAnswer
from kaas.errors import ErrorCode
from kaas.wire.apis import LEAVE_GROUP

API = LEAVE_GROUP


def handle(broker: Broker, request: Request) -> None:
    """Serve a LeaveGroup."""
    message, version = request.decode(), request.version
    if not may(request, Operation.READ, Kind.GROUP, message.group_id):
        reply(request, LeaveAnswer(code=ErrorCode.GROUP_AUTHORIZATION_FAILED))
        return
    if version < 3:
        members: tuple[events.Leaving, ...] = (events.Leaving(member_id=message.member_id, instance_id=None),)
    else:
        members = tuple(
            events.Leaving(
                member_id=row.member_id,
                instance_id=row.group_instance_id,
                reason=row.reason if version >= 5 else None,
            )
            for row in message.members
        )
    broker.groups.submit(
        events.Leave(reply_to=functools.partial(reply, request), group_id=message.group_id, members=members)
    )


def reply(request: Request, answer: LeaveAnswer) -> None:
    code = answer.code
    if request.version < 3 and not code and answer.members:
        code = answer.members[0].code
    rows = [
        {"member_id": m.member_id, "group_instance_id": m.instance_id, "error_code": m.code} for m in answer.members
    ]
    request.answer({"error_code": code, "members": rows})
