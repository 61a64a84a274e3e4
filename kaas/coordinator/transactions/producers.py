"""InitProducerId: a producer comes with a transactional id, and whoever had it before is fenced.

Rules: one producer holds an id; the newest wins by a higher epoch. An open transaction of the one before is aborted first, and
the newcomer told to ask again meanwhile (51).
Source: Apache Kafka 4.2 `TransactionCoordinator.handleInitProducerId`; KIP-98, KIP-360 (a producer that recovers names who it
was).
"""

from __future__ import annotations

from typing import Any

import msgspec

from kaas.coordinator.core import Core
from kaas.coordinator.transactions.deciding import decide
from kaas.coordinator.transactions.ending import abort_for
from kaas.coordinator.transactions.events import InitProducer, ProducerAnswer
from kaas.coordinator.transactions.holder import Holder
from kaas.coordinator.transactions.state import LAST_EPOCH, NONE, Identity, TransactionState, fresh
from kaas.coordinator.transactions.states import ENDING, TxnState
from kaas.errors import ErrorCode


def init_producer(core: Core, event: InitProducer, now_ms: int) -> None:
    """Handle an InitProducerId."""
    code = check_request(core, event)
    if code:
        core.out.reply(event.reply_to, ProducerAnswer(code))
        return
    wall_ms = core.wall_ms(now_ms)
    holder = core.transactions.get(event.transactional_id)
    if holder is None:
        state = fresh(event.transactional_id, event.fresh_producer_id, event.timeout_ms, wall_ms)
        holder = core.transactions[event.transactional_id] = Holder(state)
    code = check_state(holder, event)
    if code:
        core.out.reply(event.reply_to, ProducerAnswer(code))
    elif holder.decided.txn_state is TxnState.ONGOING:
        abort_for(core, holder, now_ms)
        core.out.reply(event.reply_to, ProducerAnswer(ErrorCode.CONCURRENT_TRANSACTIONS))
    else:
        identify(core, holder, event, now_ms)


def check_request(core: Core, event: InitProducer) -> ErrorCode:
    """What can be said without looking at the id."""
    if core.is_loading_transaction(event.transactional_id):
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    if not event.transactional_id or (event.producer_id == NONE) != (event.epoch == NONE):
        return ErrorCode.INVALID_REQUEST
    if not 0 < event.timeout_ms <= core.config.transaction_max_timeout_ms:
        return ErrorCode.INVALID_TRANSACTION_TIMEOUT
    return ErrorCode.NONE


def check_state(holder: Holder, event: InitProducer) -> ErrorCode:
    """Whether this producer may have the id now."""
    state = holder.decided
    if holder.moving:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if event.producer_id != NONE and state.epoch != NONE and not goes_on(state, (event.producer_id, event.epoch)):
        return event.fenced_code
    return ErrorCode.CONCURRENT_TRANSACTIONS if state.txn_state in ENDING else ErrorCode.NONE


def goes_on(state: TransactionState, who: Identity) -> bool:
    """Whether a producer that says who it was is the one that holds the id. It may not have heard of its newest identity; once
    that has begun a transaction, though, it has, and a request with the one before is late."""
    return who == state.identity or (who == state.last_identity and state.txn_state is not TxnState.ONGOING)


def identify(core: Core, holder: Holder, event: InitProducer, now_ms: int) -> None:
    """Give the id to this producer, which begins anew."""
    began: dict[str, Any] = {"timeout_ms": event.timeout_ms, "updated_at": core.wall_ms(now_ms), "started_at": 0}
    state = holder.decided.moved(
        TxnState.EMPTY, partitions=(), groups=(), **began, **next_identity(holder.decided, event)
    )
    decide(core, holder, state, Identified(event.reply_to, state), now_ms)


def next_identity(state: TransactionState, event: InitProducer) -> dict[str, Any]:
    """The next epoch, or a new producer id when the epochs are used up; the present ones for a producer that did not hear of
    them."""
    who = (event.producer_id, event.epoch)
    if who == state.last_identity and state.epoch <= LAST_EPOCH:
        return {}
    last_epoch = NONE if state.epoch == NONE else event.epoch
    if state.is_used_up:
        new = {"producer_id": event.fresh_producer_id, "epoch": 0}
        return {**new, "previous_producer_id": state.producer_id, "last_epoch": last_epoch}
    return {"epoch": state.epoch + 1, "last_epoch": last_epoch}


class Identified(msgspec.Struct, frozen=True):
    """Answers with the identity once it is durable."""

    reply_to: Any
    state: TransactionState

    def written(self, core: Core, now_ms: int) -> None:
        core.out.reply(self.reply_to, ProducerAnswer(ErrorCode.NONE, *self.state.identity))

    def failed(self, core: Core, now_ms: int) -> None:
        if core.transactions[self.state.transactional_id].durable is None:
            del core.transactions[self.state.transactional_id]
        core.out.reply(self.reply_to, ProducerAnswer(ErrorCode.COORDINATOR_NOT_AVAILABLE))
