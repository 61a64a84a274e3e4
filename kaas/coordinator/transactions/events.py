"""What the transaction side is told, and what it answers.

`fenced_code` is what the version answers to an epoch that is not the current one: 47 in old versions, 90 later.
"""

from __future__ import annotations

from typing import Any

import msgspec

from kaas.coordinator.offset_entry import OffsetKey
from kaas.errors import ErrorCode


class InitProducer(msgspec.Struct, frozen=True, kw_only=True):
    """InitProducerId with a transactional id. `fresh_producer_id` is one that nobody has; -1 in the others means not given."""

    reply_to: Any
    transactional_id: str
    timeout_ms: int
    producer_id: int
    epoch: int
    fresh_producer_id: int
    fenced_code: ErrorCode


class AddToTransaction(msgspec.Struct, frozen=True, kw_only=True):
    """AddPartitionsToTxn, AddOffsetsToTxn, and the same on behalf of Produce and TxnOffsetCommit. With `verify_only` nothing is
    added: the answer says which are in the transaction."""

    reply_to: Any
    transactional_id: str
    producer_id: int
    epoch: int
    partitions: tuple[OffsetKey, ...] = ()
    groups: tuple[str, ...] = ()
    verify_only: bool = False
    fenced_code: ErrorCode = ErrorCode.PRODUCER_FENCED


class EndTransaction(msgspec.Struct, frozen=True, kw_only=True):
    """EndTxn. `bumps_epoch`: version 5, after which the producer goes on with the next epoch (KIP-890)."""

    reply_to: Any
    transactional_id: str
    producer_id: int
    epoch: int
    committed: bool
    bumps_epoch: bool
    fenced_code: ErrorCode
    fresh_producer_id: int


class MarkersWritten(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a transaction touched has its marker. Producer and epoch say of which end."""

    transactional_id: str
    producer_id: int
    epoch: int


class MarkersFailed(msgspec.Struct, frozen=True, kw_only=True):
    """The markers of these partitions and groups could not be written; they will be sent again."""

    transactional_id: str
    producer_id: int
    epoch: int
    untold: tuple[OffsetKey | str, ...]


class ProducerAnswer(msgspec.Struct, frozen=True):
    """InitProducerId and EndTxn: the identity to go on with."""

    code: ErrorCode
    producer_id: int = -1
    epoch: int = -1


class AddAnswer(msgspec.Struct, frozen=True):
    """One code for all; when verifying, the partitions and groups that are not in the transaction."""

    code: ErrorCode
    missing: tuple[OffsetKey | str, ...] = ()
