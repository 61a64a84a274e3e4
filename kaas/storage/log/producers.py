"""What a log knows of its producers: sequence numbers and open transactions.

Job: recognise a batch that was sent twice, refuse one that is out of order or from a fenced producer, and know which
transactions are open, and where they began.
Rules:
- An entry is immutable and replaced. `begin` starts a change of several batches, `rollback` takes it back: a write
  to disk may fail after its batches were judged.
- Only the appender thread changes it; `is_open` may be asked by any thread.
- A producer that nothing is known of may begin with any sequence number: its records may have been deleted.
- A producer expires by the time of its last append, and never with an open transaction.
Must not know: files, segments.
Source: KIP-98 (idempotence, transactions), KIP-360 (unknown producers), KIP-890 (a marker of a newer epoch), and the
order of checks of Apache Kafka 4.2.
"""

from __future__ import annotations

import msgspec

from kaas.errors import ErrorCode, KafkaError
from kaas.wire.records.control import Marker, MarkerKind
from kaas.wire.records.header import NO_SEQUENCE, BatchHeader, next_sequence

KEPT_BATCHES = 5  # Apache's: a client has at most this many batches under way when it counts them
_NO_EPOCH = -1


class SentBatch(msgspec.Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    """A batch that was appended, for the case that it comes again."""

    base_sequence: int
    last_sequence: int
    base_offset: int
    append_time_ms: int


class Producer(msgspec.Struct, frozen=True, kw_only=True):
    """One producer: its epoch, its last batches of that epoch (newest last), when it last wrote."""

    epoch: int = _NO_EPOCH
    batches: tuple[SentBatch, ...] = ()
    updated_ms: int = 0
    coordinator_epoch: int = -1

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE


class CompletedTransaction(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A transaction that a marker has ended."""

    producer_id: int
    first_offset: int
    last_offset: int
    aborted: bool


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """Everything, for the checkpoint. `open_transactions` maps a producer id to the first offset of its transaction."""

    producers: dict[int, Producer] = {}
    open_transactions: dict[int, int] = {}


_UNKNOWN = Producer()
_EMPTY = Snapshot()


class ProducerStates:
    """The producers of one log."""

    __slots__ = ("_open", "_producers", "_saved_open", "_saved_producers")

    def __init__(self, snapshot: Snapshot = _EMPTY) -> None:
        self._producers = dict(snapshot.producers)
        self._open = dict(snapshot.open_transactions)  # in the order of first offsets, because transactions begin in it
        self._saved_producers: dict[int, Producer | None] = {}
        self._saved_open: dict[int, int] | None = None

    def __len__(self) -> int:
        return len(self._producers)

    @property
    def first_open_offset(self) -> int | None:
        """Where the oldest open transaction began."""
        return next(iter(self._open.values()), None)

    def is_open(self, producer_id: int, epoch: int) -> bool:
        """Whether this producer, in this epoch, has an open transaction here."""
        producer = self._producers.get(producer_id)
        return producer is not None and producer.epoch == epoch and producer_id in self._open

    def snapshot(self) -> Snapshot:
        return Snapshot(producers=dict(self._producers), open_transactions=dict(self._open))

    def begin(self) -> None:
        """From here on `rollback` leads back to here."""
        self._saved_producers.clear()
        self._saved_open = None

    def rollback(self) -> None:
        """Takes back every change since `begin`."""
        for producer_id, producer in self._saved_producers.items():
            if producer is None:
                self._producers.pop(producer_id, None)
            else:
                self._producers[producer_id] = producer
        if self._saved_open is not None:
            self._open = self._saved_open
        self.begin()

    def expire(self, before_ms: int) -> None:
        """Forgets the producers that wrote nothing since a time and have no open transaction."""
        gone = [
            producer_id
            for producer_id, producer in self._producers.items()
            if producer.updated_ms < before_ms and producer_id not in self._open
        ]
        for producer_id in gone:
            del self._producers[producer_id]

    def duplicate_of(self, header: BatchHeader) -> SentBatch | None:
        """The batch that was appended before with the same producer, epoch and sequence numbers."""
        producer = self._producers.get(header.producer_id)
        if producer is None or producer.epoch != header.producer_epoch:
            return None
        ends = (header.base_sequence, header.last_sequence)
        return next((one for one in producer.batches if (one.base_sequence, one.last_sequence) == ends), None)

    def check(self, header: BatchHeader) -> None:
        """Refuses a batch that may not follow what this producer wrote.

        Raises: KafkaError INVALID_PRODUCER_EPOCH, OUT_OF_ORDER_SEQUENCE_NUMBER.
        """
        producer = self._producers.get(header.producer_id, _UNKNOWN)
        _check_epoch(header, producer)
        if producer.epoch == _NO_EPOCH:
            return
        same_epoch = header.producer_epoch == producer.epoch
        last_sequence = producer.last_sequence if same_epoch else NO_SEQUENCE
        if header.base_sequence != next_sequence(last_sequence):
            raise KafkaError(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"producer {header.producer_id} sends sequence {header.base_sequence} after {last_sequence}",
            )

    def append(self, header: BatchHeader, append_time_ms: int, now_ms: int) -> None:
        """Takes up a batch of records that has its place in the log."""
        old = self._producers.get(header.producer_id, _UNKNOWN)
        sent = SentBatch(
            base_sequence=header.base_sequence,
            last_sequence=header.last_sequence,
            base_offset=header.base_offset,
            append_time_ms=append_time_ms,
        )
        kept = old.batches[1 - KEPT_BATCHES :] if old.epoch == header.producer_epoch else ()
        self._replace(
            header.producer_id,
            old,
            Producer(
                epoch=header.producer_epoch,
                batches=(*kept, sent),
                updated_ms=now_ms,
                coordinator_epoch=old.coordinator_epoch,
            ),
        )
        if header.is_transactional and header.producer_id not in self._open:
            self._remember_open()
            self._open[header.producer_id] = header.base_offset

    def check_marker(self, header: BatchHeader, marker: Marker) -> None:
        """Refuses a marker of a fenced producer or of a coordinator that was replaced.

        Raises: KafkaError INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED.
        """
        producer = self._producers.get(header.producer_id, _UNKNOWN)
        _check_epoch(header, producer)
        if marker.coordinator_epoch < producer.coordinator_epoch:
            raise KafkaError(
                ErrorCode.TRANSACTION_COORDINATOR_FENCED,
                f"coordinator epoch {marker.coordinator_epoch} is older than {producer.coordinator_epoch}",
            )

    def end_transaction(self, header: BatchHeader, marker: Marker, now_ms: int) -> CompletedTransaction | None:
        """Takes up a marker that has its place in the log; None when no transaction was open."""
        old = self._producers.get(header.producer_id, _UNKNOWN)
        kept = old.batches if old.epoch == header.producer_epoch else ()
        self._replace(
            header.producer_id,
            old,
            Producer(
                epoch=header.producer_epoch,
                batches=kept,
                updated_ms=now_ms,
                coordinator_epoch=marker.coordinator_epoch,
            ),
        )
        if header.producer_id not in self._open:
            return None
        self._remember_open()
        return CompletedTransaction(
            producer_id=header.producer_id,
            first_offset=self._open.pop(header.producer_id),
            last_offset=header.last_offset,
            aborted=marker.kind == MarkerKind.ABORT,
        )

    def _replace(self, producer_id: int, old: Producer, new: Producer) -> None:
        self._saved_producers.setdefault(producer_id, None if old is _UNKNOWN else old)
        self._producers[producer_id] = new

    def _remember_open(self) -> None:
        if self._saved_open is None:
            self._saved_open = dict(self._open)


def _check_epoch(header: BatchHeader, producer: Producer) -> None:
    if header.producer_epoch < producer.epoch:
        raise KafkaError(
            ErrorCode.INVALID_PRODUCER_EPOCH,
            f"producer {header.producer_id} sends epoch {header.producer_epoch}; a newer one has {producer.epoch}",
        )
