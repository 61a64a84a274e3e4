"""Leader epochs of a log: which leader wrote what.

Job: the epoch of an offset, and where an epoch ends, so that a client or a new leader finds where two histories part.
Rules: immutable; an epoch begins at the end of the log as its leader found it; epochs and offsets both grow.
Must not know: batches, files.
Source: KIP-101, KIP-320 (OffsetForLeaderEpoch).
"""

from __future__ import annotations

from bisect import bisect_right

import msgspec

UNKNOWN_EPOCH = -1
UNKNOWN_OFFSET = -1


class LeaderEpochs(msgspec.Struct, frozen=True):
    """Pairs (epoch, first offset), oldest first; before the first pair everything is of epoch 0."""

    starts: tuple[tuple[int, int], ...] = ((0, 0),)

    @property
    def latest(self) -> int:
        return self.starts[-1][0]

    def begin(self, epoch: int, offset: int) -> LeaderEpochs:
        """With an epoch that begins at an offset; the same when it is not newer than the latest."""
        if epoch <= self.latest:
            return self
        kept = tuple(pair for pair in self.starts if pair[1] < offset)
        return LeaderEpochs((*kept, (epoch, offset)))

    def of(self, offset: int) -> int:
        """The epoch that wrote an offset."""
        found = bisect_right(self.starts, offset, key=lambda pair: pair[1])
        return self.starts[max(found, 1) - 1][0]

    def end_of(self, epoch: int, end_offset: int) -> tuple[int, int]:
        """The greatest known epoch not above the asked one, and the offset after its last record.

        (UNKNOWN_EPOCH, UNKNOWN_OFFSET) for an epoch newer than the latest.
        """
        if epoch == self.latest:
            return epoch, end_offset
        found = bisect_right(self.starts, epoch, key=lambda pair: pair[0])
        if found == len(self.starts):
            return UNKNOWN_EPOCH, UNKNOWN_OFFSET
        return (self.starts[found - 1][0] if found else epoch), self.starts[found][1]
