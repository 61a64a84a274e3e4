"""The rows that pages, API and sockets share: list items, a group described, its members, its rebalances.

Job: from index rows and snapshots to plain dicts in the API's shapes.
Rules: times are ISO 8601 with zone, durations end in `_ms`, large numbers have twins; what is not known is null. Nothing
here asks anybody: all that a row needs is handed in.
Must not know: requests, Redis, the database.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from groups.causes import cause_text
from groups.choices import WITHOUT_MEMBERS
from groups.flapping import advice
from groups.index import GroupRow
from groups.keys import key_of
from groups.lag.states import Lag, group_lag, judged, lag_of
from groups.lag.window import Verdict
from groups.reconciliation import away_members, away_named, called, classic_members, held_up, holders_of, session_end
from groups.times import iso, with_twins
from kaas.feed.types import (
    Event,
    LastRebalance,
    MemberView,
    OffsetView,
    RebalanceRecord,
    Snapshot,
    TopicPartitions,
    TopicView,
    WaitingFor,
)

Partition = tuple[str, int]


def list_item(cluster: str, row: GroupRow) -> dict[str, Any]:
    """A group as a list shows it."""
    return with_twins(
        {
            "cluster": cluster,
            "group_id": row.group_id,
            "key": key_of(row.group_id),
            "state": row.state,
            "type": row.type,
            "protocol": row.protocol,
            "member_count": row.member_count,
            "topics": list(row.topics),
            "total_lag": row.total_lag(),
            "lag_status": row.lag_status().value,
            "last_rebalance": last_rebalance(row.last_rebalance),
            "coordinator": row.coordinator,
            "error": row.error,
        }
    )


def last_rebalance(last: LastRebalance | None) -> dict[str, Any] | None:
    """When and why a group last rebalanced."""
    if last is None:
        return None
    return {
        "at": iso(last.at),
        "cause": last.cause,
        "cause_text": cause_text(last.cause, last.member_id, last.detail),
        "duration_ms": last.duration_ms,
    }


def place_of(key: str) -> Partition:
    """Topic and partition of a snapshot's "topic/partition"; a topic's name may not hold a slash, but split at the last."""
    topic, _, partition = key.rpartition("/")
    return topic, int(partition)


def owners(snapshot: Snapshot) -> dict[Partition, MemberView]:
    """Who owns which partition."""
    return {
        (part.topic, partition): member
        for member in snapshot.members.values()
        for part in member.assignment or ()
        for partition in part.partitions
    }


def topics_of(snapshot: Snapshot) -> list[str]:
    """The topics that a group reads or committed offsets in, sorted."""
    topics = {place_of(key)[0] for key in snapshot.offsets}
    for member in snapshot.members.values():
        topics.update(member.subscription or ())
        topics.update(part.topic for part in member.assignment or ())
    return sorted(topics)


def topic_members(snapshot: Snapshot) -> dict[str, int]:
    """How many members read each of a group's topics: they subscribe to it, or own a partition of it."""
    counts = dict.fromkeys(topics_of(snapshot), 0)
    for member in snapshot.members.values():
        for topic in {*(member.subscription or ()), *(part.topic for part in member.assignment or ())}:
            counts[topic] += 1
    return counts


def log_of(
    snapshot_at: int, partition: int, offset: OffsetView | None, view: TopicView | None
) -> tuple[int | None, int | None, int | None]:
    """Log start, log end and last stable offset of a partition from whichever is newer: snapshot or topic view."""
    told = view.partitions[partition] if view is not None and partition < len(view.partitions) else None
    from_snapshot = (offset.log_start, offset.log_end, offset.last_stable) if offset is not None else (None,) * 3
    if told is None or view is None:
        return from_snapshot
    if from_snapshot[1] is not None and snapshot_at > view.at:
        return from_snapshot
    return told


def partition_lags(snapshot: Snapshot, views: Mapping[str, TopicView]) -> dict[Partition, Lag]:
    """The lag of every partition with a committed offset, and of those that a member owns without one."""
    lags = {}
    places = {place_of(key): offset for key, offset in snapshot.offsets.items()}
    for place in [*places, *(owned for owned in owners(snapshot) if owned not in places)]:
        offset = places.get(place)
        start, end, stable = log_of(snapshot.at, place[1], offset, views.get(place[0]))
        committed = offset.committed if offset else None
        lags[place] = lag_of(committed=committed, log_start=start, log_end=end, last_stable=stable)
    return lags


