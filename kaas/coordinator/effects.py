"""What a coordinator wants done: replies, timers, writes, announcements. The shell carries them out in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from kaas.coordinator.announcements import Announcement
from kaas.coordinator.offset_entry import OffsetKey
from kaas.coordinator.records import Record
from kaas.coordinator.timers import TimerKey


class Reply(msgspec.Struct, frozen=True):
    """The answer to the request that carried this token."""

    to: Any
    answer: Any


class SetTimer(msgspec.Struct, frozen=True):
    """Send TimerExpired(key) at `deadline_ms` (the clock of `now_ms`), unless set anew or cancelled before."""

    key: TimerKey
    deadline_ms: int


class CancelTimer(msgspec.Struct, frozen=True):
    """Forget the timer, if it is set."""

    key: TimerKey


class Persist(msgspec.Struct, frozen=True):
    """Make this record durable, then send Written; WriteFailed if that cannot be. Sequence numbers grow by one and are the
    versions of the records in their epoch."""

    seq: int
    group_id: str
    epoch: int
    record: Record


class Announce(msgspec.Struct, frozen=True):
    """Tell the feed."""

    group_id: str
    what: Announcement


class SendMarkers(msgspec.Struct, frozen=True, kw_only=True):
    """Write the end of a transaction to each of these partitions and groups, then send MarkersWritten with its producer and
    epoch; MarkersFailed if some could not be written, with those. Writing a marker twice does no harm."""

    transactional_id: str
    producer_id: int
    epoch: int
    committed: bool
    partitions: tuple[OffsetKey, ...]
    groups: tuple[str, ...]


class ResolveRegexes(msgspec.Struct, frozen=True, kw_only=True):
    """Match these patterns (RE2, whole names) against the topics that there are, off the event loop, then send
    RegexesResolved with those of them that `may_describe` lets through (null: all)."""

    group_id: str
    patterns: tuple[str, ...]
    may_describe: Callable[[str], bool] | None = None


Effect = Reply | SetTimer | CancelTimer | Persist | Announce | SendMarkers | ResolveRegexes
