"""A sparse index of one segment: sorted pairs of a key and where to look.

Job: find the last pair whose key is not above a wanted one.
Rules:
- The pairs of the segment that is being written are in memory, packed as they will lie in the file; those of a sealed
  segment are in the file only, and a lookup reads the few that it compares. So a thousand old segments cost no memory.
- `.index` holds (offset - base offset, position), `.timeindex` (greatest timestamp so far in milliseconds, offset -
  base offset of the batch that first reached it); both big-endian, as Kafka's.
Must not know: batches, when a pair is due.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from struct import Struct

from kaas.storage.log.files import StoredFile

OFFSET_PAIR = Struct(">ii")
TIME_PAIR = Struct(">qi")


class Index:
    """One index file. One thread writes, any thread may look up."""

    __slots__ = ("_count", "_file", "_layout", "_pairs")

    def __init__(self, file: StoredFile, layout: Struct, pairs: bytearray | None = None, count: int = 0) -> None:
        self._file = file
        self._layout = layout
        self._pairs = pairs  # None: in the file
        self._count = count

    @classmethod
    def new(cls, file: StoredFile, layout: Struct) -> Index:
        """An empty index in memory."""
        return cls(file, layout, bytearray())

    @classmethod
    def stored(cls, file: StoredFile, layout: Struct, size: int) -> Index:
        """An index of `size` bytes in its file."""
        return cls(file, layout, count=size // layout.size)

    def __len__(self) -> int:
        return self._count

    @property
    def size(self) -> int:
        """Bytes in memory, or in the file."""
        return self._count * self._layout.size

    @property
    def last(self) -> tuple[int, int] | None:
        count = self._count
        return self._pair(count - 1) if count else None

    def floor(self, key: int) -> tuple[int, int] | None:
        """The last pair whose key is at most `key`. Raises: OSError."""
        found = bisect_right(range(self._count), key, key=lambda number: self._pair(number)[0])
        return self._pair(found - 1) if found else None

    def add(self, key: int, value: int) -> None:
        """Appends a pair; keys must grow."""
        self.load()
        pairs = self._pairs
        assert pairs is not None, "a loaded index is in memory"
        pairs += self._layout.pack(key, value)
        self._count += 1  # after the pair, so that a reader never counts one that is not there

    def cut(self, limit: int) -> None:
        """Drops the pairs whose value, which grows as the key does, is not below a limit. Raises: OSError."""
        self.load()
        assert self._pairs is not None, "a loaded index is in memory"
        self._count = bisect_left(range(self._count), limit, key=lambda number: self._pair(number)[1])
        del self._pairs[self.size :]

    def load(self) -> None:
        """Brings the pairs into memory. Raises: OSError."""
        if self._pairs is None:
            self._pairs = bytearray(self._file.read(self.size, 0)) if self._count else bytearray()

    def save(self) -> None:
        """Writes the file anew from the pairs in memory, which stay there. Raises: OSError."""
        if self._pairs is not None:
            self._file.write([bytes(self._pairs)], 0)
            self._file.truncate(self.size)

    def sync(self) -> None:
        """Returns when the saved file is on the disk. Raises: OSError."""
        self._file.sync()

    def release(self) -> None:
        """Gives the memory back; from now on pairs are read from the file, which must have been saved."""
        self._pairs = None
        self._file.close()

    def remove(self) -> None:
        """Removes the file. Raises: OSError."""
        self._file.remove()

    def _pair(self, number: int) -> tuple[int, int]:
        layout, pairs = self._layout, self._pairs
        position = number * layout.size
        if pairs is not None:
            key, value = layout.unpack_from(pairs, position)
        else:
            key, value = layout.unpack(self._file.read(layout.size, position))
        return key, value
