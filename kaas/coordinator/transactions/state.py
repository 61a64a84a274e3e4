"""Everything that is durable about a transactional id: the value and the record are one.

Rules: states change by `moved`, which refuses an exit that the table does not have. An epoch of -1 is nobody's yet.
Must not know: requests, timers, what is in flight.
Source: Apache Kafka 4.2 `TransactionMetadata`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from kaas.coordinator.offset_entry import OffsetKey
from kaas.coordinator.transactions.states import TABLE, TxnState
from kaas.errors import ErrorCode

NONE = -1
"""No producer id, no epoch."""
LAST_EPOCH = 2**15 - 2
"""No producer is given a higher epoch of its id; the one above it is left for a fence."""

Identity = tuple[int, int]
"""Producer id and epoch."""


class TransactionState(msgspec.Struct, frozen=True, array_like=True, tag="transaction"):
    """Everything that is durable about a transactional id; also the record in the journal. Times are ms since 1970.

    `previous_producer_id` and `last_epoch` recognise a client that did not hear of its newest identity. `next_producer_id` is
    for after the end that uses up the present one. `started_at` is 0 until a transaction begins, and stays when it is complete.
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
    next_producer_id: int = NONE

    @property
    def txn_state(self) -> TxnState:
        return TxnState(self.state)

    @property
    def identity(self) -> Identity:
        """Of the producer that holds the id."""
        return self.producer_id, self.epoch

    @property
    def last_identity(self) -> Identity | None:
        """What the same producer was before; null when it was another one, or nobody. Epoch 0 begins a producer id."""
        if self.last_epoch == NONE:
            return None
        return (self.previous_producer_id if self.epoch == 0 else self.producer_id), self.last_epoch

    @property
    def is_used_up(self) -> bool:
        """Whether the producer id has no epoch left to give."""
        return self.epoch >= LAST_EPOCH

    def refusal(self, producer_id: int, epoch: int, fenced_code: ErrorCode) -> ErrorCode:
        """Why a producer may not act for this id, or NONE. The epoch of a fence is nobody's."""
        if producer_id != self.producer_id:
            return ErrorCode.INVALID_PRODUCER_ID_MAPPING
        return ErrorCode.NONE if epoch == self.epoch <= LAST_EPOCH else fenced_code

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
