"""Decisions about a transactional id: made durable, then in force.

Job: the one way in which a transactional id changes.
Rules: later decisions build on earlier ones that are still in flight (additions to an open transaction do); when one fails,
what has been decided falls back to what is durable as soon as nothing is in flight. The clock of an open transaction goes by
what is decided: it runs while the transaction is open, and no longer.
Must not know: what is decided.
"""

from __future__ import annotations

import msgspec

from kaas.coordinator import timers
from kaas.coordinator.core import Core, Follower
from kaas.coordinator.transactions.holder import Holder
from kaas.coordinator.transactions.state import TransactionState
from kaas.coordinator.transactions.states import TxnState
from kaas.errors import ErrorCode

RETRY_MS = 500
"""Between two attempts at what a disk refused: markers, and the end of a transaction whose time is over."""


def check_id(core: Core, holder: Holder | None, transactional_id: str) -> ErrorCode:
    """Whether an id that should be there can be asked; while something is on its way, nobody can be told what comes of it."""
    if core.is_loading_transaction(transactional_id):
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    if not transactional_id:
        return ErrorCode.INVALID_REQUEST
    if holder is None:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    return ErrorCode.CONCURRENT_TRANSACTIONS if holder.moving else ErrorCode.NONE


def decide(
    core: Core, holder: Holder, state: TransactionState, follower: Follower, now_ms: int, *, moving: bool = True
) -> None:
    """Make the next state durable and tell `follower`; `moving`: nothing else may be decided until then."""
    holder.decided = state
    holder.in_flight += 1
    holder.moving = holder.moving or moving
    watch(core, state, now_ms)
    core.out.persist(state.transactional_id, state, Deciding(state, follower))


def watch(core: Core, state: TransactionState, now_ms: int, *, least_ms: int = 0) -> None:
    """Give an open transaction what is left of its time, and `least_ms` in any case."""
    key = timers.transaction(state.transactional_id)
    if state.txn_state is TxnState.ONGOING:
        left_ms = state.started_at + state.timeout_ms - core.wall_ms(now_ms)
        core.out.set_timer(key, now_ms + max(left_ms, least_ms))
    else:
        core.out.cancel_timer(key)


class Deciding(msgspec.Struct, frozen=True):
    """Brings a decision into force."""

    state: TransactionState
    follower: Follower

    def written(self, core: Core, now_ms: int) -> None:
        holder = core.transactions[self.state.transactional_id]
        holder.durable = self.state
        holder.settle()
        self.follower.written(core, now_ms)

    def failed(self, core: Core, now_ms: int) -> None:
        holder = core.transactions[self.state.transactional_id]
        holder.settle()
        if not holder.in_flight and holder.durable is not None:
            holder.decided = holder.durable
            watch(core, holder.decided, now_ms, least_ms=RETRY_MS)
        self.follower.failed(core, now_ms)
