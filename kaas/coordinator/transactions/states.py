"""The states of a transactional id, as a table: how each is entered and where it goes.

Rules: `TransactionState.moved` refuses an exit that is not in the table; the diagram in docs is drawn from it.
Source: Apache Kafka 4.2 `TransactionState`; KIP-98, KIP-890.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class TxnState(Enum):
    """The value is Kafka's word for it."""

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"
    DEAD = "Dead"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One state."""

    enters: str
    exits: tuple[TxnState, ...]


_END = (TxnState.ONGOING, TxnState.EMPTY, TxnState.DEAD, TxnState.PREPARE_ABORT)

TABLE: dict[TxnState, Row] = {
    TxnState.EMPTY: Row(
        enters="a producer came with this id and has begun nothing",
        exits=(TxnState.ONGOING, TxnState.EMPTY, TxnState.PREPARE_ABORT, TxnState.DEAD),
    ),
    TxnState.ONGOING: Row(
        enters="a partition or a group was added",
        exits=(TxnState.ONGOING, TxnState.PREPARE_COMMIT, TxnState.PREPARE_ABORT),
    ),
    TxnState.PREPARE_COMMIT: Row(
        enters="the producer commits; markers are on their way", exits=(TxnState.COMPLETE_COMMIT,)
    ),
    TxnState.PREPARE_ABORT: Row(
        enters="the producer aborts, was fenced, or took too long; markers are on their way",
        exits=(TxnState.COMPLETE_ABORT,),
    ),
    TxnState.COMPLETE_COMMIT: Row(enters="every commit marker is written", exits=_END),
    TxnState.COMPLETE_ABORT: Row(enters="every abort marker is written", exits=_END),
    TxnState.DEAD: Row(enters="the id was not used for transactional.id.expiration.ms", exits=()),
}
"""Every state."""

ENDING = (TxnState.PREPARE_COMMIT, TxnState.PREPARE_ABORT)
COMPLETE = (TxnState.COMPLETE_COMMIT, TxnState.COMPLETE_ABORT)
