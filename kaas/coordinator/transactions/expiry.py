"""Transactional ids that nobody uses any more.

Job: look through the ids, a few per step, and forget those that have been idle for transactional.id.expiration.ms.
Rules: an id with an open or ending transaction, or with a record in flight, stays. A producer that comes back later is told
that its id maps to nothing (49), and begins anew.
Source: Apache Kafka 4.2 `TransactionStateManager.removeExpiredTransactionalIds`; KAFKA-14500's kind of debris.
"""

from __future__ import annotations

import msgspec

from kaas.coordinator import timers
from kaas.coordinator.core import Core
from kaas.coordinator.transactions.holder import Holder
from kaas.coordinator.transactions.state import TransactionGone
from kaas.coordinator.transactions.states import TABLE, TxnState

IDS_PER_STEP = 1_000
"""So that a step takes about a millisecond."""


def step(core: Core, now_ms: int) -> None:
    """Look at the next few ids; when all have been looked at, begin again after the interval."""
    if not core.expiry_queue:
        core.expiry_queue = list(core.transactions)
    todo, core.expiry_queue = core.expiry_queue[:IDS_PER_STEP], core.expiry_queue[IDS_PER_STEP:]
    for transactional_id in todo:
        holder = core.transactions.get(transactional_id)
        if holder is not None and is_due(core, holder, now_ms):
            forget(core, holder, now_ms)
    wait_ms = 1 if core.expiry_queue else core.config.transaction_remove_expired_interval_ms
    core.out.set_timer(timers.TRANSACTION_EXPIRY, now_ms + wait_ms)


def is_due(core: Core, holder: Holder, now_ms: int) -> bool:
    state = holder.decided
    idle = not holder.in_flight and TxnState.DEAD in TABLE[state.txn_state].exits
    return idle and core.wall_ms(now_ms) - state.updated_at >= core.config.transactional_id_expiration_ms


def forget(core: Core, holder: Holder, now_ms: int) -> None:
    """Make it durable that the id is gone; until then nothing else may be decided about it."""
    transactional_id = holder.decided.transactional_id
    holder.in_flight += 1
    holder.moving = True
    gone = TransactionGone(transactional_id, core.wall_ms(now_ms))
    core.out.persist(transactional_id, gone, Forgotten(transactional_id))


class Forgotten(msgspec.Struct, frozen=True):
    """Drops the id once that is durable."""

    transactional_id: str

    def written(self, core: Core, now_ms: int) -> None:
        del core.transactions[self.transactional_id]

    def failed(self, core: Core, now_ms: int) -> None:
        core.transactions[self.transactional_id].settle()
