"""What a log must know to take the next batch: the next offset, the leader epochs, the producers.

Job: the one place where a batch changes that knowledge; the append of a new batch and the walk over stored ones
after a crash run the same code.
Rules: `begin` and `rollback` enclose changes that a failed write takes back. Only the appender thread touches it.
Must not know: files, segments, whether a batch may come.
"""

from __future__ import annotations

from kaas.storage.log.aborted import AbortedTransaction
from kaas.storage.log.epochs import LeaderEpochs
from kaas.storage.log.producers import ProducerStates
from kaas.wire.records.control import Marker
from kaas.wire.records.header import LOG_APPEND_TIME, NO_TIMESTAMP, BatchHeader


class LogState:
    """The knowledge of one log."""

    __slots__ = ("_saved", "epochs", "next_offset", "producers")

    def __init__(
        self,
        next_offset: int = 0,
        epochs: LeaderEpochs = LeaderEpochs(),  # noqa: B008 (immutable)
        producers: ProducerStates | None = None,
    ) -> None:
        self.next_offset = next_offset
        self.epochs = epochs
        self.producers = ProducerStates() if producers is None else producers
        self._saved = (next_offset, epochs)

    @property
    def stable_offset(self) -> int:
        """The last stable offset: where the oldest open transaction began, else the end."""
        first_open = self.producers.first_open_offset
        return self.next_offset if first_open is None else first_open

    def begin(self) -> None:
        """From here on `rollback` leads back to here."""
        self._saved = (self.next_offset, self.epochs)
        self.producers.begin()

    def rollback(self) -> None:
        """Takes back every change since `begin`."""
        self.next_offset, self.epochs = self._saved
        self.producers.rollback()

    def advance(self, header: BatchHeader, marker: Marker | None, now_ms: int) -> AbortedTransaction | None:
        """Takes up a batch that has its place; gives the transaction that it aborts, if it does."""
        self.next_offset = header.next_offset
        if header.leader_epoch > self.epochs.latest:
            self.epochs = self.epochs.begin(header.leader_epoch, header.base_offset)
        if not header.has_producer:
            return None
        if marker is None:
            append_time = header.max_timestamp if header.attributes & LOG_APPEND_TIME else NO_TIMESTAMP
            self.producers.append(header, append_time, now_ms)
            return None
        completed = self.producers.end_transaction(header, marker, now_ms)
        if completed is None or not completed.aborted:
            return None
        return AbortedTransaction(
            producer_id=completed.producer_id,
            first_offset=completed.first_offset,
            last_offset=completed.last_offset,
            last_stable_offset=self.stable_offset,
        )
