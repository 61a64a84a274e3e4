"""AddOffsetsToTxn (key 25), versions 0-4: says which group's offsets a transaction will commit (KIP-98).

Versions: 1 throttle time; 2 a fenced producer is told 90 (47 below); 3 flexible; 4 an abortable error, which is not used here.
Any group id will do, the empty one too: whether the group takes offsets is asked when they come.
Left out: nothing.
"""

from __future__ import annotations

import functools

from kaas.broker.broker import Broker
from kaas.broker.request import Request
from kaas.broker.transactional import fenced_code, refusal_of
from kaas.coordinator.transactions.events import AddAnswer, AddToTransaction
from kaas.wire.apis import ADD_OFFSETS_TO_TXN

API = ADD_OFFSETS_TO_TXN
FENCED_SINCE = 2


def handle(broker: Broker, request: Request) -> None:
    """Serve an AddOffsetsToTxn."""
    message = request.decode()
    if (refusal := refusal_of(request, message.transactional_id, message.group_id)) is not None:
        request.answer({"error_code": refusal})
        return
    broker.groups.submit(
        AddToTransaction(
            reply_to=functools.partial(reply, request),
            transactional_id=message.transactional_id,
            producer_id=message.producer_id,
            epoch=message.producer_epoch,
            groups=(message.group_id,),
            fenced_code=fenced_code(request.version, FENCED_SINCE),
        )
    )


def reply(request: Request, answer: AddAnswer) -> None:
    request.answer({"error_code": answer.code})
