"""InitProducerId (key 22), versions 0-5: gives a producer its id and epoch.

Versions: 1 throttle time; 2 flexible; 3 the producer's present id and epoch, to recover with (KIP-360); 4 a fenced
producer is told 90 (47 below); 5 an abortable error, which is not used here. A producer without a transactional id
gets a new id each time, with epoch 0; one with it gets the next epoch of its id, and whoever had it before is fenced.
Left out: version 6 (two-phase commit, unstable).
"""

from __future__ import annotations

import datetime
import functools
from typing import TYPE_CHECKING, Any

from kaas.coordinator.transactions.events import InitProducer, ProducerAnswer
from kaas.errors import ErrorCode, KafkaError
from kaas.wire.apis import INIT_PRODUCER_ID

if TYPE_CHECKING:
    from kaas.broker.request import Request
    from kaas.broker.server import Broker

API = INIT_PRODUCER_ID
FIRST_EPOCH = 0
NOT_GIVEN = -1
FENCED_SINCE = 4
MILLISECOND = datetime.timedelta(milliseconds=1)


def handle(broker: Broker, request: Request) -> None:
    """Serve an InitProducerId."""
    message = request.decode()
    if message.transactional_id is None:
        broker.topics.give_producer_id(broker.broker_id, functools.partial(reply_idempotent, request))
    else:
        broker.topics.give_producer_id(broker.broker_id, functools.partial(identify, broker, request, message))


def identify(broker: Broker, request: Request, message: Any, fresh_id: int | KafkaError) -> None:
    """Ask for the transactional id, with a producer id at hand in case a new one is needed."""
    if isinstance(fresh_id, KafkaError):
        reply(request, ProducerAnswer(fresh_id.code))
        return
    knows_itself = request.version >= 3
    broker.groups.submit(
        InitProducer(
            reply_to=functools.partial(reply, request),
            transactional_id=message.transactional_id,
            timeout_ms=message.transaction_timeout // MILLISECOND,
            producer_id=message.producer_id if knows_itself else NOT_GIVEN,
            epoch=message.producer_epoch if knows_itself else NOT_GIVEN,
            fresh_producer_id=fresh_id,
            fenced_code=fenced_code(request.version, FENCED_SINCE),
        )
    )


def fenced_code(version: int, since: int) -> ErrorCode:
    """What a producer of another epoch hears: from a version on that it must stop, before that its epoch is wrong."""
    return ErrorCode.PRODUCER_FENCED if version >= since else ErrorCode.INVALID_PRODUCER_EPOCH


def reply_idempotent(request: Request, result: int | KafkaError) -> None:
    if isinstance(result, KafkaError):
        reply(request, ProducerAnswer(result.code))
    else:
        reply(request, ProducerAnswer(ErrorCode.NONE, result, FIRST_EPOCH))


def reply(request: Request, answer: ProducerAnswer) -> None:
    request.answer({"error_code": answer.code, "producer_id": answer.producer_id, "producer_epoch": answer.epoch})
