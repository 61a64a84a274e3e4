"""A group's state as the feed shows it.

Job: coordinator state to the shapes of `types`: header, members, offsets. Memberships are shown by `classic_views` and
`consumer_views`, whichever of the two the group has.
Rules: pure; nothing is cached, as a publication touches only what changed.
Must not know: Redis, when something is published.
"""

from __future__ import annotations

from typing import Any, Protocol

from kaas.coordinator.group import Group
from kaas.coordinator.offset_entry import OffsetEntry
from kaas.coordinator.topics import Topics
from kaas.feed import classic_views, consumer_views
from kaas.feed.types import LastRebalance, MemberView, OffsetView

Ends = tuple[int, int, int]
"""Log start, log end, last stable offset."""


class LogEnds(Protocol):
    """Where the logs of this broker end."""

    def ends_of(self, topic: str, partition: int) -> Ends | None: ...


def header(group: Group, wall_offset_ms: int, last: LastRebalance | None) -> dict[str, Any]:
    """The top-level fields of a snapshot that come from the group."""
    if group.modern is None:
        return {**classic_views.header(group.classic, wall_offset_ms), "last_rebalance": last}
    return {**consumer_views.header(group.modern, wall_offset_ms), "last_rebalance": last}


def member_views(group: Group, topics: Topics, session_timeout_ms: int, wall_offset_ms: int) -> dict[str, MemberView]:
    """Every member by its id. `session_timeout_ms` binds the members that speak KIP-848."""
    if group.modern is None:
        classic = group.classic
        return {m.member_id: classic_views.member_view(classic, m, wall_offset_ms) for m in classic.members.values()}
    modern = group.modern
    return {
        m.member_id: consumer_views.member_view(modern, m, topics, session_timeout_ms, wall_offset_ms)
        for m in modern.members.values()
    }


def names_of(group: Group | None) -> dict[str, str]:
    """Member id to the name that people know it by: its instance id, else its client id."""
    if group is None:
        return {}
    members = group.classic.members if group.modern is None else group.modern.members
    return {member_id: member.instance_id or member.client_id for member_id, member in members.items()}


def heard_ms(group: Group | None, member_id: str) -> int | None:
    """When a member was heard last, on the clock of `now_ms`; null for one that is not there."""
    if group is None:
        return None
    if group.modern is not None:
        return group.modern.heard_ms.get(member_id)
    member = group.classic.members.get(member_id)
    return None if member is None else member.heard_ms


def protocol_of(group: Group | None) -> str:
    """What decides who reads what: the protocol of a classic group, the assignor of a consumer group."""
    if group is None:
        return ""
    return group.classic.protocol_name if group.modern is None else group.modern.target_assignor


def offset_view(entry: OffsetEntry, ends: Ends | None) -> OffsetView:
    """One committed offset with the ends of its log."""
    log_start, log_end, last_stable = ends if ends is not None else (None, None, None)
    return OffsetView(
        committed=entry.offset,
        leader_epoch=entry.leader_epoch,
        metadata=entry.metadata,
        committed_at=entry.committed_at,
        expires_at=entry.expires_at,
        log_start=log_start,
        log_end=log_end,
        last_stable=last_stable,
    )
