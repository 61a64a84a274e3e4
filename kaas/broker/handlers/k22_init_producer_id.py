"""InitProducerId (key 22), versions 0-5: gives a producer its id and epoch.

Versions: 1 throttle time; 2 flexible; 3 the producer's present id and epoch, to recover with (KIP-360); 4 a fenced
producer is told 90 (47 below); 5 an abortable error, which is not used here. A producer without a transactional id
gets a new id each time, with epoch 0; one with it gets the next epoch of its id, and whoever had it before is fenced. Half
an identity is 42. When the disk gives no new ids, a producer is told to ask again (14), as an Apache broker does.
Left out: version 6 (two-phase commit, unstable).
"""

from __future__ import annotations

import datetime
import functools
from typing import Any

from kaas.broker.broker import Broker
from kaas.broker.request import Request
from kaas.broker.security.guard import may, may_with_any
from kaas.broker.security.operations import Kind, Operation
from kaas.broker.transactional import NO_ID, NOT_GIVEN, fenced_code
from kaas.coordinator.transactions.events import InitProducer, ProducerAnswer
from kaas.errors import ErrorCode, KafkaError
from kaas.wire.apis import INIT_PRODUCER_ID

API = INIT_PRODUCER_ID
FIRST_EPOCH = 0
KNOWN_SINCE = 3
FENCED_SINCE = 4
MILLISECOND = datetime.timedelta(milliseconds=1)


def handle(broker: Broker, request: Request) -> None:
    """Serve an InitProducerId."""
    message = request.decode()
    known = (message.producer_id, message.producer_epoch) if request.version >= KNOWN_SINCE else (NOT_GIVEN, NOT_GIVEN)
    if (refusal := refusal_of(request, message.transactional_id)) is not None:
        reply(request, ProducerAnswer(refusal))
    elif known.count(NOT_GIVEN) == 1:
        reply(request, ProducerAnswer(ErrorCode.INVALID_REQUEST))
    elif message.transactional_id is None:
        broker.topics.give_producer_id(broker.broker_id, functools.partial(reply_idempotent, request))
    else:
        broker.topics.give_producer_id(broker.broker_id, functools.partial(identify, broker, request, message, known))


def refusal_of(request: Request, transactional_id: str | None) -> ErrorCode | None:
    """Why the client may not have a producer id; who may write to any topic may write idempotently (KIP-679)."""
    if transactional_id is not None:
        allowed = may(request, Operation.WRITE, Kind.TRANSACTIONAL_ID, transactional_id)
        return None if allowed else ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    if may(request, Operation.IDEMPOTENT_WRITE, Kind.CLUSTER) or may_with_any(request, Operation.WRITE, Kind.TOPIC):
        return None
    return ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def identify(
    broker: Broker, request: Request, message: Any, known: tuple[int, int], fresh_id: int | KafkaError
) -> None:
    """Ask for the transactional id, with a producer id at hand in case a new one is needed."""
    if isinstance(fresh_id, KafkaError):
        reply(request, NO_ID)
        return
    broker.groups.submit(
        InitProducer(
            reply_to=functools.partial(reply, request),
            transactional_id=message.transactional_id,
            timeout_ms=message.transaction_timeout // MILLISECOND,
            producer_id=known[0],
            epoch=known[1],
            fresh_producer_id=fresh_id,
            fenced_code=fenced_code(request.version, FENCED_SINCE),
        )
    )


def reply_idempotent(request: Request, result: int | KafkaError) -> None:
    if isinstance(result, KafkaError):
        reply(request, NO_ID)
    else:
        reply(request, ProducerAnswer(ErrorCode.NONE, result, FIRST_EPOCH))


def reply(request: Request, answer: ProducerAnswer) -> None:
    request.answer({"error_code": answer.code, "producer_id": answer.producer_id, "producer_epoch": answer.epoch})
