"""A consumer group becomes a classic group: its last member under KIP-848 is gone, or nobody is in it and a classic one comes.

Job: say whether that is due; make it so, durably.
Rules
- It is due when only classic members are left, if the settings let it and there is room for them in a classic group.
- The generation is the group epoch as it was before the last one went. One record holds the group; classic members that are
  behind it hear 22 and join again.
- The group rebalances, after a restart as well, unless a classic member has taken the place of the last modern one, reads what
  that one read, and everybody has its share: then it is Stable as it is.
- An empty group changes at any time, and its numbers begin anew; its offsets stay.
Must not know: why the last one goes.
Source: KIP-848; PROTOCOL 4.6, 7.3.11 to 7.3.13 in docs/PROTOCOL.md; KAFKA-18150, KAFKA-17317, KAFKA-19546.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from kaas.coordinator.announcements import Cause, MembersChanged, StateChanged
from kaas.coordinator.classic import rebalance
from kaas.coordinator.classic.group import ClassicGroup
from kaas.coordinator.classic.members import restart_session
from kaas.coordinator.classic.states import State
from kaas.coordinator.classic.sync import stored
from kaas.coordinator.core import Core, Follower
from kaas.coordinator.group import Group
from kaas.coordinator.modern import rebalance as account
from kaas.coordinator.modern.conversion import classic_group_of
from kaas.coordinator.modern.group import ModernGroup
from kaas.coordinator.records import GroupEmpty, GroupStable


def is_due(core: Core, group: ModernGroup) -> bool:
    """Whether only classic members are left, and may be a group of their own."""
    allowed = core.config.consumer_migration_policy.downgrades and len(group.members) <= core.config.max_size
    return group.is_all_classic and allowed


def downgrade(core: Core, group: Group, causes: Sequence[Cause], follower: Follower | None, now_ms: int) -> None:
    """The group is classic from here on, and rebalances for these causes; `follower` is told when the change is durable."""
    convert(core, group, now_ms)
    save(core, group, follower, now_ms, is_shared_out=False)
    rebalance.prepare_or_complete(core, group.classic, causes, now_ms)


def convert(core: Core, group: Group, now_ms: int) -> None:
    """The group is classic and Stable, in memory."""
    modern = group.modern
    assert modern is not None
    account.abandon(core, modern, now_ms)
    core.forget_timers(group)
    before = group.state
    group.classic = classic_group_of(modern, core.topics, group.reserved, now_ms)
    group.modern = None
    core.out.announce(group.group_id, StateChanged(before=before, after=group.state))
    core.out.announce(group.group_id, MembersChanged(member_ids=None))
    for member in group.classic.members.values():
        restart_session(core, group.classic, member, now_ms)


def save(core: Core, group: Group, follower: Follower | None, now_ms: int, *, is_shared_out: bool) -> None:
    """Make the change durable."""
    classic = group.classic
    assert classic.leader is not None
    members = [stored(member, member.assignment) for member in classic.members.values()]
    record = GroupStable(
        classic.generation,
        classic.protocol_type,
        classic.protocol_name,
        classic.leader,
        members,
        core.wall_ms(now_ms),
        is_shared_out,
    )
    core.out.persist(group.group_id, record, Downgraded(group.group_id, classic.generation, follower))


class Downgraded(msgspec.Struct, frozen=True):
    """Tells who waits for the change. When it could not be written and the group would go on as if it was, it rebalances, so
    that it is written with the next generation."""

    group_id: str
    generation: int
    follower: Follower | None

    def written(self, core: Core, now_ms: int) -> None:
        if self.follower is not None:
            self.follower.written(core, now_ms)

    def failed(self, core: Core, now_ms: int) -> None:
        if self.follower is not None:
            self.follower.failed(core, now_ms)
        whole = core.groups.get(self.group_id)
        if whole is None:
            return
        group = whole.classic
        if group.reserved == self.generation:
            group.reserved = whole.reserved
        if group.state is State.STABLE and group.generation == self.generation:
            cause = Cause(
                kind="assignment_failed", member_id=group.leader, detail={"reason": "the disk refused the write"}
            )
            rebalance.prepare_or_complete(core, group, [cause], now_ms)


def empty_group(core: Core, group: Group, now_ms: int) -> None:
    """A consumer group that nobody is in is a classic one from here on."""
    modern = group.modern
    assert modern is not None and not modern.members
    core.forget_timers(group)
    group.modern = None
    group.classic = ClassicGroup(group_id=group.group_id, reserved=group.reserved, state_since_ms=now_ms)
    core.out.announce(group.group_id, MembersChanged(member_ids=None))
    core.out.persist(group.group_id, GroupEmpty(0, "", core.wall_ms(now_ms)))
