"""What belongs to an open transaction: partitions and groups are added before anything is written to them.

Rules: only the holder of the id adds. Adding what is there already is answered at once. With `verify_only` nothing changes.
Source: Apache Kafka 4.2 `TransactionCoordinator.handleAddPartitionsToTransaction`; KIP-890 (verification, implicit adding).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from kaas.coordinator import timers
from kaas.coordinator.offset_entry import OffsetKey
from kaas.coordinator.transactions.deciding import decide
from kaas.coordinator.transactions.events import AddAnswer, AddToTransaction
from kaas.coordinator.transactions.holder import Holder
from kaas.coordinator.transactions.state import NONE
from kaas.coordinator.transactions.states import ENDING, TxnState
from kaas.errors import ErrorCode

if TYPE_CHECKING:
    from kaas.coordinator.coordinator import Coordinator


def add(core: Coordinator, event: AddToTransaction, now_ms: int) -> None:
    """Handle an AddPartitionsToTxn or AddOffsetsToTxn."""
    holder = core.transactions.get(event.transactional_id)
    code = check(core, holder, event)
    if code or holder is None:
        core.out.reply(event.reply_to, AddAnswer(code))
        return
    state = holder.decided
    ongoing = state.txn_state is TxnState.ONGOING
    if event.verify_only:
        inside: set[OffsetKey | str] = {*state.partitions, *state.groups} if ongoing else set()
        asked: tuple[OffsetKey | str, ...] = (*event.partitions, *event.groups)
        missing = tuple(one for one in asked if one not in inside)
        core.out.reply(event.reply_to, AddAnswer(ErrorCode.NONE, missing))
        return
    if ongoing and state.holds(event.partitions, event.groups):
        if holder.in_flight:  # it may be there only as a decision: the answer waits for what makes it durable
            core.out.follow(event.transactional_id, Added(event.reply_to))
        else:
            core.out.reply(event.reply_to, AddAnswer(ErrorCode.NONE))
        return
    begin_or_extend(core, holder, event, now_ms)


def check(core: Coordinator, holder: Holder | None, event: AddToTransaction) -> ErrorCode:
    """Who asks, then whether the id is free for it."""
    if core.is_loading_transaction(event.transactional_id):
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    if not event.transactional_id:
        return ErrorCode.INVALID_REQUEST
    if holder is None or holder.decided.producer_id != event.producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    state = holder.decided
    if state.epoch != event.epoch:
        return event.fenced_code
    if holder.moving or state.txn_state in ENDING:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    return ErrorCode.NONE


def begin_or_extend(core: Coordinator, holder: Holder, event: AddToTransaction, now_ms: int) -> None:
    """The first addition begins the transaction and its clock."""
    state, wall_ms = holder.decided, core.wall_ms(now_ms)
    begins = state.txn_state is not TxnState.ONGOING
    moved = state.moved(
        TxnState.ONGOING,
        partitions=tuple(dict.fromkeys((*(() if begins else state.partitions), *event.partitions))),
        groups=tuple(dict.fromkeys((*(() if begins else state.groups), *event.groups))),
        last_epoch=NONE if begins else state.last_epoch,  # whoever begins has heard of its identity
        started_at=wall_ms if begins else state.started_at,
        updated_at=wall_ms,
    )
    if begins:
        core.out.set_timer(timers.transaction(event.transactional_id), now_ms + state.timeout_ms)
    decide(core, holder, moved, Added(event.reply_to))


class Added(msgspec.Struct, frozen=True):
    """Answers an addition once it is durable."""

    reply_to: Any

    def written(self, core: Coordinator, now_ms: int) -> None:
        core.out.reply(self.reply_to, AddAnswer(ErrorCode.NONE))

    def failed(self, core: Coordinator, now_ms: int) -> None:
        core.out.reply(self.reply_to, AddAnswer(ErrorCode.COORDINATOR_NOT_AVAILABLE))
