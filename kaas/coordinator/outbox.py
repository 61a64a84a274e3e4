"""Where decisions put their effects, and what is to follow once a record is durable.

Job: collect the effects of one event in order; remember, per record in flight, what its decision wants done afterwards.
Rules: records get growing sequence numbers and are written in that order; `settle` gives them back in that order.
Must not know: what the records mean, and what their followers do.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Generic, TypeVar

import msgspec

from kaas.coordinator.announcements import Announcement
from kaas.coordinator.effects import Announce, CancelTimer, Effect, Persist, Reply, ResolveRegexes, SetTimer
from kaas.coordinator.records import TRANSACTION_RECORDS, Record
from kaas.coordinator.timers import TimerKey

F = TypeVar("F")
"""Whoever follows a record."""


class InFlight(msgspec.Struct, Generic[F]):
    """A record on its way to the journal, and who follows it. A second follower has an entry without a record."""

    seq: int
    epoch: int
    group_id: str
    record: Record | None
    follower: F | None


class Outbox(Generic[F]):
    """Effects of the event that is being handled, and the records in flight. `epoch` is that of records from now on."""

    __slots__ = ("effects", "epoch", "in_flight", "seq", "settled")

    def __init__(self) -> None:
        self.effects: list[Effect] = []
        self.in_flight: deque[InFlight[F]] = deque()
        self.seq = 0
        self.settled = 0
        self.epoch = 0

    def take(self) -> list[Effect]:
        """The effects so far; the outbox is empty afterwards."""
        effects, self.effects = self.effects, []
        return effects

    def reply(self, to: Any, answer: Any) -> None:
        self.effects.append(Reply(to, answer))

    def set_timer(self, key: TimerKey, deadline_ms: int) -> None:
        self.effects.append(SetTimer(key, deadline_ms))

    def cancel_timer(self, key: TimerKey) -> None:
        self.effects.append(CancelTimer(key))

    def announce(self, group_id: str, what: Announcement) -> None:
        self.effects.append(Announce(group_id, what))

    def resolve(self, effect: ResolveRegexes) -> None:
        self.effects.append(effect)

    def persist(self, group_id: str, record: Record, follower: F | None = None) -> None:
        """Write a record; it is applied to the state, and then `follower` is told."""
        self.seq += 1
        self.in_flight.append(InFlight(self.seq, self.epoch, group_id, record, follower))
        self.effects.append(Persist(self.seq, group_id, self.epoch, record))

    def follow(self, group_id: str, follower: F) -> None:
        """Tell one more follower of the record of this group that was persisted last."""
        self.in_flight.append(InFlight(self.seq, self.epoch, group_id, None, follower))

    @property
    def settled_order(self) -> tuple[int, int]:
        """(epoch, sequence number) of what has settled: lower than those of every record in flight or yet to come."""
        return (self.in_flight[0].epoch if self.in_flight else self.epoch), self.settled

    def settle(self, up_to: int) -> list[InFlight[F]]:
        """What is in flight up to this number, oldest first; it is not in flight any more."""
        self.settled = max(self.settled, up_to)
        settled, in_flight = [], self.in_flight
        while in_flight and in_flight[0].seq <= up_to:
            settled.append(in_flight.popleft())
        return settled

    def disown(self, group_id: str) -> list[F]:
        """The followers of all that is in flight for a group that is not ours any more; its records are not applied here."""
        followers = []
        for row in self.in_flight:
            if row.group_id == group_id and not isinstance(row.record, TRANSACTION_RECORDS):
                if row.follower is not None:
                    followers.append(row.follower)
                row.record = row.follower = None
        return followers

    def groups_in_flight(self) -> frozenset[str]:
        """Groups of which the state is about to change."""
        return frozenset(row.group_id for row in self.in_flight if row.record is not None)
