"""OffsetCommit (key 8), versions 2-10: keeps a group's positions.

Versions: 2-4 carry a retention (-1: the broker's); 3 throttle time; 6 leader epochs; 7 group instance id; 8 flexible; 9 the
codes of KIP-848; 10 topics by id instead of name (KIP-848 follow-up).
Rows of topics and partitions that are not there fail alone (3, or 100 for an unknown id); the others go to the group.
Left out: versions 0 and 1, which kept offsets in ZooKeeper or carried a commit time.
"""

from __future__ import annotations

import datetime
import functools
import itertools
import struct
from typing import Any

from kaas.broker.broker import Broker
from kaas.broker.commit_rows import refuse, reply, split, values_of
from kaas.broker.known import CORRELATION_END, HEAD_BYTES, Known
from kaas.broker.request import Request
from kaas.broker.security.guard import may
from kaas.broker.security.operations import Kind, Operation
from kaas.coordinator import events
from kaas.coordinator.answers import CommitAnswer
from kaas.coordinator.offset_entry import OffsetEntry, OffsetRows
from kaas.coordinator.offsets import COMMITTED
from kaas.errors import ErrorCode
from kaas.wire.apis import OFFSET_COMMIT
from kaas.wire.encode import encode_response
from kaas.wire.frames import LENGTH
from kaas.wire.guard import array_length, compact_array_length, skip_compact, skip_string

API = OFFSET_COMMIT
EPOCH_SINCE, INSTANCE_SINCE, FLEXIBLE_SINCE, MODERN_SINCE, BY_ID_SINCE = 6, 7, 8, 9, 10
RETENTION_UNTIL = 4
LAYOUTS = 1_000
"""Layouts of frames that are shared: most members' commits are laid out as those of another one."""
MILLISECOND = datetime.timedelta(milliseconds=1)


def handle(broker: Broker, request: Request) -> None:
    """Serve an OffsetCommit."""
    message, version = request.decode(), request.version
    if not may(request, Operation.READ, Kind.GROUP, message.group_id):
        refuse(request, message, ErrorCode.GROUP_AUTHORIZATION_FAILED)
        return
    asked_ms = message.retention_time // MILLISECOND if version <= RETENTION_UNTIL else -1
    retention_ms = None if asked_ms < 0 else asked_ms
    rows, codes = split(
        broker,
        request,
        message,
        by_id=version >= BY_ID_SINCE,
        with_epoch=version >= EPOCH_SINCE,
        retention_ms=retention_ms,
    )
    event = events.Commit(
        reply_to=functools.partial(reply, request, message, codes),
        group_id=message.group_id,
        generation=message.generation_id_or_member_epoch,
        member_id=message.member_id,
        instance_id=message.group_instance_id if version >= INSTANCE_SINCE else None,
        rows=rows,
        modern=version >= MODERN_SINCE,
        has_metadata=any(entry.metadata for _, _, entry in rows),
    )
    if version < BY_ID_SINCE and retention_ms is None and not any(codes) and request.comes_again():
        places = places_of(request.payload, request.body_at, version)
        if places:
            request.remember(KnownCommit(broker, request, message, event, places).serve)
    broker.groups.submit(event)


def places_of(payload: bytes, at: int, version: int) -> list[int] | None:
    """Where in a request that could be read the offsets stand, in order; null if there are tags among its rows."""
    flexible = version >= FLEXIBLE_SINCE
    skip, length = (skip_compact, compact_array_length) if flexible else (skip_string, array_length)
    end, places = len(payload), []
    at = skip(payload, at, end) + 4  # the group, its generation
    at = skip(payload, at, end)  # the member
    if version >= INSTANCE_SINCE:
        at = skip(payload, at, end)
    if version <= RETENTION_UNTIL:
        at += 8
    topics, at = length(payload, at, end, 1)
    for _ in range(topics):
        rows, at = length(payload, skip(payload, at, end), end, 1)
        for _ in range(rows):
            places.append(at + 4)
            at = skip(payload, at + (16 if version >= EPOCH_SINCE else 12), end)
            if flexible:
                at += 1
                if payload[at - 1]:
                    return None
        at += flexible
        if flexible and payload[at - 1]:
            return None
    return places


