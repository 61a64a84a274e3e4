"""The checkpoint file of a transactional id.

Job: its state to JSON and back to the record that the journal holds.
Shape: `<data>/__cluster/__txn/<name>.json`, with `coordinator_epoch` and `version` of the record it is; partitions are
"topic/partition". With `deleted_at` it is the tombstone of an id that is gone.
Rules: a file that does not parse is never "no transaction": `Unreadable` says what is wrong.
Must not know: when to write, what to do about an unreadable file.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from kaas.coordinator.transactions.state import TransactionGone, TransactionState
from kaas.coordinator.transactions.states import TxnState
from kaas.storage.group_files import Head, Unreadable, key_text, split_key

TRANSACTIONS_FOLDER = "__txn"

TransactionRecord = TransactionState | TransactionGone


class TransactionFile(msgspec.Struct, kw_only=True):
    """See `TransactionState`; `producer_epoch` is its epoch. A tombstone has the id and `deleted_at` (ms) alone."""

    coordinator_epoch: int
    version: int
    transactional_id: str
    producer_id: int = -1
    producer_epoch: int = -1
    last_epoch: int = -1
    previous_producer_id: int = -1
    timeout_ms: int = 0
    state: str = TxnState.DEAD.value
    partitions: list[str] = []
    groups: list[str] = []
    started_at: int = 0
    updated_at: int = 0
    next_producer_id: int = -1
    deleted_at: int | None = None


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(TransactionFile).decode


def transaction_bytes(record: TransactionRecord, epoch: int, version: int) -> bytes:
    """The file of a transactional id."""
    file = TransactionFile(coordinator_epoch=epoch, version=version, transactional_id=record.transactional_id)
    if isinstance(record, TransactionGone):
        file.deleted_at = record.at
    else:
        file.producer_id, file.producer_epoch = record.producer_id, record.epoch
        file.last_epoch, file.previous_producer_id = record.last_epoch, record.previous_producer_id
        file.timeout_ms, file.state = record.timeout_ms, record.state
        file.partitions = [key_text(*key) for key in record.partitions]
        file.groups = list(record.groups)
        file.started_at, file.updated_at = record.started_at, record.updated_at
        file.next_producer_id = record.next_producer_id
    return msgspec.json.format(_encode(file), indent=1)


def transaction_of(data: bytes, path: Path) -> tuple[Head, TransactionRecord]:
    """Head and record of a file. Raises Unreadable."""
    try:
        file = _decode(data)
        state = TxnState(file.state).value
    except (msgspec.DecodeError, ValueError) as problem:
        raise Unreadable(f"{path.name}: {problem}") from None
    head = Head(file.coordinator_epoch, file.version)
    if file.deleted_at is not None:
        return head, TransactionGone(file.transactional_id, file.deleted_at)
    return head, TransactionState(
        transactional_id=file.transactional_id,
        producer_id=file.producer_id,
        epoch=file.producer_epoch,
        last_epoch=file.last_epoch,
        previous_producer_id=file.previous_producer_id,
        timeout_ms=file.timeout_ms,
        state=state,
        partitions=tuple(split_key(key) for key in file.partitions),
        groups=tuple(file.groups),
        started_at=file.started_at,
        updated_at=file.updated_at,
        next_producer_id=file.next_producer_id,
    )
