"""Writes a cluster's feed into Redis, as the broker does.

Job: snapshots, events, topics, brokers and pulses with sensible defaults.
Rules: a snapshot and its event travel in one transaction; versions grow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from redis import Redis

from groups.times import now_ms
from kaas.feed import keys
from kaas.feed.types import (
    BrokerView,
    Event,
    LastRebalance,
    MemberView,
    OffsetView,
    Pulse,
    RebalanceRecord,
    Snapshot,
    TopicPartitions,
    TopicView,
)

_encode = msgspec.json.Encoder().encode


def member_view(member_id: str, owned: Mapping[str, list[int]] | None = None, **more: Any) -> MemberView:
    """A stable classic member that owns these partitions and subscribes to their topics."""
    values: dict[str, Any] = {
        "member_id": member_id,
        "instance_id": None,
        "client_id": member_id.split("-")[0],
        "client_host": "/10.0.0.1",
        "state": "stable",
        "epoch": 1,
        "subscription": sorted(owned or {}),
        "assignment": parts_of(owned or {}),
        "session_timeout_ms": 45_000,
        "rebalance_timeout_ms": 300_000,
        "last_heartbeat_at": now_ms(),
        "joined_at": now_ms(),
    }
    return MemberView(**{**values, **more})


def consumer_member(
    member_id: str,
    owned: Mapping[str, list[int]] | None = None,
    *,
    target: Mapping[str, list[int]] | None = None,
    revoking: Mapping[str, list[int]] | None = None,
    **more: Any,
) -> MemberView:
    """A member of a consumer group that owns these partitions, which are its target unless another one is given."""
    values: dict[str, Any] = {
        "kind": "consumer",
        "epoch": 6,
        "target_assignment": parts_of(target if target is not None else owned or {}),
        "revoking": parts_of(revoking or {}),
    }
    return member_view(member_id, owned, **{**values, **more})


def parts_of(topics: Mapping[str, list[int]]) -> list[TopicPartitions]:
    """Partitions by topic, sorted."""
    return [TopicPartitions(topic=topic, partitions=sorted(held)) for topic, held in sorted(topics.items())]


def offset_view(committed: int, **more: Any) -> OffsetView:
    """A committed offset."""
    return OffsetView(**{"committed": committed, "leader_epoch": 0, "metadata": "", "committed_at": now_ms(), **more})


def snapshot(
    group_id: str,
    *,
    members: list[MemberView] | None = None,
    offsets: Mapping[tuple[str, int], int | OffsetView] | None = None,
    **more: Any,
) -> Snapshot:
    """A classic group: Stable when it has members, else Empty; a simple one when it only has offsets."""
    rows = {member.member_id: member for member in members or []}
    values: dict[str, Any] = {
        "cluster": "local",
        "group_id": group_id,
        "coordinator": 1,
        "coordinator_epoch": 1,
        "version": 1,
        "at": now_ms(),
        "state": "Stable" if rows else "Empty",
        "state_since": now_ms(),
        "type": "classic" if rows else "simple",
        "protocol_type": "consumer" if rows else "",
        "protocol": "range" if rows else "",
        "generation": 1,
        "members": rows,
        "offsets": {
            f"{topic}/{partition}": held if isinstance(held, OffsetView) else offset_view(held)
            for (topic, partition), held in (offsets or {}).items()
        },
    }
    return Snapshot(**{**values, **more})


def consumer_group(group_id: str, *members: MemberView, **more: Any) -> Snapshot:
    """A consumer group at epoch 6: Stable when it has members, else Empty."""
    values: dict[str, Any] = {
        "type": "consumer",
        "protocol_type": "consumer",
        "protocol": "uniform",
        "generation": None,
        "group_epoch": 6,
        "assignment_epoch": 6,
    }
    return snapshot(group_id, members=list(members), **{**values, **more})


def rebalance_record(**more: Any) -> RebalanceRecord:
    """A rebalance that ended a moment ago because a second member joined."""
    ended = now_ms()
    values: dict[str, Any] = {
        "started_at": ended - 120,
        "ended_at": ended,
        "duration_ms": 120,
        "phases": [{"name": "joining", "duration_ms": 100}, {"name": "syncing", "duration_ms": 20}],
        "cause": "member_joined",
        "member_id": "two-1",
        "detail": {"client_id": "two"},
        "also": [],
        "outcome": "stable",
        "generation_before": 1,
        "generation_after": 2,
        "members_before": 1,
        "members_after": 2,
        "moved": [{"topic": "orders", "partition": 1, "from": "one-1", "to": "two-1", "without_ms": 120}],
        "moved_count": 1,
        "kept": 1,
        "without_ms": {"one-1": 120},
        "parts": [
            {"member_id": "one-1", "name": "one", "joined_ms": 100, "synced_ms": 110},
            {"member_id": "two-1", "name": "two", "is_new": True, "joined_ms": 0},
        ],
    }
    return msgspec.convert({**values, **more}, RebalanceRecord)


def last_rebalance(cause: str = "member_joined", **more: Any) -> LastRebalance:
    """The end of a rebalance, for lists."""
    values = {"at": now_ms(), "cause": cause, "member_id": "two-1", "detail": {"client_id": "two"}, "duration_ms": 120}
    return LastRebalance(**{**values, **more})


class FeedWriter:
    """One cluster's feed."""

    def __init__(self, redis: Redis, cluster: str = "local") -> None:
        self.redis = redis
        self.cluster = cluster
        self.version = 0

    def group(self, group: Snapshot, kind: str = "state_changed", **event: Any) -> str:
        """Publishes a snapshot and an event about it, with the next version; the event's stream id."""
        self.version += 1
        group = msgspec.structs.replace(group, cluster=self.cluster, version=self.version)
        pipeline = self.redis.pipeline()
        pipeline.hset(keys.groups(self.cluster), group.group_id, _encode(group))
        self._add(pipeline, self._event(group.group_id, kind, group.coordinator_epoch, **event))
        return pipeline.execute()[-1].decode()

    def gone(self, group_id: str, kind: str = "group_deleted", **event: Any) -> str:
        """Takes a group away and tells it."""
        self.version += 1
        pipeline = self.redis.pipeline()
        pipeline.hdel(keys.groups(self.cluster), group_id)
        self._add(pipeline, self._event(group_id, kind, 1, **event))
        return pipeline.execute()[-1].decode()

    def event(self, group_id: str, kind: str, **event: Any) -> str:
        """Tells an event that changes no snapshot."""
        self.version += 1
        return self._add(self.redis, self._event(group_id, kind, 1, **event)).decode()

    def topic(self, name: str, *ends: tuple[int, int] | None, **more: Any) -> None:
        """Publishes log starts and ends by partition; the last stable offset is the end."""
        rows = [None if end is None else (end[0], end[1], end[1]) for end in ends]
        view = TopicView(**{"topic": name, "topic_id": None, "at": now_ms(), "partitions": rows, **more})
        self.redis.hset(keys.topics(self.cluster), name, _encode(view))

    def broker(self, broker_id: int = 1, **more: Any) -> None:
        """Publishes a broker that is alive."""
        values: dict[str, Any] = {
            "id": broker_id,
            "host": "127.0.0.1",
            "port": 9092,
            "state": "alive",
            "at": now_ms(),
            "started_at": 1,
            "incarnation": "first",
            "assignment_version": 1,
            "group_count": 0,
        }
        self.redis.hset(keys.brokers(self.cluster), str(broker_id), _encode(BrokerView(**{**values, **more})))

    def pulse(self, groups: Mapping[str, Mapping[str, int]]) -> None:
        """Tells heartbeats."""
        pulse = Pulse(at=now_ms(), groups={group: dict(members) for group, members in groups.items()})
        self.redis.publish(keys.pulse(self.cluster), _encode(pulse))

    def _event(self, group_id: str, kind: str, epoch: int, **more: Any) -> Event:
        return Event(
            kind=kind,
            cluster=self.cluster,
            group_id=group_id,
            at=now_ms(),
            coordinator=1,
            coordinator_epoch=epoch,
            version=self.version,
            **more,
        )

    def _add(self, redis: Any, event: Event) -> Any:
        return redis.xadd(keys.events(self.cluster), {keys.EVENT_FIELD: _encode(event)})
