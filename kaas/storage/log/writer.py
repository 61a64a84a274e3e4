"""The side of a log that writes: segments and state, and every change of them.

Job: append batches, begin new segments, drop old ones, checkpoint.
Rules:
- Only the appender thread calls it. What it changes is seen by readers when its owner publishes `view()`.
- A failed write changes nothing. A failed removal or checkpoint is tried again by the next one.
- A full segment is on the disk before a checkpoint says so. Waiting for that may take long, so `take_rolled` and
  `confirm` let another thread wait; `checkpoint` waits itself.
- The first segment of a log is made by its first batch, the folder with it.
Must not know: readers, other logs, when it is time for what.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import msgspec

from kaas.errors import KafkaError
from kaas.storage.log.admission import Admitted, Append, Appended, admit
from kaas.storage.log.checkpoint import Checkpoint, write_checkpoint
from kaas.storage.log.config import LogConfig
from kaas.storage.log.draft import Draft
from kaas.storage.log.files import OpenFiles, storage_error
from kaas.storage.log.recent import RecentBatches
from kaas.storage.log.recovery import OpenedLog
from kaas.storage.log.segment import Segment, segment_path
from kaas.storage.log.state import LogState
from kaas.storage.log.view import LogView
from kaas.wire.records.header import BatchHeader

logger = logging.getLogger(__name__)


class LogResources(NamedTuple):
    """What all logs of a broker share."""

    open_files: OpenFiles
    recent: RecentBatches


class Rolled(NamedTuple):
    """Full segments, and what may be checkpointed once they are on the disk."""

    segments: tuple[Segment, ...]
    checkpoint: Checkpoint


class LogWriter:
    """The writing side of one log. `recent`: its newest batches by base offset, which any thread may look up."""

    __slots__ = (
        "_changed",
        "_log_start_offset",
        "_resources",
        "_rolled",
        "_unflushed_records",
        "_unflushed_since_ms",
        "_unsynced",
        "cleaned_offset",
        "folder",
        "recent",
        "segments",
        "state",
    )

    def __init__(self, folder: str, resources: LogResources, opened: OpenedLog) -> None:
        self.folder = folder
        self.state: LogState = opened.state
        self.segments = opened.segments
        self.recent: dict[int, bytes] = {}
        self.cleaned_offset = opened.cleaned_offset
        self._log_start_offset = opened.log_start_offset
        self._resources = resources
        self._unsynced = opened.segments[len(opened.segments) - opened.walked : -1]  # full, not in the checkpoint
        self._rolled: Rolled | None = None
        self._changed = opened.walked > 0  # since the checkpoint
        self._unflushed_records = 0
        self._unflushed_since_ms = 0

    def view(self) -> LogView:
        """What readers may see from now on."""
        return LogView(
            segments=self.segments,
            log_start_offset=self._log_start_offset,
            last_stable_offset=self.state.stable_offset,
            high_watermark=self.state.next_offset,
        )

    # Appending

    def append(self, requests: Sequence[Append], config: LogConfig, now_ms: int) -> list[Appended | KafkaError]:
        """Appends batches in their order. Each has its own result, an error of the disk included."""
        results: list[Appended | KafkaError] = []
        draft = self._draft(now_ms)
        for request in requests:
            try:
                admitted = admit(request, config, self.state.producers, now_ms)
                if isinstance(admitted, Admitted):
                    if self._is_full(draft, admitted.header, config):
                        self._write(draft, results, config, now_ms)
                        self.roll(now_ms)
                        draft = self._draft(now_ms)
                    draft.results.append(len(results))
                    results.append(draft.place(admitted, self.state.epochs.latest))
                else:
                    if admitted.base_offset >= draft.start_offset:
                        draft.results.append(len(results))  # it repeats a batch that is not written yet
                    results.append(admitted)
            except KafkaError as error:
                results.append(error)
            except OSError as error:
                results.append(storage_error(error))
        with suppress(KafkaError):  # its results say so
            self._write(draft, results, config, now_ms)
        return results

    def _draft(self, now_ms: int) -> Draft:
        if not self.segments:
            self.segments = (self._new_segment(now_ms),)
        return Draft(self.segments[-1], self.state, now_ms)

    def _is_full(self, draft: Draft, header: BatchHeader, config: LogConfig) -> bool:
        """Whether a batch must begin a new segment."""
        segment = draft.segment
        size = segment.size + draft.size
        if size == 0:
            return False
        if size + header.size > config.segment_bytes:
            return True
        first = segment.first_timestamp if segment.size else draft.headers[0].max_timestamp
        if header.max_timestamp - first > config.segment_ms - self._jitter_ms(segment, config) and first >= 0:
            return True
        return not segment.takes(self.state.next_offset + header.last_offset_delta, config.segment_index_bytes)

    def _jitter_ms(self, segment: Segment, config: LogConfig) -> int:
        """By how much this segment is cut short: different for each, and the same after a restart."""
        limit = config.segment_jitter_ms
        return zlib.crc32(f"{self.folder}/{segment.base_offset}".encode()) % limit if limit else 0

    def _write(self, draft: Draft, results: list[Appended | KafkaError], config: LogConfig, now_ms: int) -> None:
        """Writes a draft. Raises: KafkaError KAFKA_STORAGE_ERROR, which is then the result of its batches as well."""
        if not draft.headers:
            return
        records = self._unflushed_records + self.state.next_offset - draft.start_offset
        sync = records >= config.flush_messages
        try:
            draft.write(config.index_interval_bytes, sync=sync)
        except KafkaError as error:
            for number in draft.results:
                results[number] = error
            draft.clear()
            raise
        for header, data in zip(draft.headers, draft.buffers, strict=True):
            self._resources.recent.add(self.recent, header.base_offset, data)
        if self._unflushed_records == 0:
            self._unflushed_since_ms = now_ms
        self._unflushed_records = 0 if sync else records
        self._changed = True

    # Segments

    def roll(self, now_ms: int) -> None:
        """Begins a new segment."""
        full = self.segments[-1]
        try:
            full.save()
        except OSError as error:
            logger.warning("the index of %s cannot be written yet: %s", full.file.path, error)
        else:
            full.release()
        self.segments = (*self.segments, self._new_segment(now_ms))
        self._unsynced = (*self._unsynced, full)
        self._rolled = Rolled(self._unsynced, self._checkpoint_here())

    def take_out(self, count: int, now_ms: int) -> tuple[Segment, ...]:
        """Takes the oldest segments out; their files go when readers no longer see them. Raises: OSError."""
        if count and count == len(self.segments):
            self.roll(now_ms)
            self.segments[-1].write([])  # the file keeps the place of a log that is empty
        taken, self.segments = self.segments[:count], self.segments[count:]
        if taken:
            self._unsynced = tuple(one for one in self._unsynced if one not in taken)
            self._log_start_offset = max(self._log_start_offset, self.segments[0].base_offset)
            self._changed = True
        return taken

    def delete_records(self, offset: int) -> None:
        """Lets the log begin at an offset, durably. Raises: KafkaError KAFKA_STORAGE_ERROR; nothing has changed
        then.
        """
        before, self._log_start_offset = self._log_start_offset, offset
        try:
            self.checkpoint()
        except OSError as error:
            self._log_start_offset = before
            raise storage_error(error) from error

    def holds(self, segments: Sequence[Segment]) -> bool:
        """Whether all of these are segments of the log."""
        return set(segments) <= set(self.segments)

    def swap_in(self, old: Sequence[Segment], new: Segment) -> None:
        """Takes a compacted segment in the place of old ones, whose files go by `put_in_place` when nobody sees
        them.
        """
        number = self.segments.index(old[0])
        self.segments = (*self.segments[:number], new, *self.segments[number + len(old) :])

    def put_in_place(self, old: Sequence[Segment], new: Segment) -> None:
        """Lets a compacted segment have the names of the old ones. Raises: OSError; the next opening goes on with
        it.
        """
        for segment in old:
            segment.remove_indexes()
        for segment in old[1:]:
            segment.file.remove()
        old[0].file.retire()
        new.file.move(segment_path(self.folder, new.base_offset))
        new.save()
        new.release()

    def compacted(self, end_offset: int) -> None:
        """Notes how far compaction came. Raises: OSError."""
        self.cleaned_offset = end_offset
        self.checkpoint()

    def _new_segment(self, now_ms: int) -> Segment:
        return Segment.new(self._resources.open_files, self.folder, self.state.next_offset, now_ms)

    # Durability

    def flush_due(self, config: LogConfig, now_ms: int) -> None:
        """Synchronises the log with the disk when its topic asks for it by time (flush.ms). Raises: OSError."""
        if self._unflushed_records and now_ms - self._unflushed_since_ms >= config.flush_ms:
            for segment in (*self._unsynced, self.segments[-1]):
                segment.file.sync()
            self._unflushed_records = 0

    def take_rolled(self) -> Rolled | None:
        """What another thread may bring onto the disk now (`Segment.sync`); then `confirm` is due."""
        rolled, self._rolled = self._rolled, None
        return rolled

    def confirm(self, rolled: Rolled) -> None:
        """Checkpoints segments that are on the disk. Raises: OSError."""
        if rolled.segments[-1] not in self._unsynced:
            return  # a later checkpoint has covered them, or they are gone
        for segment in rolled.segments:
            if not segment.saved:
                segment.save()
                segment.sync()
        checkpoint = msgspec.structs.replace(
            rolled.checkpoint, log_start_offset=self._log_start_offset, cleaned_offset=self.cleaned_offset
        )
        write_checkpoint(self.folder, checkpoint)
        self._unsynced = tuple(one for one in self._unsynced if one not in rolled.segments)

    def checkpoint_changes(self) -> None:
        """`checkpoint`, when anything has changed since the last one. Raises: OSError."""
        if self._changed:
            self.checkpoint()

    def checkpoint(self) -> None:
        """Brings everything onto the disk and says so: nothing is walked at the next opening. Raises: OSError."""
        for segment in (*self._unsynced, *self.segments[-1:]):
            if segment.size:
                segment.save()
                segment.sync()
        write_checkpoint(self.folder, self._checkpoint_here())
        self._unsynced, self._rolled, self._changed, self._unflushed_records = (), None, False, 0

    def _checkpoint_here(self) -> Checkpoint:
        newest = self.segments[-1]
        return Checkpoint(
            segment=newest.base_offset,
            size=newest.size,
            next_offset=self.state.next_offset,
            log_start_offset=self._log_start_offset,
            cleaned_offset=self.cleaned_offset,
            epochs=self.state.epochs,
            producers=self.state.producers.snapshot(),
        )
