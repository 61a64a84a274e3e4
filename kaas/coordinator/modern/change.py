"""What one decision changes of a consumer group: in memory at once, on disk in one record, told when that is durable.

Job: take the steps of a decision on the group, note them, and at its end write the record that says them; timers of what
members were told to give up, and what the feed is told of each step.
Rules
- A decision makes one Change and closes it. What changes nothing writes nothing, and is told after the records of its group
  that are on their way, as it builds on them.
- Once a record is lost, what is answered after it would build on what a restart forgets: it is refused until a record with the
  whole group is durable.
Must not know: why something changes.
Source: docs/decisions/0033.
"""

from __future__ import annotations

from typing import Any

import msgspec

from kaas.coordinator import timers
from kaas.coordinator.announcements import Cause, member_change
from kaas.coordinator.core import Core
from kaas.coordinator.group import Group
from kaas.coordinator.modern import rebalance
from kaas.coordinator.modern.group import Member, ModernGroup, ResolvedRegex
from kaas.coordinator.records import ConsumerGroupChanged
from kaas.coordinator.topics import Partitions


class Change:
    """One decision. `group` is the membership, to look at; it is changed by the methods here only."""

    def __init__(self, core: Core, group: Group, now_ms: int, *, whole: bool = False) -> None:
        """`whole`: the record is to say everything, as the group was not a consumer group before."""
        assert group.modern is not None
        self.core = core
        self.group: ModernGroup = group.modern
        self.now_ms = now_ms
        self._state = self.group.state
        self._numbers = numbers(self.group)
        self._whole = whole
        self._members: dict[str, Member] = {}
        self._gone: dict[str, None] = {}
        self._targets: dict[str, Partitions] = {}
        self._regexes: dict[str, ResolvedRegex] = {}
        self._regexes_gone: dict[str, None] = {}

    # Steps

    def put(self, member: Member) -> None:
        """A member is new, or is another value than before."""
        before = self.group.members.get(member.member_id)
        self.group.put(member)
        self._note(before, member)

    def replace(self, member_id: str, successor: Member) -> None:
        """A new id takes the place of an old one, its target included."""
        before = self.group.replace(member_id, successor)
        self._forget(member_id)
        target = self.group.target.get(successor.member_id)
        if target is not None:
            self._targets[successor.member_id] = target
        self._note(before, successor)

    def remove(self, member_id: str) -> Member:
        """A member is gone."""
        self._forget(member_id)
        return self.group.remove(member_id)

    def grow(self, cause: Cause) -> None:
        """The group epoch is one higher: the target is to be made anew."""
        self.group.epoch += 1
        rebalance.begin(self.core, self.group, cause, self.now_ms)

    def also(self, cause: Cause) -> None:
        """A further cause of the growth."""
        rebalance.begin(self.core, self.group, cause, self.now_ms)

    def set_target(self, target: dict[str, Partitions], assignor: str) -> None:
        """Who is to hold what at the group epoch."""
        before = self.group.target
        self._targets |= {member_id: share for member_id, share in target.items() if before.get(member_id) != share}
        self.group.set_target(target, self.group.epoch, assignor)

    def give_nothing(self, member_id: str) -> None:
        """The target as it is has nothing for a member that was not there when it was made."""
        self.group.target[member_id] = self._targets[member_id] = {}

    def resolve(self, pattern: str, resolved: ResolvedRegex | None) -> None:
        """What a pattern matches; null: nobody has it any more."""
        if resolved is not None:
            self.group.regexes[pattern] = self._regexes[pattern] = resolved
            self._regexes_gone.pop(pattern, None)
        elif self.group.regexes.pop(pattern, None) is not None:
            self._regexes.pop(pattern, None)
            self._regexes_gone[pattern] = None

    def announce(self, kind: str, member: Member, **more: str | int | None) -> None:
        """Tell the feed what happened to a member."""
        self.core.out.announce(self.group.group_id, member_change(kind, member, **more))

    def _note(self, before: Member | None, member: Member) -> None:
        self._gone.pop(member.member_id, None)
        self._members[member.member_id] = member
        rebalance.progressed(self.core, self.group, before, member, self.now_ms)
        self._time_revocation(before, member)
        if before is not None and (before.classic is None) != (member.classic is None):
            self._change_protocol(member)

    def _change_protocol(self, member: Member) -> None:
        """The timers that only members of the other protocol have are over."""
        self.group.rejoin_by_ms.pop(member.member_id, None)
        for make in (timers.revocation,) if member.classic is not None else (timers.rejoin, timers.resync):
            self.core.out.cancel_timer(make(self.group.group_id, member.member_id))

    def _time_revocation(self, before: Member | None, member: Member) -> None:
        """Who is told to give something up has its rebalance timeout for it, from the last time that it was told."""
        key = timers.revocation(self.group.group_id, member.member_id)
        gave_up = {} if before is None else before.revoking
        if not member.revoking:
            if gave_up:
                self.core.out.cancel_timer(key)
        elif member.revoking != gave_up and member.classic is None:  # a classic member has timers of its own
            self.core.out.set_timer(key, self.now_ms + member.rebalance_timeout_ms)

    def _forget(self, member_id: str) -> None:
        self._members.pop(member_id, None)
        self._targets.pop(member_id, None)
        self._gone[member_id] = None
        for make in (timers.session, timers.revocation, timers.rejoin, timers.resync):
            self.core.out.cancel_timer(make(self.group.group_id, member_id))

    # The end

    def close(self, to: Any = None, answer: Any = None, refusal: Any = None) -> None:
        """The decision is made. `to` is answered when it is durable, and refused when it cannot be; null: nobody waits."""
        group = self.group
        for pattern in [one for one in group.regexes if one not in group.patterns]:  # nobody has it any more
            self.resolve(pattern, None)
        rebalance.follow(self.core, group, self._state, group.state, self.now_ms)
        if self._is_empty:
            answer_in_turn(self.core, group, to, answer, refusal)
        else:
            save(self.core, group, whole(self.core, group) if self._whole else self._record(), to, answer, refusal)

    @property
    def _is_empty(self) -> bool:
        noted = self._members or self._gone or self._targets or self._regexes or self._regexes_gone or self._whole
        return not noted and numbers(self.group) == self._numbers

    def _record(self) -> ConsumerGroupChanged:
        return msgspec.structs.replace(
            header(self.core, self.group),
            members=list(self._members.values()),
            gone=list(self._gone),
            targets=self._targets,
            regexes=self._regexes,
            regexes_gone=list(self._regexes_gone),
        )


