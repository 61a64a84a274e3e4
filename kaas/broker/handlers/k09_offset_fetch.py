"""OffsetFetch (key 9), versions 1-10: gives a group's positions.

Versions: 2 null topics mean every committed partition, errors at the top (1 puts them on each partition, KAFKA-19246); 3
throttle time; 5 leader epochs; 6 flexible; 7 require_stable (KIP-447); 8 many groups; 9 member id and epoch (checked for
KIP-848 groups only); 10 topics by id: an unknown one is 100, an offset that was stored under another id is not this topic's.
Left out: version 0, which read ZooKeeper.
"""

from __future__ import annotations

import uuid
from typing import Any

from kaas.broker.broker import Broker
from kaas.broker.known import CORRELATION_END, HEAD_BYTES, Verbatim
from kaas.broker.request import Request
from kaas.broker.security.guard import may
from kaas.broker.security.operations import Kind, Operation
from kaas.coordinator import queries
from kaas.coordinator.coordinator import Coordinator
from kaas.coordinator.group import Group
from kaas.coordinator.offset_entry import OffsetEntry, OffsetKey
from kaas.coordinator.queries import FetchedOffsets
from kaas.errors import ErrorCode
from kaas.wire.apis import OFFSET_FETCH
from kaas.wire.encode import Values, encode_response

API = OFFSET_FETCH
MEMBER_SINCE, BY_ID_SINCE = 9, 10

Who = tuple[str | None, int]
"""The member that asks, and its epoch."""
NOBODY: Who = (None, -1)


def handle(broker: Broker, request: Request) -> None:
    """Serve an OffsetFetch."""
    message, version = request.decode(), request.version
    require_stable = message.require_stable if version >= 7 else False
    if version < 8:
        topics = None if message.topics is None else [(t.name, t.partition_indexes) for t in message.topics]
        found = one_group(broker, request, message.group_id, topics, require_stable)
        answer_known(broker, request, message.group_id, found)
        return
    groups = []
    for group in message.groups:
        if version >= BY_ID_SINCE:
            groups.append(group_by_ids(broker, request, group, require_stable))
            continue
        topics = None if group.topics is None else [(t.name, t.partition_indexes) for t in group.topics]
        who = (group.member_id, group.member_epoch) if version >= MEMBER_SINCE else NOBODY
        found = one_group(broker, request, group.group_id, topics, require_stable, who)
        groups.append({"group_id": group.group_id, **found})
    if len(groups) == 1 and version < BY_ID_SINCE:
        answer_known(broker, request, groups[0]["group_id"], {"groups": groups})
    else:
        request.answer({"groups": groups})


def answer_known(broker: Broker, request: Request, group_id: str, values: Values) -> None:
    """Answer about one group, and recognise the question while the group stays as it is."""
    body = encode_response(API.key, request.version, values)
    request.answer_body(body)
    core = broker.groups.coordinator
    group = core.groups.get(group_id)
    if group is not None and not core.is_loading(group_id) and request.comes_again():
        request.remember(KnownFetch(request, core, group, body).serve)


class KnownFetch(Verbatim):
    """The same question about a group that has not changed: every change of its offsets is a record and has a number."""

    __slots__ = ("_answer", "_core", "_group", "_order")

    def __init__(self, request: Request, core: Coordinator, group: Group, body: bytes) -> None:
        super().__init__(request)
        self._core = core
        self._group = group
        self._order = group.epoch, group.version
        self._answer = self.parts(body)

    def serve(self, data: bytes) -> bool:
        group = self._group
        if (
            not self.is_same(data)
            or self._core.groups.get(group.group_id) is not group
            or (group.epoch, group.version) != self._order
        ):
            return False
        self.correlation = data[HEAD_BYTES:CORRELATION_END]
        self.send(self._answer)
        return True


