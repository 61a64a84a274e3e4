"""What readers see of a log at one moment.

Job: whole batches from an offset on, the aborted transactions among them, offsets by time; all from one unchanging
snapshot.
Rules: nothing at or beyond the high watermark is seen. A segment that was removed or replaced since raises
FileNotFoundError: the caller takes the log's newer view and asks again.
Must not know: who appends, the memory of recent batches.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import msgspec

from kaas.errors import ErrorCode, KafkaError
from kaas.storage.log.aborted import AbortedTransaction
from kaas.storage.log.lookup import FoundRecord, first_at_or_after, newest
from kaas.storage.log.segment import Chunk, Segment


class LogView(msgspec.Struct, frozen=True, kw_only=True):
    """The segments, oldest first, and the offsets that bound what is read.

    `high_watermark` is the end of what was written: there is one replica. `last_stable_offset` is where a
    read_committed reader must stop.
    """

    segments: tuple[Segment, ...] = ()
    log_start_offset: int = 0
    last_stable_offset: int = 0
    high_watermark: int = 0

    def check(self, offset: int) -> None:
        """Raises: KafkaError OFFSET_OUT_OF_RANGE for an offset that cannot be read from."""
        if not self.log_start_offset <= offset <= self.high_watermark:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"the log holds {self.log_start_offset} to {self.high_watermark}, not {offset}",
            )

    def read(self, offset: int, max_bytes: int, end_offset: int, *, min_one: bool) -> Chunk:
        """Whole batches from the one that holds `offset` on and below `end_offset`, from one segment.

        Raises: OSError, FileNotFoundError, KafkaError OFFSET_OUT_OF_RANGE or CORRUPT_MESSAGE.
        """
        self.check(offset)
        first = max(0, self._number(offset))
        for segment in self.segments[first:]:
            if offset >= end_offset or segment.base_offset >= end_offset:
                break
            chunk = segment.read(offset, max_bytes, end_offset, min_one=min_one)
            if chunk is not None:
                return chunk
        return Chunk([], 0, offset)

    def aborted(self, first_offset: int, next_offset: int) -> list[AbortedTransaction]:
        """The aborted transactions with records in [first_offset, next_offset), in the order of their markers."""
        found = []
        for segment in self.segments[max(0, self._number(first_offset)) :]:
            entries = segment.aborted
            for number in range(bisect_left(entries, first_offset, key=lambda one: one.last_offset), len(entries)):
                one = entries[number]
                if one.first_offset < next_offset:
                    found.append(one)
                if one.last_stable_offset >= next_offset:
                    return found
        return found

    def first_at_or_after(self, timestamp: int) -> FoundRecord | None:
        """The first record that is not older than a time (milliseconds since 1970). Raises: as `read`."""
        return first_at_or_after(self.segments, timestamp, self.log_start_offset, self.high_watermark)

    def newest(self) -> FoundRecord | None:
        """The first of the records with the greatest time. Raises: as `read`."""
        return newest(self.segments, self.log_start_offset, self.high_watermark)

    def _number(self, offset: int) -> int:
        """The number of the segment that holds an offset, or would; -1 before the first."""
        return bisect_right(self.segments, offset, key=lambda segment: segment.base_offset) - 1
