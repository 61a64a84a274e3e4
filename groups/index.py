"""What this process knows of one cluster's groups: enough for every list, and no more.

Job: one small row per group, the ends of the logs, who reads which topic, the brokers, the last heartbeats.
Rules:
- The feed's reader writes (from one thread), views and sockets read (from any). Rows are replaced, never changed, and
  readers copy a dict before they walk it.
- Of a group's members and offsets only their number, their topics and the bare offsets are kept: a row costs well under
  two kilobytes with ten partitions.
- Lag is worked out when somebody asks, from the row's offsets and the newest log ends, and kept until either changes.
Must not know: Redis, requests, who may see what.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from functools import cached_property

import msgspec

from groups.choices import LagStatus
from groups.lag.ends import MOVES, NOT_KNOWN, Ends, TopicLog, TopicOffsets
from groups.lag.states import judged, lag_status
from groups.lag.window import Verdict
from kaas.feed.types import BrokerView, LastRebalance, Pulse, TopicView

_SHARED_TOPIC_SETS = 10_000


class _Topic(msgspec.Struct):
    topic: str


class _Member(msgspec.Struct):
    subscription: list[str] | None
    assignment: list[_Topic] | None


class _Offset(msgspec.Struct):
    committed: int
    committed_at: int = 0
    log_start: int | None = None
    log_end: int | None = None
    last_stable: int | None = None


class _Listed(msgspec.Struct):
    """The part of a Snapshot that a row needs; decoding passes over the rest."""

    group_id: str
    coordinator: int
    coordinator_epoch: int
    version: int
    at: int
    state: str
    type: str
    protocol: str
    members: dict[str, _Member]
    offsets: dict[str, _Offset]
    last_rebalance: LastRebalance | None = None
    error: str | None = None


_decode_listed = msgspec.json.Decoder(_Listed).decode
_decode_topic = msgspec.json.Decoder(TopicView).decode
_decode_broker = msgspec.json.Decoder(BrokerView).decode
_decode_pulse = msgspec.json.Decoder(Pulse).decode


class GroupRow:
    """One group as a list shows it. `order` tells one publication from another; `verdict` is what the window of the last
    tick said, null while there is none; `last_commit_at` is the time of its newest commit, `rebalanced_at` that of its last
    rebalance, null without one."""

    __slots__ = (
        "_lag_of",
        "_lag_status",
        "_moves_seen",
        "_total_lag",
        "committed",
        "coordinator",
        "error",
        "group_id",
        "last_commit_at",
        "last_rebalance",
        "member_count",
        "order",
        "protocol",
        "rebalanced_at",
        "state",
        "topics",
        "type",
        "verdict",
    )

    def __init__(
        self, listed: _Listed, topics: tuple[str, ...], committed: tuple[TopicOffsets, ...], verdict: Verdict | None
    ) -> None:
        self.group_id = listed.group_id
        self.order = (listed.coordinator_epoch, listed.version, listed.at)
        self.state = sys.intern(listed.state)
        self.type = sys.intern(listed.type)
        self.protocol = sys.intern(listed.protocol)
        self.member_count = len(listed.members)
        self.topics = topics
        self.committed = committed
        self.coordinator = listed.coordinator
        self.last_rebalance = listed.last_rebalance
        self.rebalanced_at = None if listed.last_rebalance is None else listed.last_rebalance.at
        self.error = listed.error
        self.last_commit_at = max((max(part.times) for part in committed), default=None)
        self.verdict = verdict if self.member_count else None
        self._lag_of = self._moves_seen = NOT_KNOWN

    def total_lag(self) -> int | None:
        """The lag over all partitions that have one, null where none has."""
        moves = MOVES.count  # read first: what moves meanwhile is looked at the next time
        if moves != self._moves_seen:
            self._look_at_logs()
            self._moves_seen = moves
        return self._total_lag

    def lag_status(self) -> LagStatus:
        """What the lag says of the group, now and over the window."""
        self.total_lag()
        return self._lag_status if self.verdict is None else judged(self._lag_status, self.verdict)

    def ruling(self) -> Verdict | None:
        """The verdict that the status stands on, null where this moment alone gives it."""
        self.total_lag()
        return self.verdict if self._lag_status == LagStatus.LAGGING else None

    def _look_at_logs(self) -> None:
        """Works the lag out anew when the log ends of one of the topics moved, and only then."""
        version = sum([part.log.version for part in self.committed])
        if version == self._lag_of:
            return
        total, out_of_range = None, False
        for part in self.committed:
            lag, outside = part.lag()
            out_of_range = out_of_range or outside
            if lag is not None:
                total = lag if total is None else total + lag
        self._lag_status = lag_status(
            committed=bool(self.committed),
            total=total,
            out_of_range=out_of_range,
            has_members=self.member_count > 0,
        )
        self._total_lag, self._lag_of = total, version


def folded(group_id: str) -> str:
    """An id in small letters, as a search looks at it."""
    return group_id.lower()


def encoded(group_id: str) -> bytes:
    """An id's bytes, as a regular expression looks at it."""
    return group_id.encode(errors="replace")