def ask(
    broker: Broker,
    request: Request,
    group_id: str,
    topics: list[tuple[str, Any]] | None,
    require_stable: bool,
    who: Who,
) -> FetchedOffsets:
    """The stored offsets, asked for by name."""
    if not may(request, Operation.DESCRIBE, Kind.GROUP, group_id):
        return FetchedOffsets(code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    wanted = None if topics is None else [(name, p) for name, partitions in topics for p in partitions]
    return queries.fetch_offsets(
        broker.groups.coordinator, group_id, wanted, require_stable=require_stable, member_id=who[0], epoch=who[1]
    )


def one_group(
    broker: Broker,
    request: Request,
    group_id: str,
    topics: list[tuple[str, Any]] | None,
    require_stable: bool,
    who: Who = NOBODY,
) -> dict[str, Any]:
    """Topics by name, and the group's own error."""
    version = request.version
    found = ask(broker, request, group_id, topics, require_stable, who)
    if found.code:
        rows = [(name, failed_rows(partitions, found.code)) for name, partitions in topics or ()] if version < 2 else []
    elif topics is None:
        rows = [(name, rows_of(name, partitions, found)) for name, partitions in by_topic(request, found)]
    else:
        rows = [
            (name, rows_of(name, partitions, found))
            if is_shown(request, name)
            else (name, failed_rows(partitions, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
            for name, partitions in topics
        ]
    return {
        "error_code": found.code if version >= 2 else ErrorCode.NONE,
        "topics": [{"name": name, "partitions": partitions} for name, partitions in rows],
    }


def is_shown(request: Request, topic: str) -> bool:
    """Whether the client may know of a topic."""
    return may(request, Operation.DESCRIBE, Kind.TOPIC, topic)


def by_topic(request: Request, found: FetchedOffsets) -> list[tuple[str, list[int]]]:
    """Every committed partition that may be shown. (One that only has a pending offset has no row.)"""
    topics: dict[str, list[int]] = {}
    for topic, partition in found.offsets:
        topics.setdefault(topic, []).append(partition)
    return [(topic, partitions) for topic, partitions in topics.items() if is_shown(request, topic)]


def rows_of(name: str, partitions: Any, found: FetchedOffsets) -> list[dict[str, Any]]:
    return [row(partition, found, (name, partition)) for partition in partitions]


def row(partition: int, found: FetchedOffsets, key: OffsetKey) -> dict[str, Any]:
    """One partition: its offset, or -1; 88 where an open transaction may change it."""
    if key in found.unstable:
        return failed_row(partition, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    return offset_row(partition, found.offsets.get(key))


def offset_row(partition: int, entry: OffsetEntry | None) -> dict[str, Any]:
    if entry is None:
        return failed_row(partition, ErrorCode.NONE)
    return {
        "partition_index": partition,
        "committed_offset": entry.offset,
        "committed_leader_epoch": entry.leader_epoch,
        "metadata": entry.metadata,
        "error_code": ErrorCode.NONE,
    }


def failed_row(partition: int, code: ErrorCode) -> dict[str, Any]:
    return {
        "partition_index": partition,
        "committed_offset": -1,
        "committed_leader_epoch": -1,
        "metadata": "",
        "error_code": code,
    }


def failed_rows(partitions: Any, code: ErrorCode) -> list[dict[str, Any]]:
    return [failed_row(partition, code) for partition in partitions]


def group_by_ids(broker: Broker, request: Request, group: Any, require_stable: bool) -> dict[str, Any]:
    """Version 10: topics by id."""
    who = group.member_id, group.member_epoch
    found = ask(broker, request, group.group_id, named(broker, group.topics), require_stable, who)
    topics: list[dict[str, Any]] = []
    if found.code:
        return {"group_id": group.group_id, "error_code": found.code, "topics": topics}
    if group.topics is None:
        for name, partitions in by_topic(request, found):
            topic_id = broker.topics.id_of(name)
            rows = [row(p, found, (name, p)) for p in partitions if is_of(found.offsets[name, p], topic_id)]
            if topic_id is not None and rows:
                topics.append({"topic_id": topic_id, "partitions": rows})
        return {"group_id": group.group_id, "error_code": found.code, "topics": topics}
    for topic in group.topics:
        rows = rows_by_id(request, found, topic, broker.topics.name_of(topic.topic_id))
        topics.append({"topic_id": topic.topic_id, "partitions": rows})
    return {"group_id": group.group_id, "error_code": found.code, "topics": topics}


def named(broker: Broker, topics: Any) -> list[tuple[str, Any]] | None:
    """Topics asked for by id, under their names; unknown ids are left out."""
    if topics is None:
        return None
    names = [(broker.topics.name_of(t.topic_id), t.partition_indexes) for t in topics]
    return [(name, partitions) for name, partitions in names if name is not None]


def rows_by_id(request: Request, found: FetchedOffsets, topic: Any, name: str | None) -> list[dict[str, Any]]:
    if name is None:
        return failed_rows(topic.partition_indexes, ErrorCode.UNKNOWN_TOPIC_ID)
    if not is_shown(request, name):
        return failed_rows(topic.partition_indexes, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    rows = []
    for partition in topic.partition_indexes:
        entry = found.offsets.get((name, partition))
        stays = is_of(entry, topic.topic_id) or (name, partition) in found.unstable
        rows.append(row(partition, found, (name, partition)) if stays else failed_row(partition, ErrorCode.NONE))
    return rows


def is_of(entry: OffsetEntry | None, topic_id: uuid.UUID | None) -> bool:
    """Whether an offset belongs to this topic and not to one of the same name before it; one stored without id may."""
    return entry is None or entry.topic_id is None or (topic_id is not None and entry.topic_id == topic_id.bytes)
