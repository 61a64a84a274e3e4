"""ConsumerGroupHeartbeat (key 68), versions 0-1: a member of a consumer group comes, goes on or goes (KIP-848).

Versions: 0 the broker makes the id of a member that comes without one; 1 the client makes it (KIP-1082), and may subscribe by a
pattern.
Without `consumer` in `group.coordinator.rebalance.protocols` every request is refused with 35.
Left out: nothing.
"""

from __future__ import annotations

import datetime
import functools
import uuid
from collections.abc import Callable
from typing import Any

from kaas.broker.broker import Broker
from kaas.broker.group_settings import serves_consumer_groups
from kaas.broker.known import KnownBeat
from kaas.broker.request import Request
from kaas.broker.security.guard import may
from kaas.broker.security.operations import Kind, Operation
from kaas.coordinator import events
from kaas.coordinator.answers import ConsumerHeartbeatAnswer
from kaas.coordinator.topics import Partitions
from kaas.errors import ErrorCode
from kaas.wire.apis import CONSUMER_GROUP_HEARTBEAT
from kaas.wire.encode import encode_response

API = CONSUMER_GROUP_HEARTBEAT
PATTERN_SINCE = 1
MILLISECOND = datetime.timedelta(milliseconds=1)


def handle(broker: Broker, request: Request) -> None:
    """Serve a ConsumerGroupHeartbeat."""
    message, version = request.decode(), request.version
    code = refusal(broker, request, message)
    if code:
        reply(request, ConsumerHeartbeatAnswer(code=code))
        return
    event = events.ConsumerHeartbeat(
        reply_to=functools.partial(reply, request),
        group_id=message.group_id,
        member_id=message.member_id,
        epoch=message.member_epoch,
        instance_id=message.instance_id,
        rack_id=message.rack_id,
        rebalance_timeout_ms=message.rebalance_timeout // MILLISECOND,
        topics=message.subscribed_topic_names,
        regex=message.subscribed_topic_regex if version >= PATTERN_SINCE else None,
        assignor=message.server_assignor,
        owned=owned(message.topic_partitions),
        client_id=request.client_id or "",
        client_host=request.connection.client_host,
        makes_id=version >= 1,
        fresh_id="" if message.member_id else str(uuid.uuid4()),
        may_describe=describes(broker, request),
    )
    broker.groups.submit(event)
    if message.member_epoch > 0 and request.comes_again():  # who joins without an id gets a new one each time
        request.remember(KnownHeartbeat(request, event).serve)


def refusal(broker: Broker, request: Request, message: Any) -> ErrorCode:
    """What is refused before the group is asked; NONE: nothing."""
    if not serves_consumer_groups(broker.settings):
        return ErrorCode.UNSUPPORTED_VERSION
    if not may(request, Operation.READ, Kind.GROUP, message.group_id):
        return ErrorCode.GROUP_AUTHORIZATION_FAILED
    if not all(may(request, Operation.DESCRIBE, Kind.TOPIC, name) for name in message.subscribed_topic_names or ()):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return ErrorCode.NONE


def describes(broker: Broker, request: Request) -> Callable[[str], bool] | None:
    """What a pattern may match; null while there are no rules."""
    return None if broker.rules is None else functools.partial(may, request, Operation.DESCRIBE, Kind.TOPIC)


def owned(rows: Any) -> Partitions | None:
    """What the member says that it holds; null: it does not say."""
    if rows is None:
        return None
    return {b"" if row.topic_id is None else row.topic_id.bytes: row.partitions for row in rows}


def reply(request: Request, answer: ConsumerHeartbeatAnswer) -> None:
    request.answer(values(answer))


def values(answer: ConsumerHeartbeatAnswer) -> dict[str, Any]:
    return {
        "error_code": answer.code,
        "error_message": answer.message,
        "member_id": answer.member_id,
        "member_epoch": answer.epoch,
        "heartbeat_interval": answer.interval_ms,
        "assignment": None if answer.assignment is None else {"topic_partitions": assigned(answer.assignment)},
    }


def assigned(partitions: Partitions) -> list[dict[str, Any]]:
    return [{"topic_id": uuid.UUID(bytes=topic_id), "partitions": row} for topic_id, row in partitions.items()]


class KnownHeartbeat(KnownBeat):
    """A heartbeat of the same member at the same epoch that says the same. Answers that tell no assignment are kept."""

    __slots__ = ()

    def _reply(self, answer: ConsumerHeartbeatAnswer) -> None:
        key = answer.epoch, answer.interval_ms
        if answer.code or answer.assignment is not None:
            self.send(self.parts(self._encoded(answer)))
        else:
            self.send(self._answers.get(key) or self._kept(key, self._encoded(answer)))

    def _encoded(self, answer: ConsumerHeartbeatAnswer) -> bytes:
        return encode_response(API.key, self._version, values(answer))
