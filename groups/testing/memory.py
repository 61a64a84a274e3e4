"""A Kafka cluster in memory, as far as a gateway shows it.

Job: topics with records, groups with members and offsets; the operations of groups.gateway on them.
Rules: it is held to the same contract as the gateway to a real cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from groups.gateway import EARLIEST, LATEST, Committed, Partition, Record
from groups.problems import Problem, from_kafka
from kaas.errors import ErrorCode


@dataclass(slots=True, kw_only=True)
class MemoryLog:
    """A partition: its records, and where it starts."""

    records: list[Record] = field(default_factory=list)
    start: int = 0

    @property
    def end(self) -> int:
        return self.start + len(self.records)


@dataclass(slots=True, kw_only=True)
class MemoryGroup:
    """A group: member id to instance id, the topics they read, and offsets."""

    members: dict[str, str | None] = field(default_factory=dict)
    topics: set[str] = field(default_factory=set)
    offsets: dict[Partition, Committed] = field(default_factory=dict)


class MemoryGateway:
    """See groups.gateway.Gateway. `failing`: when set, every call raises this problem; `codes`: the code that a partition
    answers in place of what it would; `calls` names what was asked."""

    def __init__(self) -> None:
        self.logs: dict[Partition, MemoryLog] = {}
        self.groups: dict[str, MemoryGroup] = {}
        self.failing: Problem | None = None
        self.codes: dict[Partition, ErrorCode] = {}
        self.calls: list[str] = []

    # What a test sets up

    def topic(self, name: str, *counts: int, timestamps: Iterable[int] | None = None, start: int = 0) -> None:
        """A topic with so many records per partition."""
        for partition, count in enumerate(counts):
            times = list(timestamps or [None] * count)
            records = [
                Record(
                    offset=start + number,
                    timestamp=times[number],
                    key=None,
                    value=f'{{"n": {start + number}}}'.encode(),
                    headers=(),
                )
                for number in range(count)
            ]
            self.logs[name, partition] = MemoryLog(records=records, start=start)

    def group(
        self, group_id: str, offsets: Mapping[Partition, int] | None = None, members: Iterable[str] = ()
    ) -> MemoryGroup:
        """A group with these offsets, whose members read the topics that it committed in."""
        held = {place: Committed(offset=offset) for place, offset in (offsets or {}).items()}
        self.groups[group_id] = MemoryGroup(
            members=dict.fromkeys(members), topics={topic for topic, _ in held}, offsets=held
        )
        return self.groups[group_id]

    # The gateway

    def partitions(self, topics: Iterable[str]) -> dict[str, list[int]]:
        self._called("partitions")
        wanted, found = set(topics), {}
        for topic, partition in sorted(self.logs):
            if topic in wanted:
                found.setdefault(topic, []).append(partition)
        return found

    def group_ids(self) -> set[str]:
        self._called("group_ids")
        return set(self.groups)

    def log_offsets(self, wanted: Mapping[Partition, int]) -> dict[Partition, int | ErrorCode]:
        self._called("log_offsets")
        return {place: self._log_offset(place, at) for place, at in wanted.items()}

    def offsets(self, group_id: str) -> dict[Partition, Committed]:
        self._called("offsets")
        group = self.groups.get(group_id)
        return dict(group.offsets) if group else {}

    def commit_offsets(self, group_id: str, offsets: Mapping[Partition, Committed]) -> dict[Partition, ErrorCode]:
        self._called("commit_offsets")
        group = self.groups.setdefault(group_id, MemoryGroup())
        if group.members:
            return dict.fromkeys(offsets, ErrorCode.UNKNOWN_MEMBER_ID)
        codes = {place: self._code(place) for place in offsets}
        group.offsets.update({place: offsets[place] for place, code in codes.items() if not code})
        return codes

    def delete_offsets(self, group_id: str, partitions: Iterable[Partition]) -> dict[Partition, ErrorCode]:
        self._called("delete_offsets")
        group = self.groups.get(group_id)
        if group is None:
            raise from_kafka(ErrorCode.GROUP_ID_NOT_FOUND, f"group {group_id}")
        codes = {place: self._deletion_code(group, place) for place in partitions}
        for place, code in codes.items():
            if not code:
                group.offsets.pop(place, None)
        return codes

    def delete_group(self, group_id: str) -> ErrorCode:
        self._called("delete_group")
        group = self.groups.get(group_id)
        if group is None:
            return ErrorCode.GROUP_ID_NOT_FOUND
        if group.members:
            return ErrorCode.NON_EMPTY_GROUP
        del self.groups[group_id]
        return ErrorCode.NONE

    def remove_member(self, group_id: str, member_id: str, instance_id: str | None, reason: str) -> ErrorCode:
        self._called("remove_member")
        group = self.groups.get(group_id)
        if group is None or member_id not in group.members:
            return ErrorCode.UNKNOWN_MEMBER_ID
        del group.members[member_id]
        return ErrorCode.NONE

    def records(self, topic: str, partition: int, start: int, count: int) -> list[Record]:
        self._called("records")
        log = self.logs[topic, partition]
        if not log.start <= start <= log.end:
            raise from_kafka(ErrorCode.OFFSET_OUT_OF_RANGE, f"{topic} {partition}")
        return [record for record in log.records if record.offset >= start][:count]

    def _called(self, name: str) -> None:
        self.calls.append(name)
        if self.failing is not None:
            raise self.failing

    def _log_offset(self, place: Partition, at: int) -> int | ErrorCode:
        if code := self._code(place):
            return code
        log = self.logs[place]
        if at == EARLIEST:
            return log.start
        if at == LATEST:
            return log.end
        return next((record.offset for record in log.records if (record.timestamp or 0) >= at), -1)

    def _code(self, place: Partition) -> ErrorCode:
        missing = ErrorCode.NONE if place in self.logs else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return self.codes.get(place, missing)

    def _deletion_code(self, group: MemoryGroup, place: Partition) -> ErrorCode:
        if group.members and place[0] in group.topics:
            return ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
        return self._code(place)
