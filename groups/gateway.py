"""What the console asks of a Kafka cluster: every write, and the few reads that a write rests on.

Job: the interface of a gateway, and its data.
Rules: one way per operation; answers are per partition wherever Kafka's are; what fails as a whole is a Problem. A gateway
is shared by the threads of a process.
Must not know: who asks, what is stored of it, which gateway serves which cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from kaas.errors import ErrorCode

Partition = tuple[str, int]
"""Topic and partition."""

EARLIEST = -2
LATEST = -1
"""The two moments of ListOffsets that are no timestamps."""

RECORDS_BYTES = 32 * 2**20
"""A read of records ends with the one that passes this size, however many were asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """A committed offset with what was stored beside it."""

    offset: int
    leader_epoch: int = -1
    metadata: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One record of a log. `timestamp` is in milliseconds, null for none; headers keep their order and may repeat."""

    offset: int
    timestamp: int | None
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


class Gateway(Protocol):
    """A cluster as the console uses it.

    Every method raises Problem: 503 when the cluster cannot be reached, 504 when it takes too long, 502 or 409 when it
    refuses the whole request.
    """

    def partitions(self, topics: Iterable[str]) -> dict[str, list[int]]:
        """The partitions of each of these topics that exists."""
        ...

    def group_ids(self) -> set[str]:
        """Every group that the brokers know. Raises Problem (503) when one of them did not answer."""
        ...

    def log_offsets(self, wanted: Mapping[Partition, int]) -> dict[Partition, int | ErrorCode]:
        """Per partition the offset at EARLIEST, LATEST, or of the first record at or after a time in milliseconds.

        An error code stands where there is no answer; a time after the last record gives -1.
        """
        ...

    def offsets(self, group_id: str) -> dict[Partition, Committed]:
        """What a group has committed; nothing for a group that does not exist."""
        ...

    def commit_offsets(self, group_id: str, offsets: Mapping[Partition, Committed]) -> dict[Partition, ErrorCode]:
        """Commits offsets with their metadata for a group without members; makes the group when there is none."""
        ...

    def delete_offsets(self, group_id: str, partitions: Iterable[Partition]) -> dict[Partition, ErrorCode]:
        """Deletes committed offsets; a topic that a live member reads answers GROUP_SUBSCRIBED_TO_TOPIC."""
        ...

    def delete_group(self, group_id: str) -> ErrorCode:
        """Deletes a group without members."""
        ...

    def remove_member(self, group_id: str, member_id: str, instance_id: str | None, reason: str) -> ErrorCode:
        """Removes one member; the group rebalances. The reason goes behind Kafka's own words for a removal."""
        ...

    def records(self, topic: str, partition: int, start: int, count: int) -> list[Record]:
        """Up to `count` records from an offset on, fewer at the log's end or after RECORDS_BYTES. No group takes notice.

        Raises Problem (502) with the code OFFSET_OUT_OF_RANGE for an offset before the log's start or past its end.
        """
        ...
