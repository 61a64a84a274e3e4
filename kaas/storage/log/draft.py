"""Batches that have their place in a log and are not written yet.

Job: collect what one write puts on the disk, so that many small batches cost one system call.
Rules: the state of the log runs ahead while a draft is filled. `write` makes it true, or takes all of it back: then
no batch of the draft was appended, and the log is as it was.
Must not know: who waits for the batches.
"""

from __future__ import annotations

from contextlib import suppress

import msgspec

from kaas.storage.log.aborted import AbortedTransaction
from kaas.storage.log.admission import Admitted, Appended
from kaas.storage.log.files import storage_error
from kaas.storage.log.segment import Segment
from kaas.storage.log.state import LogState
from kaas.wire.records.header import LOG_APPEND_TIME, NO_TIMESTAMP, BatchHeader
from kaas.wire.records.rewrite import placed


class Draft:
    """What is written to one segment next. `results`: the numbers of the results that are only true if that
    succeeds.
    """

    __slots__ = ("_aborted", "_now_ms", "_state", "buffers", "headers", "results", "segment", "size", "start_offset")

    def __init__(self, segment: Segment, state: LogState, now_ms: int) -> None:
        self.segment = segment
        self.start_offset = state.next_offset
        self.headers: list[BatchHeader] = []
        self.buffers: list[bytes] = []
        self.results: list[int] = []
        self.size = 0
        self._aborted: list[AbortedTransaction] = []
        self._state = state
        self._now_ms = now_ms
        state.begin()

    def place(self, admitted: Admitted, leader_epoch: int) -> Appended:
        """Gives a batch the next offset."""
        offset = self._state.next_offset
        header = msgspec.structs.replace(admitted.header, base_offset=offset, leader_epoch=leader_epoch)
        self.headers.append(header)
        self.buffers.append(placed(admitted.data, header, offset, leader_epoch))
        self.size += header.size
        aborted = self._state.advance(header, admitted.marker, self._now_ms)
        if aborted is not None:
            self._aborted.append(aborted)
        stamped = header.attributes & LOG_APPEND_TIME
        return Appended(base_offset=offset, append_time_ms=header.max_timestamp if stamped else NO_TIMESTAMP)

    def clear(self) -> None:
        """Forgets what was placed."""
        for placed_so_far in (self.headers, self.buffers, self.results, self._aborted):
            placed_so_far.clear()
        self.size = 0

    def write(self, index_interval_bytes: int, *, sync: bool) -> None:
        """Writes what was placed, with `sync` onto the disk.

        Raises: KafkaError KAFKA_STORAGE_ERROR; state and segment are then as they were before the draft.
        """
        segment = self.segment
        try:
            segment.write(self.buffers, sync=sync)
        except OSError as error:
            self._state.rollback()
            with suppress(OSError):  # tried again before the next write
                segment.cut_file()
            raise storage_error(error) from error
        segment.aborted += self._aborted
        segment.changed_ms = self._now_ms
        for header in self.headers:
            segment.note(header, index_interval_bytes)
