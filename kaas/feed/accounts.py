"""The account of a rebalance under way: when each member came back, asked for its assignment, or went.

Job: from a group's announcements, in their order and with their times, to one row per member, and to the time for which a
partition had no reader.
Rules: times are milliseconds after the rebalance began. A Join is announced before the rebalance that it causes, in the same
moment: it counts as the first of it. Under an eager protocol a member lets go of its partitions before its Join, under a
cooperative one when the rebalance that takes them ends, in a consumer group when it says so; who goes lets go in that moment.
Between two rebalances nothing else is kept but the partitions that nobody has.
Must not know: Redis, snapshots, who reads the account.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from kaas.coordinator.announcements import (
    Announcement,
    MemberChange,
    MemberProgressed,
    MembersChanged,
    RebalanceCompleted,
    RebalanceStarted,
    StateChanged,
)
from kaas.feed.types import MemberPart, MovedPartition

MEMBERS = 500
"""Of so many members an account tells."""

PARTITIONS = 1_000
"""Of so many partitions without a reader it is remembered since when."""

SAME_MOMENT_MS = 50
"""Announcements of one request are told one by one, so their times differ by a little."""

_SYNCING = "CompletingRebalance"
_RECONCILING = ("Assigning", "Reconciling")


@dataclass(slots=True, kw_only=True)
class Account:
    """One rebalance, or the moments before one. Times are wall times in milliseconds."""

    started_at: int | None = None
    syncing: bool = False
    reconciles: bool = False
    came: dict[str, int] = field(default_factory=dict)
    synced: dict[str, int] = field(default_factory=dict)
    gone: dict[str, tuple[int, str]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    newcomers: dict[str, None] = field(default_factory=dict)
    unread: dict[tuple[str, int], int] = field(default_factory=dict)

    def note(self, at: int, what: Announcement) -> None:
        """One announcement."""
        if isinstance(what, RebalanceStarted):
            self._begin(at)
        elif isinstance(what, StateChanged):
            self.syncing, self.reconciles = what.after == _SYNCING, what.after in _RECONCILING
        elif isinstance(what, MemberChange):
            self._change(at, what)
        elif isinstance(what, MemberProgressed):
            if self.started_at is not None:
                self._progress(at, what)
        elif isinstance(what, MembersChanged) and what.member_ids and not self.reconciles:
            heard = self.synced if self.syncing else self.came
            for member_id in what.member_ids:
                heard.setdefault(member_id, at)

    def _begin(self, at: int) -> None:
        self.started_at, self.syncing = at, False
        self._forget_before(at - SAME_MOMENT_MS)

    def end(self, at: int) -> None:
        """The rebalance is over; what came in this moment may belong to the next one."""
        self.started_at = None
        self._forget_before(at - SAME_MOMENT_MS)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to remember."""
        return self.started_at is None and not self.came and not self.gone and not self.unread

    def _forget_before(self, at: int) -> None:
        self.came = {member_id: came for member_id, came in self.came.items() if came >= at}
        self.gone = {member_id: gone for member_id, gone in self.gone.items() if gone[0] >= at}
        self.names = {member_id: name for member_id, name in self.names.items() if member_id in self.came | self.gone}
        self.newcomers = {member_id: None for member_id in self.newcomers if member_id in self.came}
        self.synced = {}

    def _change(self, at: int, what: MemberChange) -> None:
        self.names[what.member_id] = what.instance_id or what.client_id
        if what.kind == "member_joined":
            self.came[what.member_id] = at
            self.newcomers[what.member_id] = None
        else:
            self.gone[what.member_id] = (at, what.kind)

    def _progress(self, at: int, what: MemberProgressed) -> None:
        """A member that is asked once more to give something up, or to wait, has not come back yet after all."""
        for reached, moments in ((what.let_go, self.came), (what.is_done, self.synced)):
            if reached:
                moments.setdefault(what.member_id, at)
            else:
                moments.pop(what.member_id, None)

    def parts(self, done: RebalanceCompleted, names: Mapping[str, str]) -> list[MemberPart]:
        """What each member did in a rebalance that ended. `names` are those of the members that are there."""
        if not self._follows(done):
            return []
        known = {**self.names, **names}
        everybody = dict.fromkeys((*done.before, *self.came, *self.gone, *done.after))
        return [self._part(member_id, known.get(member_id, "")) for member_id in list(everybody)[:MEMBERS]]

    def moved(self, done: RebalanceCompleted, moves: Sequence[MovedPartition], *, eager: bool) -> list[MovedPartition]:
        """The moves of a rebalance that ended, with how long nobody read each partition. Remembers those without a reader."""
        follows = self._follows(done)
        told = []
        eager = eager or done.kind == "consumer"
        for move in moves:
            key = move.topic, move.partition
            since = self.unread.pop(key, None)
            if since is None and follows and move.from_member is not None:
                since = self._let_go(move.from_member, done, eager=eager)
            if since is not None and move.to_member is not None:
                told.append(msgspec.structs.replace(move, without_ms=max(0, self._taken(move.to_member, done) - since)))
                continue
            if since is not None and len(self.unread) < PARTITIONS:
                self.unread[key] = since
            told.append(move)
        return told

    def _let_go(self, member_id: str, done: RebalanceCompleted, *, eager: bool) -> int:
        """When the partitions of a member lost their reader."""
        gone = self.gone.get(member_id)
        if gone is not None:
            return gone[0]
        return self.came.get(member_id, done.started_at) if eager else done.ended_at

    def _taken(self, member_id: str, done: RebalanceCompleted) -> int:
        """When a member had the partitions that it was given: each for itself in a consumer group, else all in one moment."""
        return self.synced.get(member_id, done.ended_at) if done.kind == "consumer" else done.ended_at

    def _follows(self, done: RebalanceCompleted) -> bool:
        """False where announcements were dropped, or the group moved here in the middle."""
        return self.started_at is not None and abs(self.started_at - done.started_at) <= SAME_MOMENT_MS

    def _part(self, member_id: str, name: str) -> MemberPart:
        gone = self.gone.get(member_id)
        return MemberPart(
            member_id=member_id,
            name=name,
            is_new=member_id in self.newcomers,
            joined_ms=self._after(self.came.get(member_id)),
            synced_ms=self._after(self.synced.get(member_id)),
            gone_ms=self._after(gone[0] if gone else None),
            gone=gone[1] if gone else None,
        )

    def _after(self, at: int | None) -> int | None:
        return None if at is None or self.started_at is None else max(0, at - self.started_at)
