"""The log of one partition, as everybody else sees it.

Job: join the writing side of a log and what readers see of it.
Rules:
- One appender thread calls what changes a log; any thread may read. Readers take no lock and never wait for the
  appender: they look at `view`, which is replaced as a whole after the bytes are written.
- A log without a batch has no folder, no file and no writer: thousands of empty partitions cost next to nothing.
- After `close` nothing is appended any more; after `delete`, or when opening failed, nothing is read either, and
  `view` says so too: an offset that is not known must not look like the end of an empty log.
Must not know: requests, topics, replicas, the event loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from struct import Struct
from typing import TypeVar

from kaas.errors import ErrorCode, KafkaError
from kaas.storage.log.aborted import AbortedTransaction
from kaas.storage.log.admission import Append, Appended
from kaas.storage.log.cleanable import CleanableRange, cleanable_range, is_due
from kaas.storage.log.compaction import CompactionPass
from kaas.storage.log.config import LogConfig
from kaas.storage.log.epochs import LeaderEpochs
from kaas.storage.log.files import storage_error, storage_errors
from kaas.storage.log.lookup import FoundRecord
from kaas.storage.log.producers import Snapshot
from kaas.storage.log.recovery import new_log, open_log
from kaas.storage.log.retention import count_before_start, expired_count
from kaas.storage.log.segment import Chunk, Segment
from kaas.storage.log.view import LogView
from kaas.storage.log.writer import LogResources, LogWriter, Rolled

END_OF_LOG = -1  # in `delete_records`: everything

_LAST_OFFSET_DELTA = Struct(">i")
_LAST_OFFSET_DELTA_AT = 23
_NOTHING = LogView()
_NO_EPOCHS = LeaderEpochs()
_Answer = TypeVar("_Answer")


class PartitionLog:
    """One log. `view` is what readers see; the appender thread may replace `config` at any time."""

    __slots__ = (
        "_read_refusal",
        "_resources",
        "_topic_folder",
        "_view",
        "_write_refusal",
        "_writer",
        "config",
        "partition",
    )

    def __init__(self, topic_folder: str, partition: int, config: LogConfig, resources: LogResources) -> None:
        self.partition = partition
        self.config = config
        self._view = _NOTHING
        self._topic_folder = topic_folder
        self._resources = resources
        self._writer: LogWriter | None = None
        self._write_refusal: KafkaError | None = None
        self._read_refusal: KafkaError | None = None

    @property
    def folder(self) -> str:
        return f"{self._topic_folder}/{self.partition}"

    def open(self, now_ms: int) -> None:
        """Reads what the folder holds, which must exist. Raises: KafkaError KAFKA_STORAGE_ERROR, as every later call
        then.
        """
        try:
            opened = open_log(self._resources.open_files, self.folder, self.config.index_interval_bytes, now_ms)
        except OSError as error:
            self._read_refusal = self._write_refusal = refusal = storage_error(error)
            raise _again(refusal) from error
        self._writer = LogWriter(self.folder, self._resources, opened)
        self._view = self._writer.view()

    # For any thread

    @property
    def view(self) -> LogView:
        """What readers see now. Raises: KafkaError UNKNOWN_TOPIC_OR_PARTITION, KAFKA_STORAGE_ERROR."""
        if self._read_refusal is not None:
            raise _again(self._read_refusal)
        return self._view

    @property
    def leader_epoch(self) -> int:
        return self._epochs.latest

    def epoch_of(self, offset: int) -> int:
        """The leader epoch that wrote an offset."""
        return self._epochs.of(offset)

    def end_of_epoch(self, epoch: int) -> tuple[int, int]:
        """The greatest known epoch not above the asked one, and where it ends; (-1, -1) for one from the future."""
        return self._epochs.end_of(epoch, self.view.high_watermark)

    def is_open(self, producer_id: int, producer_epoch: int) -> bool:
        """Whether a transaction of this producer is open here."""
        writer = self._writer
        return writer is not None and writer.state.producers.is_open(producer_id, producer_epoch)

    def producers(self) -> Snapshot:
        """Who writes here, and whose transactions are open. In the appender thread."""
        return self._writing().state.producers.snapshot()

    def read_recent(self, offset: int, max_bytes: int, end_offset: int, *, min_one: bool) -> Chunk | None:
        """Whole batches from memory, of at most `max_bytes` together and below `end_offset`; None: ask `read`.

        With `min_one` the first batch comes whatever its size. No file is touched, so the event loop may call it.
        """
        writer = self._writer
        if writer is None or offset < self._view.log_start_offset:
            return None
        data = writer.recent.get(offset)
        if data is None:
            return None
        room = max(max_bytes, len(data)) if min_one else max_bytes
        buffers: list[bytes | memoryview] = []
        size = 0
        while data is not None and offset < end_offset and size + len(data) <= room:
            buffers.append(data)
            size += len(data)
            offset += _LAST_OFFSET_DELTA.unpack_from(data, _LAST_OFFSET_DELTA_AT)[0] + 1
            data = writer.recent.get(offset)
        return Chunk(buffers, size, offset)

    def read(self, offset: int, max_bytes: int, end_offset: int, *, min_one: bool) -> Chunk:
        """Whole batches from the one that holds `offset` on, of at most `max_bytes` together and below `end_offset`.

        With `min_one` the first batch comes whatever its size. `end_offset` is the high watermark or the last stable
        offset of a view. Empty at the end, and where the next batch does not fit.
        Raises: KafkaError OFFSET_OUT_OF_RANGE, UNKNOWN_TOPIC_OR_PARTITION, KAFKA_STORAGE_ERROR, CORRUPT_MESSAGE.
        """
        return self._look(lambda view: view.read(offset, max_bytes, end_offset, min_one=min_one))

    def aborted(self, first_offset: int, next_offset: int) -> list[AbortedTransaction]:
        """The aborted transactions with records in [first_offset, next_offset)."""
        return self.view.aborted(first_offset, next_offset)

    def first_at_or_after(self, timestamp: int) -> FoundRecord | None:
        """The first record that is not older than a time (milliseconds since 1970). Raises: as `read`."""
        return self._look(lambda view: view.first_at_or_after(timestamp))

    def newest(self) -> FoundRecord | None:
        """The first of the records with the greatest time. Raises: as `read`."""
        return self._look(lambda view: view.newest())

    # For the appender thread

    def lead(self, epoch: int) -> None:
        """Appends from now on are of this leader epoch, when it is newer than the last."""
        if epoch > self.leader_epoch:
            state = self._writing().state
            state.epochs = state.epochs.begin(epoch, state.next_offset)

    def append(self, requests: Sequence[Append], now_ms: int) -> list[Appended | KafkaError]:
        """Appends batches in their order. Each has its own result, an error of the disk included."""
        try:
            writer = self._writing()
        except KafkaError as error:
            return [error] * len(requests)
        results = writer.append(requests, self.config, now_ms)
        self._view = writer.view()
        return results

    def retain(self, now_ms: int) -> None:
        """Removes the segments that have had their time. Raises: KafkaError KAFKA_STORAGE_ERROR."""
        if self._writer is not None:
            with storage_errors():
                self._remove(self._writer, expired_count(self._view, self.config, now_ms), now_ms)

    def delete_records(self, offset: int, now_ms: int) -> int:
        """Lets the log begin at an offset, END_OF_LOG: at its end. The log start offset afterwards.

        Raises: KafkaError OFFSET_OUT_OF_RANGE, POLICY_VIOLATION (a topic that is only compacted), KAFKA_STORAGE_ERROR.
        """
        if not self.config.delete:
            raise KafkaError(ErrorCode.POLICY_VIOLATION, "a topic that is compacted only keeps its records")
        view = self.view
        wanted = view.high_watermark if offset == END_OF_LOG else offset
        if not 0 <= wanted <= view.high_watermark:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, f"the log ends at {view.high_watermark}, before {offset}")
        if wanted > view.log_start_offset:
            writer = self._writing()
            writer.delete_records(wanted)
            self._view = writer.view()
            with storage_errors():
                self._remove(writer, count_before_start(self._view), now_ms)
        return self.view.log_start_offset

    def compaction(self, now_ms: int) -> Iterator[None] | None:
        """A pass over this log, if one is due: each `next` does a small piece.

        Raises: KafkaError KAFKA_STORAGE_ERROR, the pass as well.
        """
        writer = self._writer
        if writer is None or not self.config.compact:
            return None
        with storage_errors():
            cleanable = cleanable_range(self.view, writer.cleaned_offset, self.config, now_ms)
            if not is_due(cleanable, self.config, now_ms):
                return None
        return self._compact(writer, cleanable, now_ms)

    def expire_producers(self, before_ms: int) -> None:
        """Forgets producers that wrote nothing since a time (producer.id.expiration.ms)."""
        if self._writer is not None:
            self._writer.state.producers.expire(before_ms)

    def flush_due(self, now_ms: int) -> None:
        """Synchronises the log with the disk when flush.ms is over. Raises: KafkaError KAFKA_STORAGE_ERROR."""
        if self._writer is not None:
            with storage_errors():
                self._writer.flush_due(self.config, now_ms)

    def take_rolled(self) -> Rolled | None:
        """Full segments that another thread may bring onto the disk now (`Segment.sync`), before `confirm`."""
        return None if self._writer is None else self._writer.take_rolled()

    def confirm(self, rolled: Rolled) -> None:
        """Checkpoints segments that are on the disk. Raises: KafkaError KAFKA_STORAGE_ERROR."""
        if self._writer is not None:
            with storage_errors():
                self._writer.confirm(rolled)

    def close(self) -> None:
        """Brings everything onto the disk, so that the next `open` walks nothing. Raises: KafkaError
        KAFKA_STORAGE_ERROR.
        """
        self._write_refusal = KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, "the log is closed here")
        if self._writer is not None:
            with storage_errors():
                self._writer.checkpoint_changes()

    def delete(self) -> None:
        """Lets go of the log, whose folder is no longer in its place."""
        gone = KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "the topic was deleted")
        self._read_refusal = self._write_refusal = gone
        writer, self._writer, self._view = self._writer, None, _NOTHING
        if writer is not None:
            writer.recent.clear()
            for segment in writer.segments:
                segment.release()

    # Inside

    @property
    def _epochs(self) -> LeaderEpochs:
        return _NO_EPOCHS if self._writer is None else self._writer.state.epochs

    def _writing(self) -> LogWriter:
        """The writing side, made with its folder when there is none yet."""
        if self._write_refusal is not None:
            raise _again(self._write_refusal)
        if self._writer is None:
            with storage_errors():
                Path(self.folder).mkdir(exist_ok=True)
            self._writer = LogWriter(self.folder, self._resources, new_log())
        return self._writer

    def _compact(self, writer: LogWriter, cleanable: CleanableRange, now_ms: int) -> Iterator[None]:
        compaction = CompactionPass(
            cleanable=cleanable,
            aborted=self.aborted(cleanable.segments[0].base_offset, cleanable.end_offset),
            config=self.config,
            folder=self.folder,
            open_files=self._resources.open_files,
            now_ms=now_ms,
        )

        def holds(segments: Sequence[Segment]) -> bool:
            return writer is self._writer and writer.holds(segments)

        def swap_in(old: Sequence[Segment], new: Segment) -> None:
            writer.swap_in(old, new)
            self._view = writer.view()  # before the files go, so that no reader looks for them
            writer.put_in_place(old, new)

        with storage_errors():
            writer.checkpoint_changes()  # what is rewritten must never be needed to learn of producers again
            try:
                end_offset = yield from compaction.run(holds, swap_in)
            except FileNotFoundError:
                if holds(cleanable.segments):
                    raise
                return  # retention was faster
            if end_offset is not None and writer is self._writer:
                writer.compacted(end_offset)

    def _remove(self, writer: LogWriter, count: int, now_ms: int) -> None:
        """Removes the oldest segments. Raises: OSError."""
        taken = writer.take_out(count, now_ms)
        self._view = writer.view()  # before the files go, so that no reader looks for them
        for segment in taken:
            segment.remove()

    def _look(self, question: Callable[[LogView], _Answer]) -> _Answer:
        """Asks the view, and a newer one when its files were removed or replaced meanwhile."""
        while True:
            view = self.view
            try:
                return question(view)
            except FileNotFoundError as error:
                if view.segments is self.view.segments:
                    raise storage_error(error) from error
            except OSError as error:
                raise storage_error(error) from error


def _again(refusal: KafkaError) -> KafkaError:
    """The same refusal for another call: an exception that is raised again and again would collect tracebacks."""
    return KafkaError(refusal.code, refusal.message)
