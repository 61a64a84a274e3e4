"""SyncGroup (key 14), versions 0-5: the leader of a classic group hands out assignments, every member asks for its own.

Versions: 1 throttle time; 3 group instance id; 4 flexible; 5 protocol type and name, in the request (where both must stand) and
in the answer (KIP-559).
Left out: nothing.
"""

from __future__ import annotations

import functools
import struct

from kaas.broker.broker import Broker
from kaas.broker.known import CORRELATION_END, HEAD_BYTES, Known
from kaas.broker.request import Request, encoded
from kaas.broker.security.guard import may
from kaas.broker.security.operations import Kind, Operation
from kaas.coordinator import events
from kaas.coordinator.answers import SyncAnswer
from kaas.errors import ErrorCode
from kaas.wire.apis import SYNC_GROUP
from kaas.wire.encode import Values
from kaas.wire.frames import LENGTH
from kaas.wire.guard import skip_compact, skip_string

API = SYNC_GROUP
FLEXIBLE_SINCE = 4
GENERATION = struct.Struct(">i")


def handle(broker: Broker, request: Request) -> None:
    """Serve a SyncGroup."""
    message, version = request.decode(), request.version
    if not may(request, Operation.READ, Kind.GROUP, message.group_id):
        reply(request, SyncAnswer(code=ErrorCode.GROUP_AUTHORIZATION_FAILED))
        return
    protocol_type = message.protocol_type if version >= 5 else None
    protocol_name = message.protocol_name if version >= 5 else None
    event = events.Sync(
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
    if request.comes_again():
        request.remember(KnownSync(request, event).serve)
    broker.groups.submit(event)


def reply(request: Request, answer: SyncAnswer) -> None:
    request.answer(values_of(answer))


def values_of(answer: SyncAnswer) -> Values:
    return {
        "error_code": answer.code,
        "protocol_type": answer.protocol_type,
        "protocol_name": answer.protocol_name,
        "assignment": answer.assignment,
    }


class KnownSync(Known):
    """A Sync of the same member in another generation. What it is told is often what it was told last."""

    __slots__ = ("_answer", "_event", "_groups", "_head", "_middle", "_parts", "_place", "_rest", "_version")

    def __init__(self, request: Request, event: events.Sync) -> None:
        super().__init__(request)
        frame = request.frame
        skip = skip_compact if request.version >= FLEXIBLE_SINCE else skip_string
        self._place = LENGTH.size + skip(request.payload, request.body_at, len(request.payload))
        self._head = frame[:HEAD_BYTES]
        self._middle = frame[CORRELATION_END : self._place]
        self._rest = frame[self._place + GENERATION.size :]
        self._groups = request.broker.groups
        self._event = event
        self._version = request.version
        self._answer: SyncAnswer | None = None
        self._parts = (b"", b"")

    def serve(self, data: bytes) -> bool:
        place = self._place
        is_same = data.startswith(self._head) and data.endswith(self._rest)
        if not is_same or data[CORRELATION_END:place] != self._middle:
            return False
        self.correlation = data[HEAD_BYTES:CORRELATION_END]
        self.connection.park(self)
        event = self._event
        again = events.Sync(
            reply_to=self._reply,
            group_id=event.group_id,
            generation=GENERATION.unpack_from(data, place)[0],
            member_id=event.member_id,
            instance_id=event.instance_id,
            protocol_type=event.protocol_type,
            protocol_name=event.protocol_name,
            assignments=event.assignments,
            protocol_missing=event.protocol_missing,
        )
        self._groups.gather(again, self)
        return True

    def _reply(self, answer: SyncAnswer) -> None:
        if answer != self._answer:
            body = encoded(self.connection, API.key, self._version, values_of(answer))
            if body is None:
                return
            self._answer, self._parts = answer, self.parts(body)
        self.send(self._parts)
