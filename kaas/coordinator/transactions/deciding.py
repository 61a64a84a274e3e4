"""Decisions about a transactional id: made durable, then in force.

Job: the one way in which a transactional id changes.
Rules: later decisions build on earlier ones that are still in flight (additions to an open transaction do); when one fails,
what has been decided falls back to what is durable as soon as nothing is in flight.
Must not know: what is decided.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from kaas.coordinator.outbox import Follower
from kaas.coordinator.transactions.holder import Holder
from kaas.coordinator.transactions.state import TransactionState

if TYPE_CHECKING:
    from kaas.coordinator.coordinator import Coordinator


def decide(
    core: Coordinator, holder: Holder, state: TransactionState, follower: Follower, *, moving: bool = False
) -> None:
    """Make the next state durable and tell `follower`; `moving`: nothing else may be decided until then."""
    holder.decided = state
    holder.in_flight += 1
    holder.moving = holder.moving or moving
    core.out.persist(state.transactional_id, state, Deciding(state, follower))


class Deciding(msgspec.Struct, frozen=True):
    """Brings a decision into force."""

    state: TransactionState
    follower: Follower

    def written(self, core: Coordinator, now_ms: int) -> None:
        holder = core.transactions[self.state.transactional_id]
        holder.durable = self.state
        holder.settle()
        self.follower.written(core, now_ms)

    def failed(self, core: Coordinator, now_ms: int) -> None:
        holder = core.transactions[self.state.transactional_id]
        holder.settle()
        if not holder.in_flight and holder.durable is not None:
            holder.decided = holder.durable
        self.follower.failed(core, now_ms)
