"""A consumer group on its way to its target: what a member still gets, from whom, and who is away.

Job: a snapshot to what its members hold up, by name.
Rules: pure. All of it follows from what each member has, gives up and is to have; other types of groups have none of it.
Must not know: requests, Redis, the database.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from groups.causes import seconds
from groups.choices import GroupState, GroupType
from kaas.feed.types import MemberView, Snapshot, WaitingFor

Partition = tuple[str, int]


def classic_members(snapshot: Snapshot) -> int | None:
    """How many members of a consumer group speak the classic protocol; null for groups of other types."""
    if snapshot.type != GroupType.CONSUMER:
        return None
    return sum(member.kind == "classic" for member in snapshot.members.values())


def holders_of(snapshot: Snapshot) -> dict[Partition, MemberView] | None:
    """Who has each partition of a consumer group, or has not given it up yet; null where everybody has its target."""
    if snapshot.type != GroupType.CONSUMER or snapshot.state == GroupState.STABLE:
        return None
    return {
        (part.topic, partition): member
        for member in snapshot.members.values()
        for part in (*(member.assignment or ()), *(member.revoking or ()))
        for partition in part.partitions
    }


def held_up(snapshot: Snapshot, member: MemberView, holders: Mapping[Partition, MemberView] | None) -> dict[str, Any]:
    """What a member is still to get that is free (`gets`), and what of it another one holds (`waits_for`)."""
    gets: dict[str, list[int]] = {}
    waits: dict[tuple[str, str], list[int]] = {}
    for part in (member.target_assignment or ()) if holders is not None else ():
        for partition in part.partitions:
            holder = holders.get((part.topic, partition))
            if holder is None:
                gets.setdefault(part.topic, []).append(partition)
            elif holder.member_id != member.member_id:
                waits.setdefault((part.topic, holder.member_id), []).append(partition)
    return {
        "gets": [{"topic": topic, "partitions": held} for topic, held in gets.items()],
        "waits_for": [
            {"topic": topic, "partitions": held, "member_id": holder, "name": called(snapshot.members[holder])}
            for (topic, holder), held in waits.items()
        ],
    }


def away_members(snapshot: Snapshot) -> Iterable[WaitingFor]:
    """Static members of a consumer group between two lives: they are waited for although nothing is rebalanced."""
    for member in snapshot.members.values():
        if member.state == "away":
            yield WaitingFor(member_id=member.member_id, client_id=member.client_id, timer="away", deadline_at=None)


def session_end(one: WaitingFor, snapshot: Snapshot) -> int:
    """When the session of a member that is waited for ends, as far as the snapshot knows of its heartbeats."""
    member = snapshot.members.get(one.member_id or "")
    if member is None:
        return snapshot.at
    return (member.last_heartbeat_at or snapshot.state_since) + member.session_timeout_ms


def away_named(snapshot: Snapshot) -> str:
    """That a static member which went without leaving still counts, where there is one: nothing else would tell why."""
    away = [member for _, member in sorted(snapshot.members.items()) if member.state == "away"]
    if not away:
        return ""
    session = seconds(away[0].session_timeout_ms)
    return f" {called(away[0])} is away: a static member stays in the group until its session of {session} ends."


def called(member: MemberView) -> str:
    """What an operator knows a member by."""
    return member.instance_id or member.client_id or member.member_id
