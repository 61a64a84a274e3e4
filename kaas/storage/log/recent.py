"""The batches that were written last, in memory, so that readers at the end of a log need no file.

Job: keep the newest batches of all logs together, up to a number of bytes.
Rules: the oldest batch of any log goes first. Each log finds its batches in a dictionary of its own, by base offset:
a reader that goes on where it stopped asks for exactly such an offset, and a look-up is safe beside the appender
without a lock.
Must not know: logs, files.
"""

from __future__ import annotations

from collections import deque

RECENT_BYTES = 64 * 1024 * 1024

_OVERHEAD_BYTES = 200  # of the objects that hold one batch


class RecentBatches:
    """The memory that all logs share. Only the appender thread adds."""

    def __init__(self, limit_bytes: int = RECENT_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._held_bytes = 0
        self._order: deque[tuple[dict[int, bytes], int, int]] = deque()

    def __len__(self) -> int:
        return len(self._order)

    def add(self, batches: dict[int, bytes], base_offset: int, data: bytes) -> None:
        """Puts a batch into the dictionary of its log, and lets the oldest batches go when there are too many bytes."""
        size = len(data) + _OVERHEAD_BYTES
        batches[base_offset] = data
        self._order.append((batches, base_offset, size))
        self._held_bytes += size
        while self._held_bytes > self._limit_bytes:
            oldest, offset, freed = self._order.popleft()
            oldest.pop(offset, None)
            self._held_bytes -= freed
