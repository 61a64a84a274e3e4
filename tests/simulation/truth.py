"""What clients were told, and what must therefore be so, whatever breaks.

Job: remember acknowledged commits and generations that were given out, and compare them with what the coordinator has.
Rules: a commit counts from the moment its answer leaves the broker. What a crash leaves undecided (written and never reported)
is taken from the disk, record by record; everything else must be there exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kaas.coordinator.announcements import Announcement, GroupGone, OffsetsChanged, StateChanged
from kaas.coordinator.answers import JoinAnswer
from kaas.coordinator.classic.states import State
from kaas.coordinator.events import Commit
from kaas.coordinator.group import Group
from kaas.coordinator.offset_entry import OffsetKey, OffsetRows
from kaas.coordinator.records import GroupDeleted, OffsetsCommitted, OffsetsDeleted, Record
from tests.simulation.clock import Clock


@dataclass(frozen=True, slots=True)
class Kept:
    """An offset that was acknowledged, with the wall time before which it must not expire."""

    offset: int
    until: int


@dataclass(slots=True)
class Generations:
    """Of one life of a group. `told`: generation to the protocol that members were told. `leaders`: to the id that led."""

    highest: int = 0
    told: dict[int, str | None] = field(default_factory=dict)
    leaders: dict[int, str] = field(default_factory=dict)


@dataclass(slots=True)
class Truth:
    """Of all groups of a volume, over all lives of its broker. `unled`: generations of which no leader was told yet.

    `mixed`: groups that change their protocol, whose numbers are the business of both.
    """

    clock: Clock
    retention_ms: int
    offsets: dict[str, dict[OffsetKey, Kept]] = field(default_factory=dict)
    generations: dict[str, Generations] = field(default_factory=dict)
    unled: dict[str, int] = field(default_factory=dict)
    mixed: tuple[str, ...] = ()

    # Commits

    def committed(self, event: Commit, refused: dict[int, Any] | None) -> None:
        """A commit is acknowledged."""
        refused = refused or {}
        self._keep(event.group_id, [row for index, row in enumerate(event.rows) if index not in refused])

    def _keep(self, group_id: str, rows: OffsetRows) -> None:
        kept = self.offsets.setdefault(group_id, {})
        for topic, partition, entry in rows:
            until = entry.committed_at + self.retention_ms if entry.expires_at is None else entry.expires_at
            kept[topic, partition] = Kept(entry.offset, until)

    def absorb(self, group_id: str, record: Record) -> None:
        """A record is durable of which nobody was told; what it says is so from now on."""
        if isinstance(record, OffsetsCommitted):
            self._keep(group_id, record.offsets)
        elif isinstance(record, OffsetsDeleted):
            kept = self.offsets.setdefault(group_id, {})
            for key in record.partitions:
                kept.pop(key, None)
        elif isinstance(record, GroupDeleted):
            self.forget(group_id)

    def announced(self, group_id: str, what: Announcement, group: Group | None) -> None:
        """What the coordinator says that happened."""
        if isinstance(what, OffsetsChanged) and what.kind == "offsets_deleted":
            for key in what.partitions:
                row = self.offsets.get(group_id, {}).pop(key, None)
                early = what.why == "expired" and row is not None and row.until > self.clock.wall_ms
                assert not early, f"{group_id!r}: {key} expired before its time"
        elif isinstance(what, GroupGone) and what.kind != "coordinator_lost":
            if what.kind == "group_expired":
                # Of offsets whose own deletion could not be written nothing was told; they are as old all the same.
                young = {
                    key: row for key, row in self.offsets.get(group_id, {}).items() if row.until > self.clock.wall_ms
                }
                assert not young, f"{group_id!r} expired with offsets {young}"
            self.forget(group_id)
        elif (
            isinstance(what, StateChanged)
            and what.after == State.COMPLETING_REBALANCE.value
            and group_id not in self.mixed
        ):
            assert group is not None
            self.formed(group_id, group.classic.generation)

    def forget(self, group_id: str) -> None:
        """The group is gone; one of its name will be another one."""
        self.offsets.pop(group_id, None)
        self.generations.pop(group_id, None)

    def check_offsets(self, group_id: str, group: Group | None) -> None:
        """Exactly what was acknowledged is there."""
        kept = {key: row.offset for key, row in self.offsets.get(group_id, {}).items()}
        rows = {} if group is None else group.offsets
        there = {(topic, number): entry.offset for topic, parts in rows.items() for number, entry in parts.items()}
        assert there == kept, f"{group_id!r}: acknowledged {kept}, there are {there}"

    # Generations

    def formed(self, group_id: str, generation: int) -> None:
        """A join phase is done: its number is a new one, in this and in every life before."""
        known = self.generations.setdefault(group_id, Generations())
        assert generation > known.highest, f"{group_id!r}: generation {generation} after {known.highest}"
        known.highest = generation
        self.unled[group_id] = generation

    def joined(self, group_id: str, answer: JoinAnswer) -> None:
        """A member was told its generation: the same as all others of it, and one of them leads."""
        known = self.generations.setdefault(group_id, Generations())
        assert answer.generation <= known.highest
        protocol = known.told.setdefault(answer.generation, answer.protocol_name)
        assert protocol == answer.protocol_name
        if answer.leader == answer.member_id and not answer.skip_assignment:
            self.unled.pop(group_id, None)
            leader = known.leaders.setdefault(answer.generation, answer.leader)
            assert leader == answer.leader, f"{group_id!r}: {leader} and {answer.leader} lead {answer.generation}"

    def look(self, group_id: str, group: Group) -> None:
        """A group that became one of consumers counts anew when it is classic again."""
        if group.modern is not None:
            self.generations.pop(group_id, None)
            self.unled.pop(group_id, None)

    def check_led(self) -> None:
        """Whenever a generation is given out, somebody is told to lead it."""
        assert not self.unled, f"nobody leads {self.unled}"

    def loaded(self, groups: dict[str, Group]) -> None:
        """After a start: what was given out is spent, and groups that are not there gave out nothing."""
        for group_id, known in list(self.generations.items()):
            group = groups.get(group_id)
            if group is not None and group.modern is not None:
                del self.generations[group_id]
            elif group is None:
                assert not known.highest, f"{group_id!r} gave out {known.highest} and is not there"
                del self.generations[group_id]
            else:
                spent = max(group.classic.generation, group.classic.spent)
                assert known.highest <= spent, f"{group_id!r} gave out {known.highest}, only {spent} is spent"
