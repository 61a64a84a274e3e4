"""One segment of a log: a file of batches, its two indexes, its aborted transactions.

Job: append bytes, read whole batches from an offset on, know the times of its records.
Rules:
- Only the appender thread changes a segment. What readers may see ends at an offset that they are given, never at
  the size.
- The indexes of the segment that is being written are in memory; `seal` writes them. A segment whose index files are
  missing or do not fit is walked and indexed anew when the log is opened.
- A time index pair names the batch that first reached a time, so a search that starts there misses no earlier record.
Must not know: producers, retention, other segments.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from struct import Struct
from typing import NamedTuple

from kaas.errors import ErrorCode, KafkaError
from kaas.storage.log.aborted import AbortedTransaction, pack_aborted
from kaas.storage.log.files import OpenFiles, StoredFile
from kaas.storage.log.index import OFFSET_PAIR, TIME_PAIR, Index
from kaas.wire.records.header import HEADER_SIZE, NO_TIMESTAMP, PREFIX_SIZE, BatchHeader, read_header
from kaas.wire.records.walk import batches

LOG = ".log"
OFFSET_INDEX = ".index"
TIME_INDEX = ".timeindex"
ABORTED_INDEX = ".txnindex"

_SPAN = Struct(">qi11xi")  # base offset, length, last offset delta
_WALK_BYTES = 1024 * 1024
_LOCATE_BYTES = 8 * 1024  # two index intervals of Kafka's default
_GREATEST_RELATIVE = 2**31 - 1


class Chunk(NamedTuple):
    """Whole batches as they lie in the log, and the offset after the last of them. Empty: no buffers, the asked
    offset.
    """

    buffers: list[bytes | memoryview]
    size: int
    next_offset: int


def segment_path(folder: str, base_offset: int, suffix: str = LOG) -> str:
    """The path of a segment's file: its base offset in 20 digits."""
    return f"{folder}/{base_offset:020d}{suffix}"


