"""Rows of commits, as the broker's edge makes them."""

from __future__ import annotations

from collections.abc import Mapping

from kaas.coordinator.offset_entry import OffsetEntry, OffsetKey, OffsetRows


def offset_rows(
    offsets: Mapping[OffsetKey, int], *, at: int = 0, metadata: str = "", retention_ms: int | None = None
) -> OffsetRows:
    """Offsets committed at a wall time (ms), with a retention of their own unless that is null."""
    expires_at = None if retention_ms is None else at + retention_ms
    return [
        (topic, partition, OffsetEntry(n, -1, metadata, at, expires_at)) for (topic, partition), n in offsets.items()
    ]