def numbers(group: ModernGroup) -> tuple[int, int, int, str]:
    """What a record says of the group itself."""
    return group.epoch, group.metadata_hash, group.target_epoch, group.target_assignor


def header(core: Core, group: ModernGroup) -> ConsumerGroupChanged:
    """A record that changes nothing but the numbers."""
    return ConsumerGroupChanged(*numbers(group), at=core.wall_ms(group.state_since_ms))


def whole(core: Core, group: ModernGroup) -> ConsumerGroupChanged:
    """A record of all that is durable of a group."""
    return msgspec.structs.replace(
        header(core, group),
        whole=True,
        members=list(group.members.values()),
        targets=dict(group.target),
        regexes=dict(group.regexes),
    )


def answer_in_turn(core: Core, group: ModernGroup, to: Any, answer: Any, refusal: Any) -> None:
    """Answer what changes nothing: after the records that are on their way, and with the whole group if one was lost."""
    if group.in_flight:
        core.out.follow(group.group_id, Told(group, to, answer, refusal))
    elif group.unsaved:
        save(core, group, whole(core, group), to, answer, refusal)
    elif to is not None:
        core.out.reply(to, answer)


def save(core: Core, group: ModernGroup, record: ConsumerGroupChanged, to: Any, answer: Any, refusal: Any) -> None:
    """Write a record; the whole group in its place, if one was lost."""
    if group.unsaved and not record.whole:
        record = whole(core, group)
    group.in_flight += 1
    group.record_number += 1
    record = msgspec.structs.replace(record, number=group.record_number)
    core.out.persist(group.group_id, record, Saved(group, to, answer, refusal, is_whole=record.whole))


class Told(msgspec.Struct, frozen=True):
    """Answers, unless a record that the answer builds on was lost."""

    group: ModernGroup
    to: Any
    answer: Any
    refusal: Any

    def written(self, core: Core, now_ms: int) -> None:
        if self.to is not None:
            core.out.reply(self.to, self.refusal if self.group.unsaved else self.answer)

    def failed(self, core: Core, now_ms: int) -> None:
        if self.to is not None:
            core.out.reply(self.to, self.refusal)


class Saved(Told, frozen=True, kw_only=True):
    """Answers for a record of its own."""

    is_whole: bool

    def written(self, core: Core, now_ms: int) -> None:
        self.group.in_flight -= 1
        if self.is_whole:
            self.group.unsaved = False
        Told.written(self, core, now_ms)

    def failed(self, core: Core, now_ms: int) -> None:
        self.group.in_flight -= 1
        self.group.unsaved = True
        Told.failed(self, core, now_ms)
