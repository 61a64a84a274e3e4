"""A transactional id as the coordinator keeps it: what is durable, what has been decided and is on its way, who waits.

Rules: decisions look at `decided`, which is `durable` unless a record is in flight.
Must not know: requests, timers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kaas.coordinator.offset_entry import OffsetKey
from kaas.coordinator.transactions.state import TransactionState


@dataclass(slots=True)
class Holder:
    """`in_flight`: records on their way; `moving`: one of them is more than an addition, so nothing else may begin; `ending`:
    the token of the EndTxn that waits for the markers; `untold`: who has not been told yet how the transaction ended."""

    decided: TransactionState
    durable: TransactionState | None = None
    in_flight: int = 0
    moving: bool = False
    ending: Any = None
    untold: tuple[OffsetKey | str, ...] = ()

    def settle(self) -> None:
        """A record is not in flight any more."""
        self.in_flight -= 1
        if not self.in_flight:
            self.moving = False
