"""What the tests of consumer groups over the wire ask again and again."""

from __future__ import annotations

from typing import Any

from kaas.broker.security.rules import Rule, Rules
from kaas.wire.apis import CONSUMER_GROUP_HEARTBEAT
from tests.support.heartbeats import STEADY


def beat_values(member: str, epoch: int, group: str = "g", **more: Any) -> dict[str, Any]:
    return {"group_id": group, "member_id": member, "member_epoch": epoch, **STEADY, **more}


def join_values(member: str, *topics: str, **more: Any) -> dict[str, Any]:
    first = {"rebalance_timeout": 30_000, "subscribed_topic_names": topics, "topic_partitions": []}
    return beat_values(member, 0, **{**first, **more})


async def beat(peer: Any, member: str, epoch: int, version: int = 1, **more: Any) -> Any:
    return await peer.ask(CONSUMER_GROUP_HEARTBEAT, version, **beat_values(member, epoch, **more))


async def join(peer: Any, member: str, *topics: str, version: int = 1, **more: Any) -> Any:
    return await peer.ask(CONSUMER_GROUP_HEARTBEAT, version, **join_values(member, *topics, **more))


def held(answer: Any) -> dict[Any, tuple[int, ...]] | None:
    """The assignment of an answer: topic id to partitions."""
    if answer.assignment is None:
        return None
    return {row.topic_id: tuple(row.partitions) for row in answer.assignment.topic_partitions}


def may_describe(*topics: str) -> Rules:
    """Everybody may do everything with groups, and see these topics."""
    groups = Rule(
        permission_type="ALLOW", principal="User:*", operations=["ALL"], resource_type="GROUP", resource_name="*"
    )
    seen = [
        Rule(
            permission_type="ALLOW",
            principal="User:*",
            operations=["DESCRIBE"],
            resource_type="TOPIC",
            resource_name=topic,
        )
        for topic in topics
    ]
    return Rules((groups, *seen), super_users=frozenset(), everyone_if_none=False)