class Segment:
    """A segment; `size` in bytes, times in milliseconds since 1970."""

    __slots__ = (
        "_first_timestamp",
        "_max_timestamp",
        "_max_timestamp_offset",
        "_torn",
        "_unindexed_bytes",
        "aborted",
        "base_offset",
        "changed_ms",
        "file",
        "offsets",
        "saved",
        "size",
        "times",
    )

    def __init__(
        self, *, base_offset: int, file: StoredFile, offsets: Index, times: Index, size: int, changed_ms: int
    ) -> None:
        self.base_offset = base_offset
        self.file = file
        self.offsets = offsets
        self.times = times
        self.size = size
        self.changed_ms = changed_ms
        self.saved = size > 0  # the index files hold what the indexes hold
        self.aborted: list[AbortedTransaction] = []
        self._first_timestamp: int | None = None  # None: in the first batch
        self._max_timestamp: int | None = NO_TIMESTAMP if size == 0 else None  # None: in the time index
        self._max_timestamp_offset = base_offset
        self._torn = False  # the file may hold bytes behind `size`
        self._unindexed_bytes = 0

    @classmethod
    def new(cls, open_files: OpenFiles, folder: str, base_offset: int, now_ms: int) -> Segment:
        """An empty segment; its file is made by the first write."""
        return cls(
            base_offset=base_offset,
            file=StoredFile(open_files, segment_path(folder, base_offset)),
            offsets=Index.new(StoredFile(open_files, segment_path(folder, base_offset, OFFSET_INDEX)), OFFSET_PAIR),
            times=Index.new(StoredFile(open_files, segment_path(folder, base_offset, TIME_INDEX)), TIME_PAIR),
            size=0,
            changed_ms=now_ms,
        )

    @property
    def max_timestamp(self) -> int:
        """The greatest timestamp of any record; NO_TIMESTAMP in an empty segment. Raises: OSError."""
        if self._max_timestamp is None:
            timestamp, relative = self.times.last or (NO_TIMESTAMP, 0)
            self._max_timestamp_offset = self.base_offset + relative  # first, for a reader in another thread
            self._max_timestamp = timestamp
        return self._max_timestamp

    @property
    def max_timestamp_offset(self) -> int:
        """The base offset of the batch that first reached `max_timestamp`, or an earlier one. Raises: OSError."""
        return self._max_timestamp_offset if self.max_timestamp != NO_TIMESTAMP else self.base_offset

    @property
    def first_timestamp(self) -> int:
        """The greatest timestamp of the first batch; NO_TIMESTAMP in an empty segment. Raises: OSError."""
        if self.size == 0:
            return NO_TIMESTAMP
        if self._first_timestamp is None:
            self._first_timestamp = read_header(self.file.read(HEADER_SIZE, 0)).max_timestamp
        return self._first_timestamp

    # For the appender thread

    def takes(self, offset: int, index_limit_bytes: int) -> bool:
        """Whether a batch that ends at an offset can still be indexed here."""
        fits = offset - self.base_offset <= _GREATEST_RELATIVE
        return fits and self.offsets.size + OFFSET_PAIR.size <= index_limit_bytes

    def note(self, header: BatchHeader, interval_bytes: int) -> None:
        """Takes up a batch that was written at the end: its size, its times, an index pair when one is due."""
        if self.size == 0:
            self._first_timestamp = header.max_timestamp
        if header.max_timestamp > self.max_timestamp:
            self._max_timestamp = header.max_timestamp
            self._max_timestamp_offset = header.base_offset
        if self._unindexed_bytes > interval_bytes:
            self.offsets.add(header.base_offset - self.base_offset, self.size)
            self._index_time()
            self._unindexed_bytes = 0
        self._unindexed_bytes += header.size
        self.size += header.size
        self.saved = False

    def save(self) -> None:
        """Writes the indexes, and leaves them in memory. Raises: OSError; `saved` is then false: try again later."""
        if not self.saved:
            self._index_time()
            self.offsets.save()
            self.times.save()
            if self.aborted:
                self._aborted_file().write([pack_aborted(self.aborted)], 0)
            self.saved = True

    def sync(self) -> None:
        """Returns when the segment and its saved indexes are on the disk; any thread may call it. Raises: OSError."""
        self.file.sync()
        self.offsets.sync()
        self.times.sync()
        if self.aborted:
            self._aborted_file().sync()

    def release(self) -> None:
        """Gives the memory of saved indexes back, and closes the files: nothing is written here any more."""
        self.offsets.release()
        self.times.release()
        self.file.close()

    def cut(self, size: int, next_offset: int) -> None:
        """Forgets what lies behind the first `size` bytes, which end before `next_offset`; the file is left as it is.

        Raises: OSError.
        """
        self.offsets.cut(size)
        self.times.cut(next_offset - self.base_offset)
        self.aborted = [one for one in self.aborted if one.last_offset < next_offset]
        self.size = size
        self._max_timestamp = None
        self.saved = False

    def write(self, buffers: Sequence[bytes], *, sync: bool = False) -> None:
        """Writes bytes at the end, with `sync` onto the disk; `note` then takes up each batch of them.

        Raises: OSError; the caller then cuts the file, and until that succeeds every write begins with it.
        """
        if self._torn:
            self.cut_file()
        self._torn = True
        self.file.write(buffers, self.size)
        if sync:
            self.file.sync()
            if self.size == 0:
                self.file.sync_name()
        self._torn = False

    def cut_file(self) -> None:
        """Cuts what lies in the file behind `size`. Raises: OSError."""
        self._torn = True
        self.file.truncate(self.size)
        self._torn = False

    def remove_indexes(self) -> None:
        """Removes the index files: the segment goes, or another one comes into its place. Raises: OSError."""
        self.offsets.remove()
        self.times.remove()
        self._aborted_file().remove()

    def remove(self) -> None:
        """Removes all files. A reader in the midst of it reads on, a later one finds nothing. Raises: OSError."""
        self.remove_indexes()
        self.file.remove()

    # For any thread

    def walk(self, position: int, size: int) -> Iterator[tuple[int, BatchHeader, memoryview]]:
        """Position, header and bytes of each whole batch in the first `size` bytes, from a position on.

        A batch that is torn ends the walk.
        Raises: KafkaError CORRUPT_MESSAGE at bytes that are no batch, OSError.
        """
        wanted = _WALK_BYTES
        while (left := size - position) > 0:
            data = memoryview(self.file.read(min(wanted, left), position))
            end = 0
            for start, header in batches(data):
                end = start + header.size
                yield position + start, header, data[start:end]
            if end:
                position, wanted = position + end, _WALK_BYTES
            elif len(data) < HEADER_SIZE or wanted >= left:
                return
            else:
                wanted = read_header(data).size

    def locate(self, offset: int) -> int:
        """The position of the first batch that ends at or after an offset; `size` when there is none.

        Raises: OSError, FileNotFoundError when the file is gone, KafkaError CORRUPT_MESSAGE.
        """
        pair = self.offsets.floor(offset - self.base_offset)
        position = start = pair[1] if pair else 0
        data = b""
        while position < self.size:
            at = position - start
            if at + HEADER_SIZE > len(data):
                data, start, at = self.file.read(_LOCATE_BYTES, position), position, 0
            base_offset, length, last = _span(data, at)
            if base_offset + last >= offset:
                return position
            position += PREFIX_SIZE + length
        return self.size

    def read(self, offset: int, max_bytes: int, end_offset: int, *, min_one: bool) -> Chunk | None:
        """Whole batches from the one that holds `offset` on, below `end_offset`, of at most `max_bytes` together.

        With `min_one` the first batch comes whatever its size. None: this segment ends before `offset`.
        Raises: as `locate`.
        """
        position = self.locate(offset)
        left = self.size - position
        if left <= 0:
            return None
        data = self.file.read(min(max(max_bytes, HEADER_SIZE), left), position)
        if min_one and len(data) >= HEADER_SIZE:
            first = PREFIX_SIZE + _span(data, 0)[1]
            if first > max(max_bytes, len(data)):
                data = self.file.read(min(first, left), position)
                max_bytes = first
        end, next_offset = _whole_batches(data, max_bytes, offset, end_offset)
        return Chunk([memoryview(data)[:end]] if end else [], end, next_offset)

    # Inside

    def _index_time(self) -> None:
        last = self.times.last
        if self.max_timestamp > (last[0] if last else NO_TIMESTAMP):
            self.times.add(self.max_timestamp, self.max_timestamp_offset - self.base_offset)

    def _aborted_file(self) -> StoredFile:
        return self.file.beside(ABORTED_INDEX)


def _span(data: bytes, at: int) -> tuple[int, int, int]:
    """Base offset, length and last offset delta of the batch at a place in some bytes."""
    if at + HEADER_SIZE > len(data):
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, "a segment ends inside the header of a batch")
    base_offset, length, last = _SPAN.unpack_from(data, at)
    if length < HEADER_SIZE - PREFIX_SIZE:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"a batch in a segment claims {length} bytes")
    return base_offset, length, last


def _whole_batches(data: bytes, max_bytes: int, offset: int, end_offset: int) -> tuple[int, int]:
    """Where the last whole batch below `end_offset` and within `max_bytes` ends, and the offset after it."""
    end, next_offset, limit = 0, offset, min(len(data), max_bytes)
    while end + HEADER_SIZE <= limit:
        base_offset, length, last = _span(data, end)
        following = end + PREFIX_SIZE + length
        if base_offset >= end_offset or following > limit:
            break
        end, next_offset = following, base_offset + last + 1
        if next_offset >= end_offset:
            break
    return end, next_offset