def describe(
    snapshot: Snapshot,
    views: Mapping[str, TopicView],
    heartbeats: Mapping[str, int],
    now_ms: int,
    verdict: Verdict | None = None,
) -> dict[str, Any]:
    """A group whole. `heartbeats` are newer times than the snapshot's, by member id; `now_ms` is the time of asking;
    `verdict` is what the window of its commits says, where there is one."""
    lags = partition_lags(snapshot, views)
    committed = {place_of(key) for key in snapshot.offsets}
    holders = holders_of(snapshot)
    whole = group_lag((lags[place] for place in committed), has_members=bool(snapshot.members))
    return with_twins(
        {
            "cluster": snapshot.cluster,
            "group_id": snapshot.group_id,
            "key": key_of(snapshot.group_id),
            "state": snapshot.state,
            "state_since": iso(snapshot.state_since),
            "type": snapshot.type,
            "protocol_type": snapshot.protocol_type,
            "protocol": snapshot.protocol,
            "generation": snapshot.generation,
            "group_epoch": snapshot.group_epoch,
            "assignment_epoch": snapshot.assignment_epoch,
            "leader": snapshot.leader,
            "member_count": len(snapshot.members),
            "classic_member_count": classic_members(snapshot),
            "pending_members": snapshot.pending_members,
            "members": [
                member_row(member, lags, heartbeats.get(member_id), now_ms) | held_up(snapshot, member, holders)
                for member_id, member in sorted(snapshot.members.items())
            ],
            "topics": topics_of(snapshot),
            "topic_members": topic_members(snapshot),
            "uncommitted": len(lags) - len(committed),
            "total_lag": whole.total,
            "total_lag_stable": whole.stable,
            "lag_status": judged(whole.status, verdict).value,
            "last_rebalance": last_rebalance(snapshot.last_rebalance),
            "coordinator": snapshot.coordinator,
            "phase": phase(snapshot),
            "rebalance": running_rebalance(snapshot),
            "actions": actions(snapshot),
            "source": snapshot.source,
            "error": snapshot.error,
        }
    )


def member_row(
    member: MemberView, lags: Mapping[Partition, Lag], heartbeat_at: int | None, now_ms: int
) -> dict[str, Any]:
    """A member; `lag` is the sum over the partitions it owns, null where none has a number."""
    heard = max((at for at in (heartbeat_at, member.last_heartbeat_at) if at is not None), default=None)
    owned = [(part.topic, partition) for part in member.assignment or () for partition in part.partitions]
    return with_twins(
        {
            "member_id": member.member_id,
            "key": key_of(member.member_id),
            "instance_id": member.instance_id,
            "client_id": member.client_id,
            "host": member.client_host,
            "state": member.state,
            "epoch": member.epoch,
            "kind": member.kind,
            "server_assignor": member.server_assignor,
            "rack_id": member.rack_id,
            "is_leader": member.is_leader,
            "subscription": _decoded(member.subscription, member.subscription_raw),
            "subscription_regex": member.subscription_regex,
            "subscription_raw": member.subscription_raw,
            "assignment": _decoded(_assignment(member.assignment), member.assignment_raw),
            "target_assignment": _assignment(member.target_assignment),
            "assignment_raw": member.assignment_raw,
            "gives_up": _assignment(member.revoking) or [],
            "lag": group_lag((lags[place] for place in owned), has_members=True).total,
            "session_timeout_ms": member.session_timeout_ms,
            "rebalance_timeout_ms": member.rebalance_timeout_ms,
            "last_heartbeat_at": iso(heard),
            "last_heartbeat_ms_ago": None if heard is None else max(0, now_ms - heard),
            "joined_at": iso(member.joined_at),
        }
    )


def _decoded(value: list[Any] | None, raw: str | None) -> list[Any] | None:
    """Nothing is an empty list; null is left for what could not be decoded, and then the raw bytes stand beside it."""
    return [] if value is None and raw is None else value


def _assignment(parts: Iterable[TopicPartitions] | None) -> list[dict[str, Any]] | None:
    return None if parts is None else [{"topic": part.topic, "partitions": part.partitions} for part in parts]


def phase(snapshot: Snapshot) -> dict[str, Any]:
    """The phase a group is in, since when, and whom it waits for; outside a rebalance the phase is its state."""
    rebalance = snapshot.rebalance
    if rebalance is None:
        away = [waiting_row(one, snapshot) for one in away_members(snapshot)]
        since = iso(snapshot.state_since)
        return {"name": snapshot.state.lower(), "since": since, "waiting_for": away, "waiting_count": len(away)}
    waiting = [waiting_row(one, snapshot) for one in rebalance.waiting_for]
    return {
        "name": rebalance.phase,
        "since": iso(rebalance.phase_since),
        "waiting_for": waiting,
        "waiting_count": max(rebalance.waiting_count, len(waiting)),
    }


