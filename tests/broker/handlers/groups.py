"""What the tests of groups over the wire ask again and again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kaas.wire.apis import JOIN_GROUP, LEAVE_GROUP, OFFSET_COMMIT, OFFSET_FETCH, SYNC_GROUP
from kaas.wire.consumer_protocol import Subscription, encode_subscription

QUICK = {"group_initial_rebalance_delay_ms": 0}
"""Settings: the first member is not kept waiting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """Who a member is."""

    group: str
    id: str
    generation: int
    instance: str | None = None

    @property
    def values(self) -> dict[str, Any]:
        return {
            "group_id": self.group,
            "generation_id": self.generation,
            "member_id": self.id,
            "group_instance_id": self.instance,
        }


def subscription(*topics: str) -> bytes:
    return encode_subscription(Subscription(version=1, topics=topics))


def join_values(group: str, member: str = "", *, instance: str | None = None, **more: Any) -> dict[str, Any]:
    protocols = [{"name": "range", "metadata": subscription("t")}]
    return {
        "group_id": group,
        "member_id": member,
        "group_instance_id": instance,
        "session_timeout": 30_000,
        "rebalance_timeout": 30_000,
        "protocol_type": "consumer",
        "protocols": protocols,
        **more,
    }


async def join(peer: Any, group: str = "g", version: int = 9, **more: Any) -> Any:
    """The answer to a Join; an id is taken first where the version needs one."""
    answer = await peer.ask(JOIN_GROUP, version, **join_values(group, **more))
    if answer.error_code == 79:
        answer = await peer.ask(JOIN_GROUP, version, **join_values(group, answer.member_id, **more))
    assert answer.error_code == 0, answer
    return answer


async def stable(peer: Any, group: str = "g", *, instance: str | None = None, assignment: bytes = b"plan") -> Joined:
    """A lone member of a Stable group."""
    answer = await join(peer, group, instance=instance)
    member = Joined(group=group, id=answer.member_id, generation=answer.generation_id, instance=instance)
    rows = [{"member_id": member.id, "assignment": assignment}]
    named = {"protocol_type": "consumer", "protocol_name": "range"}
    synced = await peer.ask(SYNC_GROUP, 5, **member.values, **named, assignments=rows)
    assert synced.error_code == 0, synced
    return member


async def leave(peer: Any, member: Joined) -> None:
    rows = [{"member_id": member.id, "group_instance_id": member.instance}]
    answer = await peer.ask(LEAVE_GROUP, 3, group_id=member.group, members=rows)
    assert answer.members[0].error_code == 0


def commit_values(
    offsets: dict[Any, int], group: str = "g", member: Joined | None = None, **more: Any
) -> dict[str, Any]:
    """{(topic name or id, partition): offset}."""
    topics: dict[Any, list[dict[str, Any]]] = {}
    for (topic, partition), offset in offsets.items():
        row = {"partition_index": partition, "committed_offset": offset, "committed_metadata": f"at {offset}"}
        topics.setdefault(topic, []).append(row | {"committed_leader_epoch": 2})
    rows = [{"name": topic, "topic_id": topic, "partitions": partitions} for topic, partitions in topics.items()]
    return {
        "group_id": group,
        "generation_id_or_member_epoch": -1 if member is None else member.generation,
        "member_id": "" if member is None else member.id,
        "group_instance_id": None if member is None else member.instance,
        "topics": rows,
        **more,
    }


async def commit(peer: Any, offsets: dict[Any, int], version: int = 8, **more: Any) -> dict[Any, int]:
    """The code of each partition."""
    answer = await peer.ask(OFFSET_COMMIT, version, **commit_values(offsets, **more))
    return {
        (key_of(t, version >= 10), p.partition_index): int(p.error_code) for t in answer.topics for p in t.partitions
    }


async def committed(peer: Any, group: str = "g") -> dict[tuple[str, int], int]:
    """Every committed offset of a group."""
    answer = await peer.ask(OFFSET_FETCH, 7, group_id=group, topics=None, require_stable=False)
    assert answer.error_code == 0, answer
    return {(t.name, p.partition_index): p.committed_offset for t in answer.topics for p in t.partitions}


def key_of(topic: Any, by_id: bool) -> Any:
    return topic.topic_id if by_id else topic.name
