"""InitProducerId (key 22), versions 0-5: gives an idempotent producer its id.

Versions: 1 throttle time; 2 flexible; 3 the producer's present id and epoch; 4 and 5 other error codes for
transactions. A producer without a transactional id gets a new id each time, with epoch 0.
Left out: transactional ids, which no coordinator takes here yet: 15.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from kaas.errors import ErrorCode, KafkaError
from kaas.wire.apis import INIT_PRODUCER_ID

if TYPE_CHECKING:
    from kaas.broker.request import Request
    from kaas.broker.server import Broker

API = INIT_PRODUCER_ID
FIRST_EPOCH = 0


def handle(broker: Broker, request: Request) -> None:
    """Serve an InitProducerId."""
    transactional_id = request.decode().transactional_id
    if transactional_id is None:
        broker.topics.give_producer_id(broker.broker_id, functools.partial(reply, request))
    elif transactional_id == "":
        reply(request, KafkaError(ErrorCode.INVALID_REQUEST))
    else:
        reply(request, KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE))


def reply(request: Request, result: int | KafkaError) -> None:
    """Answer with the new id, or why there is none."""
    if isinstance(result, KafkaError):
        request.answer({"error_code": result.code, "producer_id": -1, "producer_epoch": -1})
    else:
        request.answer({"error_code": ErrorCode.NONE, "producer_id": result, "producer_epoch": FIRST_EPOCH})
