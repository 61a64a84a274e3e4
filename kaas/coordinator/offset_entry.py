"""One committed offset, and what is staged by a transaction.

Shape: offsets are 64-bit, times are wall-clock ms since 1970, topic ids are 16 bytes or null (commits before version 10).
"""

from __future__ import annotations

import msgspec

OffsetKey = tuple[str, int]
"""(topic, partition)."""


class OffsetEntry(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """`expires_at` is set only when the commit itself asked for a retention (OffsetCommit 2-4)."""

    offset: int
    leader_epoch: int
    metadata: str
    committed_at: int
    expires_at: int | None = None
    topic_id: bytes | None = None


OffsetRows = list[tuple[str, int, OffsetEntry]]
"""Topic, partition, and what is kept there; rows of one topic stand together. Not changed once it is made."""


class StagedOffset(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """An offset that an open transaction would commit.

    `number` counts what was staged in its group. `overtaken`: a newer offset of the partition has been committed since, so the
    transaction's end will not bring this one in; it still says that the partition is not stable.
    """

    entry: OffsetEntry
    epoch: int
    number: int
    overtaken: bool = False
