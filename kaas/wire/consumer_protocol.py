"""What consumers put into JoinGroup and SyncGroup: subscriptions and assignments of protocol type "consumer".

Job: decode both, encode both; the broker needs the topics only, the console shows the rest, the consumer library writes them.
Rules: version 0 to 3, never flexible; fields of a later version are left unread, as Kafka's own reader does. Counts are
checked against the bytes that are left before anything is built. Whatever cannot be read is a ValueError; the broker then
takes the member as subscribed to every topic.
Must not know: groups, members.
Source: Kafka's ConsumerProtocolSubscription.json and ConsumerProtocolAssignment.json; KIP-429 (owned partitions), KIP-792
(generation), KIP-881 (rack).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping

import msgspec

PROTOCOL_TYPE = "consumer"
EMPTY_ASSIGNMENT = b"\0\0\0\0\0\0\xff\xff\xff\xff"
"""Version 0, no topics, no user data: what a consumer without partitions can decode."""


class Subscription(msgspec.Struct, frozen=True, kw_only=True):
    """A member's wishes. `owned` maps topics to partitions (version 1 and later); `generation` is -1 before version 2."""

    version: int
    topics: tuple[str, ...]
    user_data: bytes | None = None
    owned: dict[str, tuple[int, ...]] = {}
    generation: int = -1
    rack_id: str | None = None


class Assignment(msgspec.Struct, frozen=True, kw_only=True):
    """A member's share: topic to partitions."""

    version: int
    partitions: dict[str, tuple[int, ...]]
    user_data: bytes | None = None


class Cursor:
    """Reads forward in bytes; whatever does not fit is a ValueError."""

    __slots__ = ("at", "data")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def number(self, form: str) -> int:
        try:
            (value,) = struct.unpack_from(form, self.data, self.at)
        except struct.error as problem:
            raise ValueError(str(problem)) from None
        self.at += struct.calcsize(form)
        return int(value)

    def take(self, size: int) -> bytes:
        if size < 0 or self.at + size > len(self.data):
            raise ValueError(f"{size} bytes are asked for, {len(self.data) - self.at} are left")
        self.at += size
        return self.data[self.at - size : self.at]

    def string(self) -> str:
        return self.take(self.number(">h")).decode()

    def blob(self) -> bytes | None:
        size = self.number(">i")
        return None if size == -1 else self.take(size)

    def count(self, least_bytes: int) -> int:
        """An array's length; each row takes at least so many bytes, so a count that cannot be true is refused."""
        count = self.number(">i")
        if count < 0 or count * least_bytes > len(self.data) - self.at:
            raise ValueError(f"an array of {count} rows in {len(self.data) - self.at} bytes")
        return count

    def topic_partitions(self) -> dict[str, tuple[int, ...]]:
        """Topic to partitions; rows of one topic are joined."""
        found: dict[str, list[int]] = {}
        for _ in range(self.count(6)):
            topic = self.string()
            count = self.count(4)
            found.setdefault(topic, []).extend(struct.unpack(f">{count}i", self.take(4 * count)))
        return {topic: tuple(partitions) for topic, partitions in found.items()}

    def more(self) -> bool:
        return self.at < len(self.data)


def decode_subscription(data: bytes) -> Subscription:
    """Raises ValueError when these bytes are no subscription."""
    cursor = Cursor(data)
    version = cursor.number(">h")
    if version < 0:
        raise ValueError(f"version {version}")
    topics = tuple(cursor.string() for _ in range(cursor.count(2)))
    user_data = cursor.blob()
    owned = cursor.topic_partitions() if version >= 1 and cursor.more() else {}
    generation = cursor.number(">i") if version >= 2 and cursor.more() else -1
    rack_id = None
    if version >= 3 and cursor.more():
        size = cursor.number(">h")
        rack_id = None if size == -1 else cursor.take(size).decode()
    return Subscription(
        version=version, topics=topics, user_data=user_data, owned=owned, generation=generation, rack_id=rack_id
    )


def decode_assignment(data: bytes) -> Assignment:
    """Zero bytes are an empty assignment. Raises ValueError when these bytes are no assignment."""
    if not data:
        return Assignment(version=0, partitions={})
    cursor = Cursor(data)
    version = cursor.number(">h")
    if version < 0:
        raise ValueError(f"version {version}")
    partitions = cursor.topic_partitions()
    return Assignment(version=version, partitions=partitions, user_data=cursor.blob() if cursor.more() else None)


def _string(value: str) -> bytes:
    data = value.encode()
    return struct.pack(">h", len(data)) + data


def _blob(value: bytes | None) -> bytes:
    return b"\xff\xff\xff\xff" if value is None else struct.pack(">i", len(value)) + value


def _topic_partitions(partitions: Mapping[str, Iterable[int]]) -> bytes:
    parts = [struct.pack(">i", len(partitions))]
    for topic, numbers in partitions.items():
        row = tuple(numbers)
        parts.append(_string(topic) + struct.pack(f">i{len(row)}i", len(row), *row))
    return b"".join(parts)


def encode_subscription(subscription: Subscription) -> bytes:
    """The bytes that Java's consumer writes for the same values."""
    parts = [
        struct.pack(">hi", subscription.version, len(subscription.topics)),
        *(_string(topic) for topic in subscription.topics),
        _blob(subscription.user_data),
    ]
    if subscription.version >= 1:
        parts.append(_topic_partitions(subscription.owned))
    if subscription.version >= 2:
        parts.append(struct.pack(">i", subscription.generation))
    if subscription.version >= 3:
        parts.append(b"\xff\xff" if subscription.rack_id is None else _string(subscription.rack_id))
    return b"".join(parts)


def encode_assignment(assignment: Assignment) -> bytes:
    """The bytes that Java's consumer writes for the same values."""
    head = struct.pack(">h", assignment.version)
    return head + _topic_partitions(assignment.partitions) + _blob(assignment.user_data)
