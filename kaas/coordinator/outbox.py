"""Where decisions put their effects, and what is to follow once a record is durable.

Job: collect the effects of one event in order; remember, per record in flight, what its decision wants done afterwards.
Rules: records get growing sequence numbers and are written in that order; `settle` gives the followers back in that order.
Must not know: what the records mean.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from kaas.coordinator.announcements import Announcement
from kaas.coordinator.effects import Announce, CancelTimer, Effect, Persist, Reply, SetTimer
from kaas.coordinator.records import Record
from kaas.coordinator.timers import TimerKey

if TYPE_CHECKING:
    from kaas.coordinator.coordinator import Coordinator


class Follower(Protocol):
    """What a decision does when its record is durable (and applied), or cannot be."""

    def written(self, core: Coordinator, now_ms: int) -> None: ...

    def failed(self, core: Coordinator, now_ms: int) -> None: ...


class Answering(msgspec.Struct, frozen=True):
    """Replies whatever became of the write: what the client asked for has happened in memory."""

    to: Any
    answer: Any

    def written(self, core: Coordinator, now_ms: int) -> None:
        core.out.reply(self.to, self.answer)

    def failed(self, core: Coordinator, now_ms: int) -> None:
        core.out.reply(self.to, self.answer)


class Outbox:
    """Effects of the event that is being handled."""

    __slots__ = ("effects", "epoch", "in_flight", "seq", "settled_before")

    def __init__(self) -> None:
        self.effects: list[Effect] = []
        self.in_flight: deque[tuple[int, str, Record | None, Follower | None]] = deque()
        self.seq = 0
        self.epoch = 0
        self.settled_before = 0

    def take(self) -> list[Effect]:
        """The effects so far; the outbox is empty afterwards."""
        self.settled_before = self.seq
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

    def persist(self, group_id: str, record: Record, follower: Follower | None = None) -> None:
        """Write a record; it is applied to the state, and then `follower` is told."""
        self.seq += 1
        self.in_flight.append((self.seq, group_id, record, follower))
        self.effects.append(Persist(self.seq, group_id, self.epoch, record))

    def reply_when_durable(self, to: Any, answer: Any) -> None:
        """Reply after what this event has persisted so far is written (or cannot be); at once if it persisted nothing."""
        if self.seq == self.settled_before:
            self.reply(to, answer)
        else:
            self.in_flight.append((self.seq, "", None, Answering(to, answer)))

    def settle(self, up_to: int) -> list[tuple[int, str, Record | None, Follower | None]]:
        """The records up to this number that are in flight, oldest first; they are not in flight any more."""
        settled = []
        while self.in_flight and self.in_flight[0][0] <= up_to:
            settled.append(self.in_flight.popleft())
        return settled
