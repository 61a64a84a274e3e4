"""Compaction of one log: of each key the last value stays.

Job: rewrite the full segments of a log with what is retained of them, in small pieces.
Rules:
- A pass is a generator: each `next` does one piece, and appends go on between the pieces. Only `swap_in`, at the end
  of each group of segments, changes the log. When a segment of the group is gone by then, the pass ends without harm.
- A pass learns a bounded number of keys; the batches from which on it had no room are left for the next one.
- Small segments that stand side by side become one.
- A group is written aside, synchronised and renamed to `<first>.<end>.swap`: from then on a crash finishes the swap.
Must not know: when it is time, other logs, how the log publishes a swap.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from kaas.storage.files import TEMPORARY, flush_folder
from kaas.storage.log.aborted import AbortedTransaction
from kaas.storage.log.cleanable import CleanableRange
from kaas.storage.log.config import LogConfig
from kaas.storage.log.files import OpenFiles, StoredFile
from kaas.storage.log.recovery import SWAP
from kaas.storage.log.retained import AbortedRanges, KeyOffsets, Retained
from kaas.storage.log.segment import Segment
from kaas.wire.records.header import read_header

KEYS_PER_PASS = 250_000
PIECE_BYTES = 256 * 1024

_GREATEST_SPAN = 2**31 - 1

Holds = Callable[[Sequence[Segment]], bool]
"""Whether the log still has all of some segments."""

SwapIn = Callable[[Sequence[Segment], Segment], None]
"""Puts a new segment in the place of old ones."""


class CompactionPass(msgspec.Struct, frozen=True, kw_only=True):
    """What a pass works on and with."""

    cleanable: CleanableRange
    aborted: Sequence[AbortedTransaction]
    config: LogConfig
    folder: str
    open_files: OpenFiles
    now_ms: int

    def run(self, holds: Holds, swap_in: SwapIn) -> Generator[None, None, int | None]:
        """Does the pass, a piece per step. The offset up to which the log is compacted; None when it was cut short.

        Raises: OSError; what is written aside is then removed.
        """
        aborted = AbortedRanges(self.aborted)
        keys = KeyOffsets(KEYS_PER_PASS)
        end_offset = yield from self._learn(keys, aborted)
        retained = Retained(keys, aborted, self.now_ms, self.now_ms + self.config.delete_retention_ms)
        for group, group_end in self._groups(end_offset):
            with self._aside(group, group_end) as new:
                yield from self._copy(group, new, retained)
                if not holds(group):
                    return None
                new.file.sync()
                new.file.move(self._path(group, group_end) + SWAP)
                flush_folder(Path(self.folder))
                swap_in(group, new)
        return end_offset

    def _learn(self, keys: KeyOffsets, aborted: AbortedRanges) -> Generator[None, None, int]:
        """Learns the keys of what was never compacted. The offset up to which there was room."""
        size = 0
        for segment in self.cleanable.dirty_segments:
            start = segment.locate(self.cleanable.first_dirty_offset)
            for _, header, data in segment.walk(start, segment.size):
                if keys.is_full:
                    return header.base_offset
                if not header.is_control and not aborted.hold(header):
                    keys.learn(header, data)
                size += len(data)
                if size >= PIECE_BYTES:
                    size = 0
                    yield
        return self.cleanable.end_offset

    def _groups(self, end_offset: int) -> Iterator[tuple[list[Segment], int]]:
        """Segments that fit one, side by side, and the offset at which each group ends."""
        segments = self.cleanable.segments
        ends = [*(one.base_offset for one in segments[1:]), self.cleanable.end_offset]
        group: list[Segment] = []
        group_end = 0
        for segment, end in zip(segments, ends, strict=True):
            if segment.base_offset >= end_offset:
                break
            if group and not self._fit([*group, segment], end):
                yield group, group_end
                group = []
            group.append(segment)
            group_end = end
        if group:
            yield group, group_end

    def _fit(self, group: list[Segment], end: int) -> bool:
        return (
            sum(one.size for one in group) <= self.config.segment_bytes
            and sum(one.offsets.size for one in group) <= self.config.segment_index_bytes
            and end - group[0].base_offset <= _GREATEST_SPAN
        )

    @contextmanager
    def _aside(self, group: list[Segment], end: int) -> Iterator[Segment]:
        """An empty segment in a temporary file, which is removed unless it got another name."""
        temporary = self._path(group, end) + TEMPORARY
        new = Segment.new(self.open_files, self.folder, group[0].base_offset, max(one.changed_ms for one in group))
        new.file = StoredFile(self.open_files, temporary)
        try:
            yield new
        finally:
            if new.file.path == temporary:
                new.file.remove()

    def _path(self, group: list[Segment], end: int) -> str:
        return f"{self.folder}/{group[0].base_offset:020d}.{end:020d}"

    def _copy(self, group: list[Segment], new: Segment, retained: Retained) -> Generator[None, None, None]:
        """Writes what stays of a group to the end of a segment."""
        left: list[bytes] = []
        size = 0
        aborted = {one.last_offset: one for segment in group for one in segment.aborted}
        for segment in group:
            for _, header, data in segment.walk(0, segment.size):
                size += len(data)
                kept = retained.of(header, data)
                if kept is not None:
                    left.append(bytes(kept))
                    if header.last_offset in aborted:
                        new.aborted.append(aborted[header.last_offset])
                if size >= PIECE_BYTES:
                    self._write(new, left)
                    left, size = [], 0
                    yield
        self._write(new, left)

    def _write(self, new: Segment, batches: list[bytes]) -> None:
        new.write(batches)
        for batch in batches:
            new.note(read_header(batch), self.config.index_interval_bytes)