class KnownCommit(Known):
    """A commit of the same member for the same partitions, with other offsets."""

    __slots__ = (
        "_accepted",
        "_changes",
        "_clock",
        "_columns",
        "_event",
        "_fixed",
        "_groups",
        "_head",
        "_layout",
        "_message",
        "_named",
        "_registry",
        "_step",
        "_version",
    )

    def __init__(self, broker: Broker, request: Request, message: Any, event: events.Commit, places: list[int]) -> None:
        super().__init__(request)
        self._groups = broker.groups
        self._registry = broker.topics.registry
        self._version = request.version
        self._message = message
        self._event = event
        rows = event.rows
        self._clock = broker.clock
        topics, partitions, entries = zip(*rows, strict=True)
        self._columns = topics, partitions, [entry.metadata for entry in entries]
        self._changes = self._registry.changes
        self._named = [(topic.name, self._registry.get(topic.name)) for topic in message.topics]
        self._layout = layout_of(len(request.frame), tuple(places), with_epoch=self._version >= EPOCH_SINCE)
        self._step = 3 if self._version >= EPOCH_SINCE else 2
        fields = self._layout.unpack(request.frame)
        self._head, self._fixed = fields[0], fields[2 :: self._step]
        self._accepted = self._parts_of(COMMITTED)

    def _parts_of(self, answer: CommitAnswer) -> tuple[bytes, bytes]:
        values = values_of(self._message, [ErrorCode.NONE] * len(self._event.rows), answer)
        return self.parts(encode_response(API.key, self._version, values))

    def serve(self, data: bytes) -> bool:
        fields = self._layout.unpack(data)
        if fields[0] != self._head or fields[2 :: self._step] != self._fixed:
            return False
        if self._registry.changes != self._changes and not self._are_there():
            return False
        self.correlation = fields[1]
        self.connection.park(self)
        event = self._event
        self._groups.gather(
            events.Commit(
                reply_to=self._reply,
                group_id=event.group_id,
                generation=event.generation,
                member_id=event.member_id,
                instance_id=event.instance_id,
                rows=self._rows(fields),
                modern=event.modern,
                has_metadata=event.has_metadata,
            ),
            self,
        )
        return True

    def _are_there(self) -> bool:
        """Whether none of the topics is gone, made anew, or grown."""
        changes = self._registry.changes  # first: what changes while the topics are looked at is looked at next time
        if any(self._registry.get(name) is not topic for name, topic in self._named):
            return False
        self._changes = changes
        return True

    def _rows(self, fields: tuple[Any, ...]) -> OffsetRows:
        """The rows with the offsets (and epochs) of a frame."""
        topics, partitions, metadata = self._columns
        now_ms, with_epoch = self._clock.seen_ms, self._step == 3
        if len(topics) == 1:  # the iterators that make many rows in little time cost more than one
            epoch = fields[4] if with_epoch else -1
            return [(topics[0], partitions[0], OffsetEntry(fields[3], epoch, metadata[0], now_ms))]
        epochs = fields[4 :: self._step] if with_epoch else itertools.repeat(-1)
        entries = map(OffsetEntry, fields[3 :: self._step], epochs, metadata, itertools.repeat(now_ms))
        return list(zip(topics, partitions, entries, strict=False))

    def _reply(self, answer: CommitAnswer) -> None:
        self.send(self._accepted if answer is COMMITTED else self._parts_of(answer))


@functools.lru_cache(LAYOUTS)
def layout_of(size: int, places: tuple[int, ...], *, with_epoch: bool) -> struct.Struct:
    """A frame of this many bytes as a head, a correlation id, and stretches with an offset (and an epoch) between each two."""
    parts, at = [f">{HEAD_BYTES}s{CORRELATION_END - HEAD_BYTES}s"], CORRELATION_END
    for place in places:
        begin = place + LENGTH.size
        parts.append(f"{begin - at}sq" + ("i" if with_epoch else ""))
        at = begin + (12 if with_epoch else 8)
    return struct.Struct("".join(parts) + f"{size - at}s")