class Names:
    """The ids of all groups in order, and beside each what searches look at: made together and so next to each other in
    memory, where a walk over them takes a fraction of the time that one over the rows takes."""

    def __init__(self, memberships: int, group_ids: Iterable[str]) -> None:
        self.memberships = memberships
        self.ids = sorted(group_ids)

    @cached_property
    def folded(self) -> list[str]:
        return list(map(folded, self.ids))

    @cached_property
    def encoded(self) -> list[bytes]:
        return list(map(encoded, self.ids))


class GroupIndex:
    """Every group of one cluster that the feed told of. `judged_at` is the time of the last tick (groups.lag.judging)."""

    def __init__(self) -> None:
        self.rows: dict[str, GroupRow] = {}
        self.topics: dict[str, TopicLog] = {}
        self.readers: dict[str, set[str]] = {}
        self.brokers: dict[int, BrokerView] = {}
        self.heartbeats: dict[str, dict[str, int]] = {}
        self.judged_at = 0
        self.states: Counter[str] = Counter()
        self._shared: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._memberships = 0
        self._names = Names(0, ())

    def put(self, snapshot: bytes) -> GroupRow:
        """Takes over a snapshot; the row as it then stands. The feed's hash is the truth: what comes later replaces.

        Raises msgspec.DecodeError for what is no snapshot.
        """
        listed = _decode_listed(snapshot)
        held = self.rows.get(listed.group_id)
        if held is not None and held.order == (listed.coordinator_epoch, listed.version, listed.at):
            return held
        row = self._row(listed, held)
        self._read_by(row.group_id, held.topics if held else (), row.topics)
        self.rows[row.group_id] = row
        self._count(held, row)
        if held is None:
            self._memberships += 1
        self._forget_heartbeats(row.group_id, listed.members)
        return row

    def drop(self, group_id: str) -> None:
        """Forgets a group."""
        row = self.rows.pop(group_id, None)
        if row is not None:
            self._memberships += 1
            self._count(row, None)
            self._read_by(group_id, row.topics, ())
        self.heartbeats.pop(group_id, None)

    def topic(self, name: str, view: bytes | None) -> None:
        """Takes over a TopicView, null for a topic that is gone.

        Raises msgspec.DecodeError for what is no TopicView.
        """
        if view is not None:
            self._log(name).told(_decode_topic(view))
        elif name in self.topics:
            self.topics[name].forgotten()
            self._forget_topic(name)

    def broker(self, broker_id: str, view: bytes | None) -> None:
        """Takes over a BrokerView, null for a broker that is gone.

        Raises msgspec.DecodeError for what is no BrokerView, ValueError for an id that is no number.
        """
        if view is None:
            self.brokers.pop(int(broker_id), None)
        else:
            self.brokers[int(broker_id)] = _decode_broker(view)

    def pulse(self, value: bytes) -> dict[str, dict[str, int]]:
        """Takes over the heartbeats of a pulse, and hands them back decoded: group id to member id to time.

        Raises msgspec.DecodeError for what is no Pulse.
        """
        heard = _decode_pulse(value).groups
        for group_id, members in heard.items():
            if group_id in self.rows:
                self.heartbeats.setdefault(group_id, {}).update(members)
        return heard

    def _count(self, before: GroupRow | None, after: GroupRow | None) -> None:
        """How many groups are in each state, kept as they change."""
        if before is not None:
            self.states[before.state] -= 1
        if after is not None:
            self.states[after.state] += 1

    def page(self, first: int, last: int, *, descending: bool) -> list[GroupRow]:
        """A stretch of the rows in the order of their ids, without a look at the others."""
        ids = self.names().ids
        if descending:
            first, last = len(ids) - last, len(ids) - first
        rows = self.there(ids[max(0, first) : max(0, last)])
        return rows[::-1] if descending else rows

    def all(self) -> list[GroupRow]:
        """The rows in the order of their ids, in a list that is safe to walk while the feed goes on."""
        return self.there(self.names().ids)

    def names(self) -> Names:
        """The ids in order. They are kept until a group comes or goes, because sorting tens of thousands of them takes longer
        than all else that a list needs."""
        memberships = self._memberships  # read first: what comes while we sort makes the order out of date
        names = self._names
        if names.memberships != memberships:
            names = self._names = Names(memberships, list(self.rows))
        return names

    def readers_of(self, topic: str) -> list[GroupRow]:
        """The groups that read a topic or committed there, in the order of their ids."""
        return self.there(sorted(self.readers.get(topic, ())))

    def there(self, group_ids: Iterable[str]) -> list[GroupRow]:
        """The rows of those ids that are there."""
        return [row for row in map(self.rows.get, group_ids) if row is not None]

    def _row(self, listed: _Listed, held: GroupRow | None) -> GroupRow:
        committed: dict[str, dict[int, tuple[int, int]]] = {}
        ends: dict[str, dict[int, Ends]] = {}
        for place, offset in listed.offsets.items():
            topic, _, partition = place.rpartition("/")
            committed.setdefault(topic, {})[int(partition)] = (offset.committed, offset.committed_at)
            if offset.log_start is not None and offset.log_end is not None:
                stable = offset.log_end if offset.last_stable is None else offset.last_stable
                ends.setdefault(topic, {})[int(partition)] = (offset.log_start, offset.log_end, stable)
        for topic, told in ends.items():
            self._log(topic).seen(listed.at, told)
        before = {part.log: part for part in held.committed} if held else {}
        parts = []
        for topic, offsets in sorted(committed.items()):
            log = self._log(topic)
            parts.append(TopicOffsets(log, offsets, at=listed.at, before=before.get(log)))
        topics = tuple(sorted(_topics_of(listed.members).union(committed)))
        return GroupRow(listed, self._one_copy(topics), tuple(parts), held.verdict if held else None)

    def _one_copy(self, topics: tuple[str, ...]) -> tuple[str, ...]:
        """The same tuple for equal topic sets: thousands of groups read the same topics."""
        if len(self._shared) > _SHARED_TOPIC_SETS:
            self._shared.clear()
        return self._shared.setdefault(topics, topics)

    def _log(self, name: str) -> TopicLog:
        log = self.topics.get(name)
        if log is None:
            log = self.topics[name] = TopicLog(name)
        return log

    def _read_by(self, group_id: str, before: tuple[str, ...], after: tuple[str, ...]) -> None:
        for topic in set(before).difference(after):
            self.readers[topic].discard(group_id)
            if not self.readers[topic]:
                del self.readers[topic]
                self._forget_topic(topic)
        for topic in set(after).difference(before):
            self.readers.setdefault(topic, set()).add(group_id)

    def _forget_topic(self, name: str) -> None:
        """Drops a log that the cluster does not list and nobody reads."""
        log = self.topics.get(name)
        if log is not None and not log.known and name not in self.readers:
            del self.topics[name]

    def _forget_heartbeats(self, group_id: str, members: dict[str, _Member]) -> None:
        held = self.heartbeats.get(group_id)
        if held is not None and held.keys() - members.keys():
            self.heartbeats[group_id] = {m: at for m, at in held.items() if m in members}


def _topics_of(members: dict[str, _Member]) -> set[str]:
    topics: set[str] = set()
    for member in members.values():
        topics.update(member.subscription or ())
        topics.update(part.topic for part in member.assignment or ())
    return topics
