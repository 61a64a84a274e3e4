"""InitProducerId: a producer comes with a transactional id, and whoever had it before is fenced.

Rules: one producer holds an id; the newest wins by a higher epoch. An open transaction of the one before is aborted first, and
the newcomer told to ask again meanwhile (51).
Source: Apache Kafka 4.2 `TransactionCoordinator.handleInitProducerId`; KIP-98, KIP-360 (a producer that recovers names who it
was).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from kaas.coordinator.transactions.deciding import decide
from kaas.coordinator.transactions.ending import abort_for
from kaas.coordinator.transactions.events import InitProducer, ProducerAnswer
from kaas.coordinator.transactions.holder import Holder
from kaas.coordinator.transactions.state import LAST_EPOCH, NONE, TransactionState, fresh
from kaas.coordinator.transactions.states import ENDING, TxnState
from kaas.errors import ErrorCode

if TYPE_CHECKING:
    from kaas.coordinator.coordinator import Coordinator


def init_producer(core: Coordinator, event: InitProducer, now_ms: int) -> None:
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
        identify(core, holder, event, wall_ms)


def check_request(core: Coordinator, event: InitProducer) -> ErrorCode:
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
    if holder.moving or state.txn_state in ENDING:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if event.producer_id != NONE and state.epoch != NONE:
        known = event.producer_id == state.producer_id and event.epoch in (state.epoch, state.last_epoch)
        rotated = event.producer_id == state.previous_producer_id and state.previous_producer_id != NONE
        if not known and not rotated:
            return event.fenced_code
    return ErrorCode.NONE


def identify(core: Coordinator, holder: Holder, event: InitProducer, wall_ms: int) -> None:
    """Give the id to this producer: its next epoch, or a new producer id when the epochs are used up."""
    state = holder.decided
    named = event.producer_id != NONE
    if named and state.epoch != NONE and event.epoch == state.last_epoch and event.epoch != state.epoch:
        core.out.reply(
            event.reply_to, ProducerAnswer(ErrorCode.NONE, state.producer_id, state.epoch)
        )  # it did not hear
        return
    changes: dict[str, Any] = {"timeout_ms": event.timeout_ms, "updated_at": wall_ms, "partitions": (), "groups": ()}
    if state.epoch >= LAST_EPOCH:
        changes |= {"previous_producer_id": state.producer_id, "producer_id": event.fresh_producer_id}
        changes |= {"last_epoch": state.epoch if named else NONE, "epoch": 0}
    else:
        changes |= {"last_epoch": state.epoch if named else NONE, "epoch": state.epoch + 1}
    moved = state.moved(TxnState.EMPTY, **changes)
    decide(core, holder, moved, Identified(event.reply_to, event.transactional_id, moved))


class Identified(msgspec.Struct, frozen=True):
    """Answers with the identity once it is durable."""

    reply_to: Any
    transactional_id: str
    state: TransactionState

    def written(self, core: Coordinator, now_ms: int) -> None:
        core.out.reply(self.reply_to, ProducerAnswer(ErrorCode.NONE, self.state.producer_id, self.state.epoch))

    def failed(self, core: Coordinator, now_ms: int) -> None:
        holder = core.transactions.get(self.transactional_id)
        if holder is not None and holder.durable is None and not holder.in_flight:
            del core.transactions[self.transactional_id]
        core.out.reply(self.reply_to, ProducerAnswer(ErrorCode.COORDINATOR_NOT_AVAILABLE))