def waiting_row(one: WaitingFor, snapshot: Snapshot) -> dict[str, Any]:
    """Whom a group waits for, and until when."""
    return {
        "member_id": one.member_id,
        "client_id": one.client_id,
        "timer": one.timer,
        "since": iso(one.since),
        "deadline": iso(session_end(one, snapshot) if one.deadline_at is None else one.deadline_at),
    }


def running_rebalance(snapshot: Snapshot) -> dict[str, Any] | None:
    """The rebalance under way, null when there is none."""
    rebalance = snapshot.rebalance
    if rebalance is None:
        return None
    return {
        "started_at": iso(rebalance.started_at),
        "cause": rebalance.cause,
        "cause_text": cause_text(rebalance.cause, rebalance.member_id, rebalance.detail),
        "member_id": rebalance.member_id,
        "also": [also_row(one) for one in rebalance.also],
        "phases": [{"name": one.name, "duration_ms": one.duration_ms} for one in rebalance.phases],
        "generation_before": rebalance.generation_before,
        "members_before": rebalance.members_before,
    }


def rebalance_row(record: RebalanceRecord) -> dict[str, Any]:
    """A rebalance that ended, in the API's shape; its number stands in the history only."""
    plain = msgspec.to_builtins(record)
    return {
        **plain,
        "started_at": iso(record.started_at),
        "ended_at": iso(record.ended_at),
        "cause_text": cause_text(record.cause, record.member_id, record.detail),
        "advice": advice(record.cause, record.detail),
        "also": [also_row(one) for one in record.also],
    }


def event_row(event: Event) -> dict[str, Any]:
    """An event as sockets tell it: without patch and snapshot, which only the feed's own readers understand."""
    plain = msgspec.to_builtins(msgspec.structs.replace(event, patch=None, snapshot=None, rebalance=None))
    row = {**plain, "at": iso(event.at), "key": key_of(event.group_id)}
    if event.cause is not None:
        row["cause_text"] = cause_text(event.cause, event.member_id, event.detail or {})
    if event.rebalance is not None:
        row["rebalance"] = rebalance_row(event.rebalance)
    return row


def also_row(also: Mapping[str, Any]) -> dict[str, Any]:
    """A cause that came while a rebalance ran."""
    cause, member_id, detail = str(also.get("cause", "")), also.get("member_id"), also.get("detail") or {}
    return {
        "cause": cause,
        "cause_text": cause_text(cause, member_id, detail),
        "member_id": member_id,
        "detail": detail,
    }


_ACTIONS = ("delete", "reset", "arm_reset", "delete_offsets", "remove_member")


def actions(snapshot: Snapshot) -> dict[str, dict[str, Any]]:
    """What may be done with a group in its present state; a reason stands where something may not."""
    reasons = dict.fromkeys(_ACTIONS)
    if snapshot.error is not None:
        reasons = dict.fromkeys(_ACTIONS, f"The group's stored state cannot be read: {snapshot.error}")
    elif is_live(snapshot):
        members, away = _members_named(snapshot), away_named(snapshot)
        reasons["delete"] = f"The group is {snapshot.state} with {members}: stop them first.{away}"
        reasons["reset"] = f"The group is {snapshot.state} with {members}: stop them first, or arm the reset.{away}"
    else:
        reasons["remove_member"] = "The group has no members."
        reasons["arm_reset"] = "The group has no members: the reset can be applied at once."
    return {name: {"allowed": reason is None, "reason": reason} for name, reason in reasons.items()}


def actions_refused(actions: Iterable[str], reason: str) -> dict[str, dict[str, Any]]:
    """Actions for somebody who may not do them at all, whatever the group's state."""
    return {name: {"allowed": False, "reason": reason} for name in actions}


def is_live(snapshot: Snapshot) -> bool:
    """Whether a group has members, so that neither offsets may be reset nor the group be deleted."""
    return bool(snapshot.members) or snapshot.state not in WITHOUT_MEMBERS


_NAMED = 3


def _members_named(snapshot: Snapshot) -> str:
    """The first few members by the names that operators know them by."""
    members = [snapshot.members[member_id] for member_id in sorted(snapshot.members)]
    if not members:
        return "a member that is joining"
    names = [called(member) for member in members[:_NAMED]]
    more = f" and {len(members) - _NAMED} more" if len(members) > _NAMED else ""
    return f"{len(members)} live member{'s' if len(members) != 1 else ''} ({', '.join(names)}{more})"
