"""What members of consumer groups were told, and what must therefore be so, whatever breaks.

Rules: a member reads what it was told from the moment the answer leaves the broker, whether it arrives or not, until a request
arrives in which it says that it does not, or until the broker says that it is no member any more (an answer of before that may
still be under way: nobody can help that). Nobody else is told the same meanwhile, in this and in every later life of the
broker. Epochs that were told are never gone back on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kaas.coordinator.announcements import Announcement, GroupGone, MemberChange
from kaas.coordinator.answers import ConsumerHeartbeatAnswer
from kaas.coordinator.events import ConsumerHeartbeat
from kaas.coordinator.group import Group
from kaas.coordinator.topics import Partitions

Keys = frozenset[tuple[bytes, int]]
"""(topic id, partition)"""


def keys(held: Partitions) -> Keys:
    return frozenset((topic_id, number) for topic_id, numbers in held.items() for number in numbers)


@dataclass(slots=True)
class Told:
    """One group. `reads`: member to what it may read. `last`: to what it was told last. `epochs`: to the epoch it was told.
    `ended`: to the arrival up to which what it asked does not count.

    `epoch`: the highest group epoch that is known to be durable, as a member was told it. `seen`: that of this life.
    """

    reads: dict[str, Keys] = field(default_factory=dict)
    last: dict[str, Keys] = field(default_factory=dict)
    epochs: dict[str, int] = field(default_factory=dict)
    ended: dict[str, int] = field(default_factory=dict)
    epoch: int = 0
    seen: int = 0

    def gone(self, member_id: str, arrivals: int) -> None:
        """Whatever the member still does does not count."""
        self.reads.pop(member_id, None)
        self.last.pop(member_id, None)
        self.ended[member_id] = arrivals


@dataclass(slots=True)
class ConsumerTruth:
    """Of all consumer groups of a volume, over all lives of its broker. `arrivals`: so many requests have come."""

    groups: dict[str, Told] = field(default_factory=dict)
    arrivals: int = 0

    def said(self, event: ConsumerHeartbeat) -> int:
        """A request has arrived: what the member says that it holds is all that it reads, and what the answer before told it,
        unless it did not hear that: it says everything anew, or names an earlier epoch. Returns the request's number."""
        group = self.groups.setdefault(event.group_id, Told())
        self.arrivals += 1
        if event.epoch <= 0:
            group.gone(event.member_id, self.arrivals - 1)
        elif event.owned is not None and event.member_id in group.reads:
            unheard = event.rebalance_timeout_ms != -1 or event.epoch < group.epochs[event.member_id]
            heard = frozenset() if unheard else group.last[event.member_id]
            group.reads[event.member_id] &= keys(event.owned) | heard
        return self.arrivals

    def told(self, event: ConsumerHeartbeat, answer: ConsumerHeartbeatAnswer, arrival: int) -> None:
        """An answer without an error leaves the broker."""
        assert answer.member_id is not None
        group, who = self.groups.setdefault(event.group_id, Told()), answer.member_id
        if answer.epoch < 0 or arrival <= group.ended.get(who, 0):
            return
        before = group.epochs.get(who, 0)
        assert answer.epoch >= before, f"{event.group_id!r}: {who} was told {before}, then {answer.epoch}"
        group.epochs[who] = answer.epoch
        group.epoch = max(group.epoch, answer.epoch)
        if answer.assignment is not None:
            group.last[who] = given = keys(answer.assignment)
            group.reads[who] = group.reads.get(who, frozenset()) | given
            for other, read in group.reads.items():
                both = sorted(read & given) if other != who else []
                assert not both, f"{event.group_id!r}: {who} is told to read {both}, which {other} reads"

    def announced(self, group_id: str, what: Announcement) -> None:
        """What the coordinator says that happened."""
        if isinstance(what, GroupGone) and what.kind != "coordinator_lost":
            self.groups.pop(group_id, None)
        elif isinstance(what, MemberChange) and what.kind != "member_joined" and group_id in self.groups:
            self.groups[group_id].gone(what.member_id, self.arrivals)

    def look(self, group_id: str, group: Group) -> None:
        """The group epoch only grows while the group lives, and is at least what somebody was told. One that became classic
        is another one when it comes back."""
        if group.modern is None:
            self.groups.pop(group_id, None)
            return
        known = self.groups.get(group_id)
        if known is None:
            return
        epoch = group.modern.epoch
        assert epoch >= max(known.seen, known.epoch), f"{group_id!r}: epoch {epoch} after {known.seen}, {known.epoch}"
        known.seen = epoch

    def loaded(self, groups: Mapping[str, Group]) -> None:
        """A life begins: epochs of which nobody was told may be forgotten, those that somebody was told are not."""
        for group_id, known in self.groups.items():
            known.seen = 0
            group = groups.get(group_id)
            epoch = 0 if group is None or group.modern is None else group.modern.epoch
            assert epoch >= known.epoch, f"{group_id!r}: somebody was told {known.epoch}, there is {epoch}"
