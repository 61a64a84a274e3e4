"""One publication of one group: its snapshot and the events that lead to it.

Job: from a group and its changes to the JSON that goes to Redis.
Rules: the last event of a publication carries the patch (or the whole snapshot where a patch does not do), so that snapshot
plus events equals a fresh snapshot whatever was gathered. Versions grow with each event.
Must not know: Redis, when something is published.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from kaas.coordinator.announcements import Announcement, GroupGone, RebalanceCompleted
from kaas.coordinator.group import Group
from kaas.coordinator.topics import Topics
from kaas.feed.accounts import Account
from kaas.feed.announced import event_fields
from kaas.feed.backlog import Changes
from kaas.feed.records import is_cooperative, last_of
from kaas.feed.types import Event, LastRebalance, MemberView, OffsetView, Snapshot
from kaas.feed.views import LogEnds, header, member_views, names_of, offset_view, protocol_of

SESSION_TIMEOUT_MS = 45_000

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """`snapshot` is null for a group that is gone; `events` in order."""

    group_id: str
    snapshot: bytes | None
    events: list[bytes]


@dataclass(slots=True, kw_only=True)
class Press:
    """Makes publications of one broker's groups.

    `topics`: the topics that consumer groups know by id. `session_timeout_ms`: the session timeout of a consumer group.
    `known`: groups that were published since the feed was last in doubt; `leaders`: who led them then, as leadership passes on
    without an announcement.
    """

    cluster: str
    coordinator: int
    epoch: int
    groups: Mapping[str, Group]
    ends: LogEnds
    topics: Topics = field(default_factory=Topics)
    session_timeout_ms: Callable[[str], int] = lambda group_id: SESSION_TIMEOUT_MS
    broken: Mapping[str, str] = field(default_factory=dict)
    version: int = 0
    known: set[str] = field(default_factory=set)
    last: dict[str, LastRebalance] = field(default_factory=dict)
    leaders: dict[str, str | None] = field(default_factory=dict)
    accounts: dict[str, Account] = field(default_factory=dict)

    def publish(self, group_id: str, changes: Changes, now_ms: int, wall_offset_ms: int) -> Publication:
        """A group with what happened to it."""
        group = self.groups.get(group_id)
        at = now_ms + wall_offset_ms
        told = [
            (when, fields) for when, what in changes.told if (fields := self._fields(group_id, when, what)) is not None
        ]
        if changes.commits:
            topics = sorted({topic for topic, _ in changes.offsets})
            told.append((at, {"kind": "offsets_committed", "topics": topics, "count": changes.commits}))
        if group is None or self.accounts.get(group_id, _NO_ACCOUNT).is_empty:
            self.accounts.pop(group_id, None)
        if group is None:
            return self._gone(group_id, changes, told, at)
        if not told:
            told.append((at, {"kind": "members_changed"}))
        events = [self.event(group_id, when, **fields) for when, fields in told]
        snapshot = self.snapshot(group, wall_offset_ms, at)
        if changes.whole or group_id not in self.known:
            events[-1] = msgspec.structs.replace(events[-1], snapshot=snapshot)
        else:
            events[-1] = msgspec.structs.replace(events[-1], patch=self.patch(group, snapshot, changes))
        self._remember(snapshot)
        return Publication(group_id=group_id, snapshot=_encode(snapshot), events=[_encode(e) for e in events])

    def _fields(self, group_id: str, when: int, what: Announcement) -> dict[str, Any] | None:
        """What an announcement's event says. It enters the account of the group's rebalance, which its end closes."""
        group = self.groups.get(group_id)
        protocol = protocol_of(group)
        fields = event_fields(what, protocol, self.topics)
        account = self.accounts.setdefault(group_id, Account())
        account.note(when, what)
        if isinstance(what, RebalanceCompleted) and fields is not None:
            parts = account.parts(what, names_of(group))
            moved = account.moved(what, fields["rebalance"].moved, eager=not is_cooperative(protocol))
            fields["rebalance"] = msgspec.structs.replace(fields["rebalance"], parts=parts, moved=moved)
            self.last[group_id] = last_of(fields["rebalance"])
            account.end(when)
        return fields

    def resync(self, group_id: str, now_ms: int, wall_offset_ms: int) -> Publication:
        """A group as it is, for readers that may have missed anything."""
        at = now_ms + wall_offset_ms
        group = self.groups.get(group_id)
        if group is None:
            self.known.discard(group_id)
            event = self.event(group_id, at, kind="group_deleted", reason="resync")
            return Publication(group_id=group_id, snapshot=None, events=[_encode(event)])
        event = self.event(group_id, at, kind="resync")
        snapshot = self.snapshot(group, wall_offset_ms, at)
        self._remember(snapshot)
        event = msgspec.structs.replace(event, snapshot=snapshot)
        return Publication(group_id=group_id, snapshot=_encode(snapshot), events=[_encode(event)])

    def _remember(self, snapshot: Snapshot) -> None:
        self.known.add(snapshot.group_id)
        if snapshot.leader is None:
            self.leaders.pop(snapshot.group_id, None)
        else:
            self.leaders[snapshot.group_id] = snapshot.leader

    def _gone(self, group_id: str, changes: Changes, told: list[tuple[int, dict[str, Any]]], at: int) -> Publication:
        """The end of a group is its last event, and it is told even if its announcement was dropped."""
        self.known.discard(group_id)
        self.last.pop(group_id, None)
        events = [self.event(group_id, when, **fields) for when, fields in told]
        if not any(isinstance(what, GroupGone) for _, what in changes.told[-1:]):
            events.append(self.event(group_id, at, kind="group_deleted"))
        return Publication(group_id=group_id, snapshot=None, events=[_encode(e) for e in events])

    def event(self, group_id: str, at: int, **fields: Any) -> Event:
        self.version += 1
        return Event(
            cluster=self.cluster,
            group_id=group_id,
            at=at,
            coordinator=self.coordinator,
            coordinator_epoch=self.epoch,
            version=self.version,
            **fields,
        )

    def snapshot(self, group: Group, wall_offset_ms: int, at: int) -> Snapshot:
        """The group as it is now, under the version of the newest event."""
        session_ms = self.session_timeout_ms(group.group_id)
        return Snapshot(
            cluster=self.cluster,
            group_id=group.group_id,
            coordinator=self.coordinator,
            coordinator_epoch=self.epoch,
            version=self.version,
            at=at,
            error=self.broken.get(group.group_id),
            members=member_views(group, self.topics, session_ms, wall_offset_ms),
            offsets={f"{topic}/{p}": self._offset(group, topic, p) for topic, ps in group.offsets.items() for p in ps},
            **header(group, wall_offset_ms, self.last.get(group.group_id)),
        )

    def _offset(self, group: Group, topic: str, partition: int) -> OffsetView:
        return offset_view(group.offsets[topic][partition], self.ends.ends_of(topic, partition))

    def patch(self, group: Group, snapshot: Snapshot, changes: Changes) -> dict[str, Any]:
        """What differs from the publication before: every top-level field, the members and offsets that were touched."""
        touched = dict(changes.members)
        leader = self.leaders.get(group.group_id)
        if leader != snapshot.leader:
            touched |= {m: None for m in (leader, snapshot.leader) if m is not None}
        members: dict[str, MemberView | None] = {m: snapshot.members.get(m) for m in touched}
        if changes.everyone:
            members |= snapshot.members
        offsets = {}
        for topic, partition in changes.offsets:
            key = f"{topic}/{partition}"
            offsets[key] = snapshot.offsets.get(key)
        fields = {name: getattr(snapshot, name) for name in PATCHED}
        return {**fields, "members": members, "offsets": offsets}


_NO_ACCOUNT = Account()

PATCHED = tuple(
    name for name in Snapshot.__struct_fields__ if name not in ("cluster", "group_id", "members", "offsets")
)
"""Top-level fields that a patch replaces."""
