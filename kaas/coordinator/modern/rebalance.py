"""The account of a rebalance in a consumer group: when it began, why, how far it is, and what it moved.

Job: begin it, go on with it after each decision, end it; tell the feed.
Rules
- It begins when the group epoch grows and ends when the group is Stable or Empty; what makes the epoch grow meanwhile is a
  further cause of the same rebalance.
- Who decides calls `begin` for every growth of the epoch, `progressed` for every member that it replaced, and `follow` at the
  end with the state that the group had before and has now.
- It is for people: nothing is decided by it, and nothing of it is durable. A group that was read back in the middle of a
  rebalance goes on without an account.
Must not know: requests, records, timers.
"""

from __future__ import annotations

from kaas.coordinator.announcements import (
    Cause,
    MemberProgressed,
    MembersChanged,
    RebalanceStarted,
    StateChanged,
)
from kaas.coordinator.core import Core
from kaas.coordinator.modern.group import Member, MemberState, ModernGroup, Rebalance, State
from kaas.coordinator.modern.states import TABLE
from kaas.coordinator.topics import Partitions
from kaas.wire.consumer_protocol import PROTOCOL_TYPE

PHASES = {State.ASSIGNING: "assigning", State.RECONCILING: "reconciling"}


def begin(core: Core, group: ModernGroup, cause: Cause, now_ms: int) -> None:
    """The group epoch grew, for this cause."""
    if group.rebalance is not None:
        group.rebalance.also.append(cause)
        core.out.announce(group.group_id, MembersChanged(member_ids=None))
        return
    group.rebalance = Rebalance(
        cause=cause,
        started_ms=now_ms,
        phase=PHASES[State.ASSIGNING],
        phase_since_ms=now_ms,
        epoch_before=group.settled_epoch,
        before=group.settled,
    )
    core.out.announce(group.group_id, RebalanceStarted(cause=cause))


def progressed(core: Core, group: ModernGroup, before: Member | None, after: Member, now_ms: int) -> None:
    """A member was replaced by what it is now; it is told if it went on towards its target."""
    revokes = after.state == MemberState.UNREVOKED
    if not revokes:
        group.revoking_since_ms.pop(after.member_id, None)
    elif before is None or before.revoking != after.revoking:
        group.revoking_since_ms[after.member_id] = now_ms
    if before is None or (before.epoch, before.state, before.assigned) != (after.epoch, after.state, after.assigned):
        done = after.state == MemberState.STABLE and after.epoch == group.epoch
        what = MemberProgressed(member_id=after.member_id, let_go=not revokes, is_done=done)
        core.out.announce(group.group_id, what)


def follow(core: Core, group: ModernGroup, before: State, after: State, now_ms: int) -> None:
    """A decision is made: the group was in the one state and is in the other."""
    if before is not after:
        assert after in TABLE[before].exits, f"{group.group_id!r}: {before.value} to {after.value}"
        group.state_since_ms = now_ms
        core.out.announce(group.group_id, StateChanged(before=before.value, after=after.value))
    if after in PHASES:
        _enter(group, PHASES[after], now_ms)
    elif before is not after or group.rebalance is not None:
        _settle(core, group, now_ms)


def _enter(group: ModernGroup, phase: str, now_ms: int) -> None:
    rebalance = group.rebalance
    if rebalance is not None and rebalance.phase != phase:
        if now_ms > rebalance.phase_since_ms:
            rebalance.phases.append((rebalance.phase, now_ms - rebalance.phase_since_ms))
        rebalance.phase, rebalance.phase_since_ms = phase, now_ms


def _settle(core: Core, group: ModernGroup, now_ms: int) -> None:
    """Everybody has what it is to have: the end of a rebalance, and what the next one begins with."""
    rebalance, group.rebalance = group.rebalance, None
    held = {member_id: member.assigned for member_id, member in group.members.items()}
    group.settled, group.settled_epoch = held, group.epoch
    if rebalance is not None:
        _end(core, group, rebalance, "stable" if held else "empty", held, now_ms)


def abandon(core: Core, group: ModernGroup, now_ms: int) -> None:
    """The group is no consumer group any more; what is to come of its members is told in the words of the other protocol."""
    rebalance, group.rebalance = group.rebalance, None
    if rebalance is not None:
        _end(core, group, rebalance, "superseded", {}, now_ms)


def _end(
    core: Core, group: ModernGroup, rebalance: Rebalance, outcome: str, after: dict[str, Partitions], now_ms: int
) -> None:
    told = rebalance.completed(
        now_ms,
        core.wall_offset_ms,
        outcome=outcome,
        generations=(rebalance.epoch_before, group.epoch),
        members=(len(rebalance.before), len(group.members)),
        before=rebalance.before,
        after=after,
        protocol_type=PROTOCOL_TYPE,
        kind="consumer",
    )
    core.out.announce(group.group_id, told)
