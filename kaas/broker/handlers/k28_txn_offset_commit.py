"""TxnOffsetCommit (key 28), versions 0-5: stages a group's positions in a transaction (KIP-98, KIP-447).

Versions: 1 throttle time; 2 leader epochs, and 14 while groups load (15 below, as old clients do not know 14); 3 flexible, and
the member with its generation, which is checked; 4 a group that was not added to the transaction is 120 (48 below); 5 adds it
(KIP-890).
Rows of topics and partitions that are not there fail alone; if no others are left, nobody is asked. A producer of another epoch
is told 47 in every version.
Left out: nothing.
"""

from __future__ import annotations

import functools
from typing import Any

from kaas.broker.broker import Broker
from kaas.broker.commit_rows import refuse, reply, split
from kaas.broker.request import Request
from kaas.broker.transactional import refusal_of
from kaas.coordinator.answers import CommitAnswer
from kaas.coordinator.events import StageOffsets
from kaas.coordinator.offset_entry import OffsetRows
from kaas.coordinator.offsets import COMMITTED
from kaas.coordinator.transactions.events import AddAnswer, AddToTransaction
from kaas.errors import ErrorCode
from kaas.wire.apis import TXN_OFFSET_COMMIT

API = TXN_OFFSET_COMMIT
LOADING_SINCE = 2
MEMBER_SINCE = 3
ABORTABLE_SINCE = 4
ADDS_SINCE = 5
NOBODY = -1


def handle(broker: Broker, request: Request) -> None:
    """Serve a TxnOffsetCommit."""
    message, version = request.decode(), request.version
    if (refusal := refusal_of(request, message.transactional_id, message.group_id)) is not None:
        refuse(request, message, refusal)
        return
    rows, codes = split(broker, request, message, with_epoch=version >= 2)
    done = functools.partial(answered, request, message, codes)
    if not rows:
        done(COMMITTED)
        return
    if not message.group_id:
        done(CommitAnswer(ErrorCode.INVALID_GROUP_ID))
        return
    broker.groups.submit(
        AddToTransaction(
            reply_to=functools.partial(stage, broker, request, message, rows, done),
            transactional_id=message.transactional_id,
            producer_id=message.producer_id,
            epoch=message.producer_epoch,
            groups=(message.group_id,),
            verify_only=version < ADDS_SINCE,
            fenced_code=ErrorCode.INVALID_PRODUCER_EPOCH,
        )
    )


def stage(broker: Broker, request: Request, message: Any, rows: OffsetRows, done: Any, answer: AddAnswer) -> None:
    """The transaction's coordinator has spoken; now the group decides."""
    if answer.code or answer.missing:
        outside = ErrorCode.TRANSACTION_ABORTABLE if request.version >= ABORTABLE_SINCE else ErrorCode.INVALID_TXN_STATE
        done(CommitAnswer(answer.code or outside))
        return
    named = request.version >= MEMBER_SINCE
    broker.groups.submit(
        StageOffsets(
            reply_to=done,
            group_id=message.group_id,
            producer_id=message.producer_id,
            epoch=message.producer_epoch,
            generation=message.generation_id if named else NOBODY,
            member_id=message.member_id if named else "",
            instance_id=message.group_instance_id if named else None,
            rows=rows,
        )
    )


def answered(request: Request, message: Any, codes: list[ErrorCode], answer: CommitAnswer) -> None:
    """Answer with the edge's codes and the group's."""
    if request.version < LOADING_SINCE and answer.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
        answer = CommitAnswer(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    reply(request, message, codes, answer)
