"""JoinGroup (key 11), versions 0-9: a member of a classic group comes, or comes back.

Versions: 1 rebalance timeout (0 uses the session timeout for it, brod#465); 2 throttle time; 4 a newcomer is told its id first
(KIP-394); 5 group instance id (KIP-345); 6 flexible; 7 protocol type and a nullable protocol name in the answer; 8 the
member's reason (KIP-800); 9 SkipAssignment (KIP-814).
Left out: nothing.
"""

from __future__ import annotations

import datetime
import functools
import uuid

from kaas.broker.broker import Broker
from kaas.broker.known import Repeated
from kaas.broker.request import Request, encoded
from kaas.broker.security.guard import may
from kaas.broker.security.operations import Kind, Operation
from kaas.coordinator import events
from kaas.coordinator.answers import JoinAnswer
from kaas.errors import ErrorCode
from kaas.wire.apis import JOIN_GROUP
from kaas.wire.encode import Values

API = JOIN_GROUP
MILLISECOND = datetime.timedelta(milliseconds=1)


def handle(broker: Broker, request: Request) -> None:
    """Serve a JoinGroup."""
    message, version = request.decode(), request.version
    if not may(request, Operation.READ, Kind.GROUP, message.group_id):
        reply(request, JoinAnswer(code=ErrorCode.GROUP_AUTHORIZATION_FAILED, member_id=""))
        return
    session_timeout_ms = message.session_timeout // MILLISECOND
    event = events.Join(
        reply_to=functools.partial(reply, request),
        group_id=message.group_id,
        member_id=message.member_id,
        instance_id=message.group_instance_id if version >= 5 else None,
        client_id=request.client_id or "",
        client_host=request.connection.client_host,
        session_timeout_ms=session_timeout_ms,
        rebalance_timeout_ms=message.rebalance_timeout // MILLISECOND if version >= 1 else session_timeout_ms,
        protocol_type=message.protocol_type,
        protocols=tuple((row.name, row.metadata) for row in message.protocols),
        reason=message.reason if version >= 8 else None,
        requires_known_id=version >= 4,
        can_skip_assignment=version >= 9,
        fresh_id="" if message.member_id else str(uuid.uuid4()),
    )
    if message.member_id and request.comes_again():  # who joins without an id gets a new one each time
        request.remember(KnownJoin(request, event).serve)
    broker.groups.submit(event)


def reply(request: Request, answer: JoinAnswer) -> None:
    request.answer(values_of(request.version, answer))


def values_of(version: int, answer: JoinAnswer) -> Values:
    name = answer.protocol_name
    return {
        "error_code": answer.code,
        "generation_id": answer.generation,
        "protocol_type": answer.protocol_type,
        "protocol_name": (name or "") if version < 7 else name,
        "leader": answer.leader,
        "skip_assignment": answer.skip_assignment,
        "member_id": answer.member_id,
        "members": [
            {"member_id": m.member_id, "group_instance_id": m.instance_id, "metadata": m.metadata}
            for m in answer.members
        ],
    }


class KnownJoin(Repeated):
    """A member that comes back as it came before."""

    __slots__ = ()

    def _reply(self, answer: JoinAnswer) -> None:
        body = encoded(self.connection, API.key, self._version, values_of(self._version, answer))
        if body is not None:
            self.send(self.parts(body))
