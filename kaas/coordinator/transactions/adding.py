"""What belongs to an open transaction: partitions and groups are added before anything is written to them.

Rules: only the holder of the id adds. Adding what is there already is answered at once. With `verify_only` nothing changes, and
only what is durable counts: what is written on the strength of a decision that then fails would never be ended.
Source: Apache Kafka 4.2 `TransactionCoordinator.handleAddPartitionsToTransaction`; KIP-890 (verification, implicit adding).
"""

from __future__ import annotations

from typing import Any

import msgspec

from kaas.coordinator.core import Core
from kaas.coordinator.offset_entry import OffsetKey
from kaas.coordinator.transactions.deciding import check_id, decide
from kaas.coordinator.transactions.events import AddAnswer, AddToTransaction
from kaas.coordinator.transactions.holder import Holder
from kaas.coordinator.transactions.states import ENDING, TxnState
from kaas.errors import ErrorCode


def add(core: Core, event: AddToTransaction, now_ms: int) -> None:
    """Handle an AddPartitionsToTxn or AddOffsetsToTxn."""
    holder = core.transactions.get(event.transactional_id)
    code = check(core, holder, event)
    if code or holder is None:
        core.out.reply(event.reply_to, AddAnswer(code))
        return
    if event.verify_only:
        core.out.reply(event.reply_to, AddAnswer(ErrorCode.NONE, missing(holder, event)))
        return
    state = holder.decided
    there = state.txn_state is TxnState.ONGOING and state.holds(event.partitions, event.groups)
    if there and not holder.in_flight:
        core.out.reply(event.reply_to, AddAnswer(ErrorCode.NONE))
    else:
        begin_or_extend(core, holder, event, now_ms)


def check(core: Core, holder: Holder | None, event: AddToTransaction) -> ErrorCode:
    """Who asks, then whether the id is free for it; while the holder may be changing, nobody can be told that it is fenced."""
    code = check_id(core, holder, event.transactional_id)
    if code or holder is None:
        return code
    if code := holder.decided.refusal(event.producer_id, event.epoch, event.fenced_code):
        return code
    return ErrorCode.CONCURRENT_TRANSACTIONS if holder.decided.txn_state in ENDING else ErrorCode.NONE


def missing(holder: Holder, event: AddToTransaction) -> tuple[OffsetKey | str, ...]:
    """What is asked for and not durably in the open transaction."""
    state = holder.durable
    assert state is not None, "an id of which nothing is durable is moving"
    inside: set[OffsetKey | str] = set()
    if state.txn_state is TxnState.ONGOING:
        inside.update(state.partitions, state.groups)
    asked: tuple[OffsetKey | str, ...] = (*event.partitions, *event.groups)
    return tuple(one for one in asked if one not in inside)


def begin_or_extend(core: Core, holder: Holder, event: AddToTransaction, now_ms: int) -> None:
    """The first addition begins the transaction and its clock."""
    state, wall_ms = holder.decided, core.wall_ms(now_ms)
    begins = state.txn_state is not TxnState.ONGOING
    moved = state.moved(
        TxnState.ONGOING,
        partitions=tuple(dict.fromkeys((*(() if begins else state.partitions), *event.partitions))),
        groups=tuple(dict.fromkeys((*(() if begins else state.groups), *event.groups))),
        started_at=wall_ms if begins else state.started_at,
        updated_at=wall_ms,
    )
    decide(core, holder, moved, Added(event.reply_to), now_ms, moving=False)


class Added(msgspec.Struct, frozen=True):
    """Answers an addition once it is durable."""

    reply_to: Any

    def written(self, core: Core, now_ms: int) -> None:
        core.out.reply(self.reply_to, AddAnswer(ErrorCode.NONE))

    def failed(self, core: Core, now_ms: int) -> None:
        core.out.reply(self.reply_to, AddAnswer(ErrorCode.COORDINATOR_NOT_AVAILABLE))
