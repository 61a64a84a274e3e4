"""EndTxn (key 26), versions 0-5: commits or aborts a transaction. The answer comes when everybody can see it.

Versions: 1 throttle time; 2 a fenced producer is told 90 (47 below); 3 flexible; 4 an abortable error, which is not used here;
5 the answer gives the epoch to go on with (KIP-890).
Left out: nothing.
"""

from __future__ import annotations

import functools
from typing import Any

from kaas.broker.broker import Broker
from kaas.broker.request import Request
from kaas.broker.security.guard import may
from kaas.broker.security.operations import Kind, Operation
from kaas.broker.transactional import NO_ID, NOT_GIVEN, fenced_code
from kaas.coordinator.transactions.ending import needs_new_producer_id
from kaas.coordinator.transactions.events import EndTransaction, ProducerAnswer
from kaas.errors import ErrorCode, KafkaError
from kaas.wire.apis import END_TXN

API = END_TXN
FENCED_SINCE = 2
BUMPS_SINCE = 5


def handle(broker: Broker, request: Request) -> None:
    """Serve an EndTxn."""
    message = request.decode()
    if not may(request, Operation.WRITE, Kind.TRANSACTIONAL_ID, message.transactional_id):
        reply(request, ProducerAnswer(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED))
        return
    if request.version >= BUMPS_SINCE and needs_new_producer_id(broker.groups.coordinator, message.transactional_id):
        broker.topics.give_producer_id(broker.broker_id, functools.partial(end, broker, request, message))
    else:
        end(broker, request, message, NOT_GIVEN)


def end(broker: Broker, request: Request, message: Any, fresh_id: int | KafkaError) -> None:
    """End it, with a new producer id at hand when the epochs of the present one are used up."""
    if isinstance(fresh_id, KafkaError):
        reply(request, NO_ID)
        return
    broker.groups.submit(
        EndTransaction(
            reply_to=functools.partial(reply, request),
            transactional_id=message.transactional_id,
            producer_id=message.producer_id,
            epoch=message.producer_epoch,
            committed=message.committed,
            bumps_epoch=request.version >= BUMPS_SINCE,
            fenced_code=fenced_code(request.version, FENCED_SINCE),
            fresh_producer_id=fresh_id,
        )
    )


def reply(request: Request, answer: ProducerAnswer) -> None:
    request.answer({"error_code": answer.code, "producer_id": answer.producer_id, "producer_epoch": answer.epoch})
