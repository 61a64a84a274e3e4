"""Everything that is durable about a transactional id: the value and the record are one.

Rules: states change by `moved`, which refuses an exit that the table does not have.
Must not know: requests, timers, what is in flight.
Source: Apache Kafka 4.2 `TransactionMetadata`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from kaas.coordinator.offset_entry import OffsetKey
from kaas.coordinator.transactions.states import TABLE, TxnState

NONE = -1
"""No producer id, no epoch."""
LAST_EPOCH = 2**15 - 2
"""A producer id is not used beyond this epoch; the one above it is left for a fence."""


class TransactionState(msgspec.Struct, frozen=True, array_like=True, tag="transaction"):
    """Everything that is durable about a transactional id; also the record in the journal. Times are ms since 1970.

    `previous_producer_id` and `last_epoch` recognise a client that did not hear of its newest identity.
    """

    transactional_id: str
    producer_id: int
    epoch: int
    last_epoch: int
    previous_producer_id: int
    timeout_ms: int
    state: str
    partitions: tuple[OffsetKey, ...]
    groups: tuple[str, ...]
    started_at: int
    updated_at: int

    @property
    def txn_state(self) -> TxnState:
        return TxnState(self.state)

    def moved(self, state: TxnState, **changes: Any) -> TransactionState:
        """The next state; a move that the table does not know is a fault of ours."""
        assert state in TABLE[self.txn_state].exits, f"{self.transactional_id!r}: {self.state} to {state.value}"
        return msgspec.structs.replace(self, state=state.value, **changes)

    def holds(self, partitions: tuple[OffsetKey, ...], groups: tuple[str, ...]) -> bool:
        """Whether the open transaction has all of these already."""
        return set(partitions) <= set(self.partitions) and set(groups) <= set(self.groups)


class TransactionGone(msgspec.Struct, frozen=True, array_like=True, tag="transaction_gone"):
    """A transactional id that was not used for too long."""

    transactional_id: str
    at: int


def fresh(transactional_id: str, producer_id: int, timeout_ms: int, at: int) -> TransactionState:
    """A transactional id that nobody has used."""
    return TransactionState(
        transactional_id=transactional_id,
        producer_id=producer_id,
        epoch=NONE,
        last_epoch=NONE,
        previous_producer_id=NONE,
        timeout_ms=timeout_ms,
        state=TxnState.EMPTY.value,
        partitions=(),
        groups=(),
        started_at=0,
        updated_at=at,
    )
