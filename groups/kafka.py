"""The gateway to a real cluster.

Job: the operations of groups.gateway over the Kafka protocol.
Rules: group operations, topics and log offsets go through kaas.consumer.admin, which takes every group id (the empty one
too), knows OffsetDelete and LeaveGroup, answers per partition and never makes a topic by asking for it; the list of
groups and the records go through librdkafka. Kafka's errors become problems in groups.problems alone.
Must not know: who asks, what is stored of it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, TypeVar

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka import KafkaError as LibrdkafkaError
from confluent_kafka.admin import AdminClient
from django.conf import settings

from groups.clusters import Cluster
from groups.gateway import RECORDS_BYTES, Committed, Partition, Record
from groups.problems import Problem, from_kafka, not_connected, timed_out
from kaas.consumer.admin import Admin
from kaas.consumer.connection import Unsupported
from kaas.errors import ErrorCode, KafkaError, error_code

Answer = TypeVar("Answer")

_NOBODY = "kaasadmin-records"
"""A group id that librdkafka wants and nobody joins: records are read by assignment, nothing is committed."""

_NO_TOPIC = {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_TOPIC_EXCEPTION}

_UNREACHABLE = {
    LibrdkafkaError._TRANSPORT,
    LibrdkafkaError._ALL_BROKERS_DOWN,
    LibrdkafkaError._RESOLVE,
    LibrdkafkaError._AUTHENTICATION,
    LibrdkafkaError._SSL,
}
_TOO_LATE = {LibrdkafkaError._TIMED_OUT, LibrdkafkaError._TIMED_OUT_QUEUE, LibrdkafkaError._MSG_TIMED_OUT}


class KafkaGateway:
    """One cluster over its brokers; see groups.gateway.Gateway for what each method does."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._resource = f"cluster {cluster.name}"

    # Over kaas.consumer.admin

    def partitions(self, topics: Iterable[str]) -> dict[str, list[int]]:
        found = self._ask(lambda admin: admin.partitions(topics))
        refused = [code for code in found.values() if isinstance(code, ErrorCode) and code not in _NO_TOPIC]
        if refused:
            raise from_kafka(refused[0], self._resource)
        return {topic: numbers for topic, numbers in found.items() if not isinstance(numbers, ErrorCode)}

    def log_offsets(self, wanted: Mapping[Partition, int]) -> dict[Partition, int | ErrorCode]:
        if not wanted:
            return {}
        found = self._ask(lambda admin: admin.list_offsets(wanted))
        return {place: row.code or row.offset for place, row in found.items()}

    def offsets(self, group_id: str) -> dict[Partition, Committed]:
        rows = self._ask(lambda admin: admin.fetch_offsets(group_id))
        return {
            place: Committed(offset=row.offset, leader_epoch=row.leader_epoch, metadata=row.metadata)
            for place, row in rows.items()
            if row.offset >= 0
        }

    def commit_offsets(self, group_id: str, offsets: Mapping[Partition, Committed]) -> dict[Partition, ErrorCode]:
        async def commit(admin: Admin) -> dict[Partition, ErrorCode]:
            codes: dict[Partition, ErrorCode] = {}
            for metadata, some in _by_metadata(offsets).items():
                codes.update(await admin.commit_offsets(group_id, some, metadata))
            return codes

        return self._ask(commit)

    def delete_offsets(self, group_id: str, partitions: Iterable[Partition]) -> dict[Partition, ErrorCode]:
        return self._ask(lambda admin: admin.delete_offsets(group_id, partitions))

    def delete_group(self, group_id: str) -> ErrorCode:
        return self._ask(lambda admin: admin.delete_group(group_id))

    def remove_member(self, group_id: str, member_id: str, instance_id: str | None, reason: str) -> ErrorCode:
        return self._ask(lambda admin: admin.remove_members(group_id, [(member_id, instance_id)], reason=reason))[0]

    def _ask(self, call: Callable[[Admin], Awaitable[Answer]]) -> Answer:
        """One call on connections of its own, in a loop of its own: the callers are threads without one."""
        limit_s = self._timeout_s

        async def asked() -> Answer:
            async with asyncio.timeout(limit_s):
                async with Admin(self._cluster.bootstrap, timeout_s=limit_s, deadline_s=limit_s) as admin:
                    return await call(admin)

        try:
            return asyncio.run(asked())
        except KafkaError as refused:
            raise from_kafka(refused.code, self._resource, refused.message) from refused
        except TimeoutError as late:
            raise timed_out(self._resource, settings.KAAS_KAFKA_TIMEOUT_MS) from late
        except OSError as lost:
            raise not_connected(self._resource, str(lost)) from lost
        except Unsupported as old:
            raise from_kafka(ErrorCode.UNSUPPORTED_VERSION, self._resource, str(old)) from old

    # Over librdkafka

    def group_ids(self) -> set[str]:
        try:
            listed = self._librdkafka.list_consumer_groups(request_timeout=self._timeout_s).result(self._timeout_s)
        except KafkaException as problem:
            raise self._problem(problem.args[0]) from problem
        except TimeoutError as late:
            raise timed_out(self._resource, settings.KAAS_KAFKA_TIMEOUT_MS) from late
        if listed.errors:
            raise self._problem(listed.errors[0])
        return {group.group_id for group in listed.valid}

    def records(self, topic: str, partition: int, start: int, count: int) -> list[Record]:
        consumer = Consumer(
            {
                **self._settings,
                "group.id": _NOBODY,
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "error",
                "fetch.wait.max.ms": 100,
            }
        )
        try:
            consumer.assign([TopicPartition(topic, partition, start)])
            return self._read(consumer, count)
        except KafkaException as problem:
            raise self._problem(problem.args[0]) from problem
        finally:
            consumer.close()

    def _read(self, consumer: Consumer, count: int) -> list[Record]:
        """One by one: asked for several, librdkafka waits for the last of them past the end of the log."""
        deadline_s = time.monotonic() + self._timeout_s
        found: list[Record] = []
        size = 0
        while len(found) < count and size < RECORDS_BYTES:
            message = consumer.poll(max(0.0, deadline_s - time.monotonic()))
            if message is None:
                raise timed_out(self._resource, settings.KAAS_KAFKA_TIMEOUT_MS)
            if (error := message.error()) is None:
                found.append(_record(message))
                size += len(message)
            elif error.code() == LibrdkafkaError._PARTITION_EOF:
                return found
            else:
                raise KafkaException(error)
        return found

    @property
    def _timeout_s(self) -> float:
        return settings.KAAS_KAFKA_TIMEOUT_MS / 1_000

    @cached_property
    def _settings(self) -> dict[str, Any]:
        own = {"client.id": "kaasadmin", "log_level": 3, "logger": logging.getLogger("librdkafka")}
        return {"bootstrap.servers": self._cluster.bootstrap, **own, **self._cluster.librdkafka}

    @cached_property
    def _librdkafka(self) -> AdminClient:
        return AdminClient(self._settings)

    def _problem(self, error: LibrdkafkaError) -> Problem:
        if error.code() in _TOO_LATE:
            return timed_out(self._resource, settings.KAAS_KAFKA_TIMEOUT_MS)
        if error.code() in _UNREACHABLE:
            return not_connected(self._resource, error.str())
        if error.code() == LibrdkafkaError._AUTO_OFFSET_RESET:
            # What a broker's OFFSET_OUT_OF_RANGE becomes where nobody may choose another offset
            return from_kafka(ErrorCode.OFFSET_OUT_OF_RANGE, self._resource)
        return from_kafka(error_code(error.code()), self._resource, error.str())


def _by_metadata(offsets: Mapping[Partition, Committed]) -> dict[str, dict[Partition, int]]:
    """One commit carries one text for all its partitions."""
    parts: dict[str, dict[Partition, int]] = {}
    for place, committed in offsets.items():
        parts.setdefault(committed.metadata, {})[place] = committed.offset
    return parts


def _record(message: Any) -> Record:
    kind, timestamp = message.timestamp()
    return Record(
        offset=message.offset(),
        timestamp=timestamp if kind else None,
        key=message.key(),
        value=message.value(),
        headers=tuple(message.headers() or ()),
    )
