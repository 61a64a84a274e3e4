"""Admin calls on groups, with every code that the broker gave.

Job: what an operator does to a group, on any Kafka cluster without security: read and write offsets, remove members, delete.
Rules: results are per row; nothing is summed up, so that a caller can tell which partition failed and why. A call that failed
as a whole raises KafkaError. Any group id is taken, the empty one too.
Source: PROTOCOL 2.5-2.10 in docs/PROTOCOL.md; KIP-345 (removal), KIP-496 (OffsetDelete).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, NamedTuple, Self

from kaas.consumer.cluster import PASSING, Cluster, Passing, check
from kaas.consumer.connection import Connection
from kaas.errors import ErrorCode, error_code
from kaas.wire.apis import (
    DELETE_GROUPS,
    DESCRIBE_GROUPS,
    LEAVE_GROUP,
    LIST_OFFSETS,
    METADATA,
    OFFSET_COMMIT,
    OFFSET_DELETE,
    OFFSET_FETCH,
)

Key = tuple[str, int]
"""(topic, partition)."""

NOBODY = -1
REMOVAL_REASON = "member was removed by an admin"
"""What Kafka's own admin client puts before the reason of a removal; the coordinator tells removals from leaves by it."""
EARLIEST, LATEST = -2, -1


class FetchedOffset(NamedTuple):
    """A committed offset; `offset` is -1 where nothing is committed."""

    offset: int
    leader_epoch: int
    metadata: str
    code: ErrorCode


class FoundOffset(NamedTuple):
    """An offset in a log; -1 where no record is that late."""

    offset: int
    timestamp: int
    code: ErrorCode


def code_of(row: Any) -> ErrorCode:
    return error_code(row.error_code.value)


def by_topic(keys: Iterable[Key]) -> dict[str, list[int]]:
    topics: dict[str, list[int]] = {}
    for topic, partition in keys:
        topics.setdefault(topic, []).append(partition)
    return topics


def passing_of(codes: Iterable[ErrorCode]) -> None:
    """Raises Passing when a row says to ask again."""
    for code in codes:
        if code in PASSING:
            raise Passing(code)


