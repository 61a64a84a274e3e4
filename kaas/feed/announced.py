"""Announcements of the coordinator as events of the feed.

Job: one function per kind of announcement: the fields that its event carries, or that it carries none.
Must not know: envelopes, patches (kaas.feed.publisher).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kaas.coordinator.announcements import (
    Announcement,
    GroupCreated,
    GroupGone,
    MemberChange,
    MemberProgressed,
    MembersChanged,
    OffsetsChanged,
    PartitionsChanged,
    RebalanceCompleted,
    RebalanceStarted,
    StateChanged,
    SubscriptionChanged,
)
from kaas.coordinator.topics import Topics
from kaas.feed.records import rebalance_record

Fields = dict[str, Any]


def _member_change(what: MemberChange) -> Fields:
    return {
        "kind": what.kind,
        "member_id": what.member_id,
        "instance_id": what.instance_id,
        "client_id": what.client_id,
        "client_host": what.client_host,
        "reason": what.reason,
        "silent_ms": what.silent_ms,
        "timeout_ms": what.timeout_ms,
        "replaced_by": what.replaced_by,
    }


def _state_changed(what: StateChanged) -> Fields:
    return {"kind": "state_changed", "before": what.before, "after": what.after}


def _started(what: RebalanceStarted) -> Fields:
    cause = what.cause
    return {"kind": "rebalance_started", "cause": cause.kind, "member_id": cause.member_id, "detail": cause.detail}


def _offsets(what: OffsetsChanged) -> Fields:
    topics = sorted({topic for topic, _ in what.partitions})
    return {"kind": what.kind, "topics": topics, "count": len(what.partitions), "reason": what.why}


def _subscription(what: SubscriptionChanged) -> Fields:
    return {"kind": "subscription_changed", "member_id": what.member_id, "topics": list(what.topics)}


def _partitions(what: PartitionsChanged) -> Fields:
    return {"kind": "partitions_changed", "topics": [what.topic]}


def _gone(what: GroupGone) -> Fields:
    return {"kind": what.kind, "assignment_version": what.assignment_version}


TELL: dict[type, Callable[[Any], Fields]] = {
    MemberChange: _member_change,
    StateChanged: _state_changed,
    RebalanceStarted: _started,
    OffsetsChanged: _offsets,
    SubscriptionChanged: _subscription,
    PartitionsChanged: _partitions,
    GroupCreated: lambda what: {"kind": "group_created"},
    GroupGone: _gone,
}


def event_fields(what: Announcement, protocol: str, topics: Topics) -> Fields | None:
    """What an event says beside its envelope; null for what only makes a view out of date. `protocol` is the group's."""
    if isinstance(what, RebalanceCompleted):
        return {"kind": "rebalance_completed", "rebalance": rebalance_record(what, protocol, topics)}
    tell = TELL.get(type(what))
    return None if tell is None else tell(what)


def members_touched(what: Announcement) -> tuple[str, ...] | None:
    """Members whose view is out of date; null means all of them."""
    if isinstance(what, MemberChange):
        return (what.member_id,) if what.replaced_by is None else (what.member_id, what.replaced_by)
    if isinstance(what, SubscriptionChanged | MemberProgressed):
        return (what.member_id,)
    if isinstance(what, MembersChanged):
        return what.member_ids
    if isinstance(what, StateChanged | RebalanceStarted | RebalanceCompleted):
        return None
    return ()
