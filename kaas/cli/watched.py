"""A group as somebody watches it: its description now, what it was a moment ago, what happened.

Job: messages of the live socket in, a state that can be drawn out.
Rules: a description is merged with each difference; lanes hold one mark for each tick, the newest last.
Must not know: sockets, terminals, clocks (the time comes in).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from datetime import datetime
from typing import Any

Row = Mapping[str, Any]

LANE_TICKS = 400
"""Marks that a lane keeps: more than a terminal is wide."""

EVENTS_KEPT = 50

JOINING, SYNCING, MISSING, STABLE, SILENT, ABSENT = "~", "=", "?", "#", ".", " "
"""Marks of a member at one tick. They differ in shape, so that no colour is needed."""

MARKS = {
    JOINING: "joining",
    MISSING: "awaited",
    SYNCING: "waits for partitions",
    STABLE: "stable",
    SILENT: "silent",
}
_MARK_OF_STATE = {
    "joining": JOINING,
    "missing": MISSING,
    "syncing": SYNCING,
    "unsynced": SYNCING,
    "behind": MISSING,
    "revoking": MISSING,
    "waiting": SYNCING,
    "away": SILENT,
}
QUIET = ("members_changed", "offsets_committed", "state_changed")
"""Events that come all the time and would push everything else out of sight."""


class Watched:
    """What is known. `group` is null while there is none (yet), `known` is false before the first snapshot."""

    def __init__(self) -> None:
        self.known = False
        self.group: dict[str, Any] | None = None
        self.events: deque[Row] = deque(maxlen=EVENTS_KEPT)
        self.lanes: dict[str, deque[str]] = {}
        self.names: dict[str, str] = {}
        self.gap: str | None = None
        self._heard: dict[str, str | None] = {}

    def take(self, message: Row) -> None:
        """Takes a message of the socket: snapshot, event, ping or gap."""
        kind = message["type"]
        if kind == "snapshot":
            self.known, self.group = True, message["group"]
        elif kind == "event":
            self._happened(message)
        elif kind == "ping":
            self._pinged(message)
        elif kind == "gap":
            self.gap = message["reason"]
        for member in self.group["members"] if self.group else ():
            member_id = member["member_id"]
            self.names[member_id] = member["instance_id"] or member["client_id"] or member_id
            # Differences leave heartbeats out, because those travel with the pings.
            self._heard[member_id] = member.get("last_heartbeat_at") or self._heard.get(member_id)
            member["last_heartbeat_at"] = self._heard[member_id]

    def tick(self, now: datetime) -> None:
        """Adds a mark to the lane of every member, and forgets lanes in which nothing is left to see."""
        marks = {member["member_id"]: mark_of(member, now) for member in self.members()}
        for member_id in [*self.lanes, *(new for new in marks if new not in self.lanes)]:
            lane = self.lanes.setdefault(member_id, deque(maxlen=LANE_TICKS))
            lane.append(marks.get(member_id, ABSENT))
            if set(lane) == {ABSENT}:
                del self.lanes[member_id]

    def members(self) -> list[Row]:
        """The members that there are now."""
        return self.group["members"] if self.group else []

    def _happened(self, message: Row) -> None:
        if message["event"]["kind"] not in QUIET:
            self.events.append(message["event"])
        self.group = merged(self.group, message["changes"])

    def _pinged(self, message: Row) -> None:
        if self.group is None:
            return
        for member in self.group["members"]:
            member["last_heartbeat_at"] = message["heartbeats"].get(member["member_id"], member["last_heartbeat_at"])
        self.group |= {name: message[name] for name in ("total_lag", "lag_status") if name in message}


def merged(held: Row | None, changed: Row | None) -> dict[str, Any] | None:
    """A description after a difference: whole new values, members one by one, null takes a member away."""
    if changed is None:
        return None
    if held is None and not changed:
        return None
    members = {member["member_id"]: member for member in (held or {}).get("members", ())}
    members.update(changed.get("members", {}))
    kept = [dict(members[one]) for one in sorted(members) if members[one] is not None]
    return {**(held or {}), **changed, "members": kept}


def mark_of(member: Row, now: datetime) -> str:
    """The mark of a member: its state, or that half its session has passed in silence."""
    silent_ms = silence_ms(member, now)
    if silent_ms is not None and silent_ms > member["session_timeout_ms"] / 2:
        return SILENT
    return _MARK_OF_STATE.get(member["state"], STABLE)


def silence_ms(member: Row, now: datetime) -> int | None:
    """How long ago a member was heard, null when nobody knows."""
    if not member.get("last_heartbeat_at"):
        return None
    heard = datetime.fromisoformat(member["last_heartbeat_at"])
    return max(0, round((now - heard).total_seconds() * 1_000))