class Admin:
    """`async with Admin("host:port") as admin: ...`"""

    def __init__(self, bootstrap: str, *, timeout_s: float = 10.0, deadline_s: float = 15.0) -> None:
        self._cluster = Cluster(bootstrap, timeout_s=timeout_s, deadline_s=deadline_s)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._cluster.close()

    async def commit_offsets(
        self, group_id: str, offsets: Mapping[Key, int], metadata: str = ""
    ) -> dict[Key, ErrorCode]:
        """Commit as nobody: taken only while the group has no members. A code per partition."""
        topics = [
            {
                "name": topic,
                "partitions": [
                    {
                        "partition_index": p,
                        "committed_offset": offsets[topic, p],
                        "committed_leader_epoch": -1,
                        "committed_metadata": metadata,
                    }
                    for p in partitions
                ],
            }
            for topic, partitions in by_topic(offsets).items()
        ]
        values = {
            "group_id": group_id,
            "generation_id_or_member_epoch": NOBODY,
            "member_id": "",
            "retention_time": -1,
            "topics": topics,
        }

        async def ask(connection: Connection) -> dict[Key, ErrorCode]:
            answer = await connection.call(
                OFFSET_COMMIT.key, values, version=min(9, connection.version(OFFSET_COMMIT.key))
            )
            codes = {(t.name, p.partition_index): code_of(p) for t in answer.topics for p in t.partitions}
            passing_of(codes.values())
            return codes

        return await self._cluster.at_coordinator(group_id, ask)

    async def fetch_offsets(
        self, group_id: str, keys: Iterable[Key] | None = None, *, require_stable: bool = False
    ) -> dict[Key, FetchedOffset]:
        """Committed offsets of these partitions, or with null of all that have one. Raises KafkaError for the group."""
        topics = None
        if keys is not None:
            topics = [{"name": t, "partition_indexes": p} for t, p in by_topic(keys).items()]
        group = {"group_id": group_id, "member_id": None, "member_epoch": -1, "topics": topics}
        values = {"group_id": group_id, "topics": topics, "groups": [group], "require_stable": require_stable}

        async def ask(connection: Connection) -> dict[Key, FetchedOffset]:
            version = min(9, connection.version(OFFSET_FETCH.key))
            answer = await connection.call(OFFSET_FETCH.key, values, version=version)
            found = answer.groups[0] if version >= 8 else answer
            if version >= 2:
                check(code_of(found))
            rows = {}
            for topic in found.topics:
                for p in topic.partitions:
                    epoch = getattr(p, "committed_leader_epoch", -1)
                    rows[topic.name, p.partition_index] = FetchedOffset(
                        p.committed_offset, epoch, p.metadata or "", code_of(p)
                    )
            passing_of(row.code for row in rows.values())
            return rows

        return await self._cluster.at_coordinator(group_id, ask)

    async def delete_offsets(self, group_id: str, keys: Iterable[Key]) -> dict[Key, ErrorCode]:
        """A code per partition: 86 where a live member reads the topic, 3 where there is no such partition."""
        topics = [
            {"name": topic, "partitions": [{"partition_index": p} for p in partitions]}
            for topic, partitions in by_topic(keys).items()
        ]

        async def ask(connection: Connection) -> dict[Key, ErrorCode]:
            answer = await connection.call(OFFSET_DELETE.key, {"group_id": group_id, "topics": topics})
            check(code_of(answer))
            return {(t.name, p.partition_index): code_of(p) for t in answer.topics for p in t.partitions}

        return await self._cluster.at_coordinator(group_id, ask)

    async def remove_members(
        self, group_id: str, members: Iterable[tuple[str, str | None]], *, reason: str = ""
    ) -> list[ErrorCode]:
        """Remove members by (member id, instance id); an empty member id with an instance id will do. A code each, in order."""
        text = f"{REMOVAL_REASON}: {reason}" if reason else REMOVAL_REASON
        rows = [{"member_id": m, "group_instance_id": i, "reason": text[:255]} for m, i in members]

        async def ask(connection: Connection) -> list[ErrorCode]:
            answer = await connection.call(LEAVE_GROUP.key, {"group_id": group_id, "members": rows})
            check(code_of(answer))
            return [code_of(row) for row in answer.members]

        return await self._cluster.at_coordinator(group_id, ask)

    async def delete_group(self, group_id: str) -> ErrorCode:
        """68 while it has members, 69 if there is none."""

        async def ask(connection: Connection) -> ErrorCode:
            answer = await connection.call(DELETE_GROUPS.key, {"groups_names": [group_id]})
            code = code_of(answer.results[0])
            passing_of([code])
            return code

        return await self._cluster.at_coordinator(group_id, ask)

    async def describe_group(self, group_id: str) -> Any:
        """A classic group as DescribeGroups answers it (kio's entity); state "Dead" for one that is not there."""

        async def ask(connection: Connection) -> Any:
            version = min(5, connection.version(DESCRIBE_GROUPS.key))
            values = {"groups": [group_id], "include_authorized_operations": False}
            answer = await connection.call(DESCRIBE_GROUPS.key, values, version=version)
            check(code_of(answer.groups[0]))
            return answer.groups[0]

        return await self._cluster.at_coordinator(group_id, ask)

    async def partitions(self, topics: Iterable[str]) -> dict[str, list[int] | ErrorCode]:
        """The partitions of each topic, or why there are none."""
        rows = [{"name": topic, "topic_id": None} for topic in dict.fromkeys(topics)]
        if not rows:
            return {}
        connection = await self._cluster.any_broker()
        answer = await connection.call(METADATA.key, {"topics": rows, "allow_auto_topic_creation": False})
        return {
            t.name: code_of(t) if code_of(t) else sorted(p.partition_index for p in t.partitions) for t in answer.topics
        }

    async def list_offsets(self, wanted: Mapping[Key, int], *, read_committed: bool = False) -> dict[Key, FoundOffset]:
        """Offsets by time (ms, EARLIEST or LATEST) per partition. A row each, of partitions that have no leader or
        do not exist as well."""
        leaders, found = await self._leaders(wanted)
        for node_id, keys in leaders.items():
            connection = await self._cluster.node(node_id)
            topics = [
                {
                    "name": topic,
                    "partitions": [
                        {"partition_index": p, "current_leader_epoch": -1, "timestamp": wanted[topic, p]}
                        for p in partitions
                    ],
                }
                for topic, partitions in by_topic(keys).items()
            ]
            values = {"replica_id": -1, "isolation_level": int(read_committed), "topics": topics, "timeout": 10_000}
            answer = await connection.call(LIST_OFFSETS.key, values)
            for topic in answer.topics:
                for row in topic.partitions:
                    stamp = row.timestamp
                    milliseconds = stamp if isinstance(stamp, int) else -1
                    found[topic.name, row.partition_index] = FoundOffset(row.offset, milliseconds, code_of(row))
        return found

    async def _leaders(self, keys: Iterable[Key]) -> tuple[dict[int, list[Key]], dict[Key, FoundOffset]]:
        """Who leads each partition, and rows for those that nobody leads."""
        topics = by_topic(keys)
        rows = [{"name": topic, "topic_id": None} for topic in topics]
        connection = await self._cluster.any_broker()
        answer = await connection.call(METADATA.key, {"topics": rows, "allow_auto_topic_creation": False})
        codes = {t.name: code_of(t) for t in answer.topics}
        led = {(t.name, p.partition_index): (p.leader_id, code_of(p)) for t in answer.topics for p in t.partitions}
        leaders: dict[int, list[Key]] = {}
        failed: dict[Key, FoundOffset] = {}
        for topic, partitions in topics.items():
            for partition in partitions:
                leader, code = led.get((topic, partition), (-1, codes[topic] or ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
                if leader < 0:
                    failed[topic, partition] = FoundOffset(-1, -1, code or ErrorCode.LEADER_NOT_AVAILABLE)
                else:
                    leaders.setdefault(leader, []).append((topic, partition))
        return leaders, failed
