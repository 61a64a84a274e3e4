"""The two phases of a rebalance: members come back (joining), then get their assignments (syncing).

Job: begin a rebalance, end its join phase, end it; the timers of both phases.
Rules
- A new generation is given out only after its number is durable as reserved, so that no crash makes it twice. The number is
  reserved when the rebalance begins: by the time the members are back it usually is.
- The join phase ends when every member's Join is parked and no id is pending, or when its time is up. All who wait are then
  answered in the same instant, the leader first: nobody gets an assignment before it has shared the partitions out.
- What a rebalance began with is what was in force when the group was last Stable: members that went since are in it, and a
  rebalance that was overtaken changes nothing of it.
Must not know: how a request looks.
Source: PROTOCOL 3.2-3.4 in docs/PROTOCOL.md; KAFKA-4925 (initial delay), 7909 (pending ids), 12890 (members that never sync).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from kaas.coordinator import timers
from kaas.coordinator.announcements import Cause, MembersChanged, RebalanceStarted, StateChanged
from kaas.coordinator.answers import JoinAnswer, JoinedMember
from kaas.coordinator.classic.group import ClassicGroup, Member, Rebalance
from kaas.coordinator.classic.members import heard, refuse_join, refuse_sync, remove_member, restart_session
from kaas.coordinator.classic.states import State
from kaas.coordinator.core import Core
from kaas.coordinator.records import GenerationReserved, GroupEmpty
from kaas.errors import ErrorCode


def enter(core: Core, group: ClassicGroup, state: State, now_ms: int) -> None:
    """Change the state and tell the feed."""
    before = group.transition_to(state, now_ms)
    core.out.announce(group.group_id, StateChanged(before=before.value, after=state.value))


def prepare_or_complete(core: Core, group: ClassicGroup, causes: Sequence[Cause], now_ms: int) -> None:
    """Something changed who is in the group, or what one of them wants; the first cause is the one that is told."""
    further = causes
    if group.state is not State.PREPARING_REBALANCE:
        prepare(core, group, causes[0], now_ms)
        further = causes[1:]
    if group.rebalance is not None:
        group.rebalance.also.extend(further)
    complete_if_all_are_back(core, group, now_ms)


def prepare(core: Core, group: ClassicGroup, cause: Cause, now_ms: int) -> None:
    """Begin a rebalance in any state but PreparingRebalance: everyone is to join again."""
    initial = group.state is State.EMPTY
    if group.state is State.COMPLETING_REBALANCE:
        refuse_syncs(core, group, ErrorCode.REBALANCE_IN_PROGRESS, now_ms)
        finish(core, group, "superseded", now_ms)
    core.out.cancel_timer(timers.sync(group.group_id))
    group.rebalance = Rebalance(
        cause=cause,
        started_ms=now_ms,
        phase="joining",
        phase_since_ms=now_ms,
        generation_before=group.generation,
        members_before=len(group.assigned),
        before=group.assigned,
        initial=initial,
    )
    core.out.announce(group.group_id, RebalanceStarted(cause=cause))
    enter(core, group, State.PREPARING_REBALANCE, now_ms)
    if group.members:
        reserve_generation(core, group)
    if initial:
        await_newcomers(core, group, group.rebalance, now_ms)
    else:
        await_members(core, group, group.rebalance, now_ms)


def await_newcomers(core: Core, group: ClassicGroup, rebalance: Rebalance, now_ms: int) -> None:
    """The join phase of a group that was Empty lasts as long as its initial delay."""
    delay_ms = core.config.initial_rebalance_delay_ms
    rebalance.initial_window_ms = delay_ms
    rebalance.initial_left_ms = max(group.longest_rebalance_timeout_ms() - delay_ms, 0)
    rebalance.deadline_ms = now_ms + delay_ms
    if delay_ms == 0:
        initial_delay_expired(core, group, now_ms)
    else:
        core.out.set_timer(timers.initial_delay(group.group_id), rebalance.deadline_ms)


def await_members(core: Core, group: ClassicGroup, rebalance: Rebalance, now_ms: int) -> None:
    """Any other join phase lasts until the slowest member must be back."""
    rebalance.deadline_ms = now_ms + group.longest_rebalance_timeout_ms()
    core.out.set_timer(timers.rebalance(group.group_id), rebalance.deadline_ms)


def initial_delay_expired(core: Core, group: ClassicGroup, now_ms: int) -> None:
    """The join phase of a group that was Empty: once more, if somebody came in the last window and there is time left."""
    rebalance = group.rebalance
    if rebalance is None or not rebalance.initial:
        return
    if rebalance.grew and rebalance.initial_left_ms > 0:
        rebalance.grew = False
        window_ms = min(core.config.initial_rebalance_delay_ms, rebalance.initial_left_ms)
        rebalance.initial_left_ms = max(rebalance.initial_left_ms - rebalance.initial_window_ms, 0)
        rebalance.initial_window_ms = window_ms
        rebalance.deadline_ms = now_ms + window_ms
        core.out.set_timer(timers.initial_delay(group.group_id), rebalance.deadline_ms)
        core.out.announce(group.group_id, MembersChanged(member_ids=()))
        return
    rebalance.initial = False
    complete(core, group, now_ms)


def rebalance_timeout_expired(core: Core, group: ClassicGroup, now_ms: int) -> None:
    """Who is not back by now is out."""
    if group.state is State.PREPARING_REBALANCE and group.rebalance is not None and not group.rebalance.initial:
        complete(core, group, now_ms)


def complete_if_all_are_back(core: Core, group: ClassicGroup, now_ms: int) -> None:
    """End the join phase once nothing is left to wait for. An initial one ends by its delay only, unless nobody is left."""
    rebalance = group.rebalance
    if group.state is not State.PREPARING_REBALANCE or rebalance is None:
        return
    if rebalance.initial and group.members:
        return
    if group.waiting_count == len(group.members) and not group.pending:
        complete(core, group, now_ms)


def complete(core: Core, group: ClassicGroup, now_ms: int) -> None:
    """End the join phase now: nobody is left, or the generation is not durable yet, or everyone who waits is answered."""
    rebalance = group.rebalance
    assert rebalance is not None
    drop_the_missing(core, group, rebalance)
    if not group.members:
        become_empty(core, group, now_ms)
    elif not group.waiting_count:  # only static members that are not back: their session decides
        await_members(core, group, rebalance, now_ms)
        core.out.announce(group.group_id, MembersChanged(member_ids=()))
    elif group.reserved < group.next_generation():
        rebalance.ready = True
        reserve_generation(core, group)
        core.out.announce(group.group_id, MembersChanged(member_ids=()))
    else:
        begin_generation(core, group, now_ms)


def drop_the_missing(core: Core, group: ClassicGroup, rebalance: Rebalance) -> None:
    """Dynamic members that did not come back are out; static ones stay until their session ends (KAFKA-8220)."""
    for member in [m for m in group.members.values() if m.parked_join is None and m.instance_id is None]:
        rebalance.also.append(drop_the_late(core, group, member, "joining"))


def drop_the_late(core: Core, group: ClassicGroup, member: Member, phase: str) -> Cause:
    """Remove a member that did not join, or did not sync, within the rebalance timeout; why the group rebalances then."""
    reason = "did not rejoin in time" if phase == "joining" else "did not sync in time"
    timeout_ms = member.rebalance_timeout_ms
    remove_member(core, group, member, kind="member_expired", timeout_ms=timeout_ms, reason=reason)
    detail = {"client_id": member.client_id, "timeout_ms": timeout_ms, "phase": phase}
    return Cause(kind="rebalance_timeout", member_id=member.member_id, detail=detail)


def become_empty(core: Core, group: ClassicGroup, now_ms: int) -> None:
    """Nobody is left. This uses up a generation, so that a member that was cut off cannot come back into the next one."""
    group.generation = group.next_generation()
    group.protocol_name = ""
    group.assigned = {}
    core.out.cancel_timer(timers.rebalance(group.group_id))
    core.out.cancel_timer(timers.initial_delay(group.group_id))
    enter(core, group, State.EMPTY, now_ms)
    finish(core, group, "empty", now_ms)
    core.out.persist(group.group_id, GroupEmpty(group.generation, group.protocol_type, core.wall_ms(now_ms)))


def begin_generation(core: Core, group: ClassicGroup, now_ms: int) -> None:
    """A new generation with its protocol and leader; everyone whose Join is parked is answered."""
    rebalance = group.rebalance
    assert rebalance is not None and group.leader is not None
    if group.members[group.leader].parked_join is None:
        group.leader = group.waiting()[0].member_id
    group.generation = group.next_generation()
    group.protocol_name = group.vote()
    group.assignment_in_flight = False
    rebalance.phases.append(("joining", now_ms - rebalance.phase_since_ms))
    rebalance.phase, rebalance.phase_since_ms = "syncing", now_ms
    rebalance.deadline_ms = now_ms + group.longest_rebalance_timeout_ms()
    core.out.cancel_timer(timers.rebalance(group.group_id))
    core.out.set_timer(timers.sync(group.group_id), rebalance.deadline_ms)
    enter(core, group, State.COMPLETING_REBALANCE, now_ms)
    group.begin_syncing()
    leader = group.members[group.leader]
    for member in [leader, *(member for member in group.members.values() if member is not leader)]:
        if member.is_new:
            member.is_new = False
            core.out.cancel_timer(timers.new_member(group.group_id, member.member_id))
        token = group.unpark_join(member)
        if token is not None:
            restart_session(core, group, member, now_ms)
            core.out.reply(token, join_answer(group, member))
    core.out.announce(group.group_id, MembersChanged(member_ids=None))


def join_answer(group: ClassicGroup, member: Member, *, skip_assignment: bool = False) -> JoinAnswer:
    """What a member is told of its generation; only the leader is told who else is there."""
    leads = member.member_id == group.leader
    return JoinAnswer(
        code=ErrorCode.NONE,
        member_id=member.member_id,
        generation=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=group.leader or "",
        skip_assignment=skip_assignment,
        members=joined_members(group) if leads else (),
    )


def joined_members(group: ClassicGroup) -> tuple[JoinedMember, ...]:
    """Everyone, with the metadata of the chosen protocol."""
    name = group.protocol_name
    return tuple(JoinedMember(m.member_id, m.instance_id, m.metadata_of(name)) for m in group.members.values())


def sync_expired(core: Core, group: ClassicGroup, now_ms: int) -> None:
    """Members that joined and never asked for their assignment hold partitions that nobody reads: out (KAFKA-12890)."""
    if group.state not in (State.COMPLETING_REBALANCE, State.STABLE):
        return
    silent = [m for m in group.members.values() if not m.synced]
    if silent:
        causes = [drop_the_late(core, group, member, "syncing") for member in silent]
        prepare_or_complete(core, group, causes, now_ms)


def refuse_syncs(core: Core, group: ClassicGroup, code: ErrorCode, now_ms: int) -> None:
    """Everyone whose Sync waits hears this code; their sessions run again."""
    for member in group.members.values():
        if member.parked_sync is not None:
            refuse_sync(core, member, code)
            heard(core, group, member, now_ms)


def finish(core: Core, group: ClassicGroup, outcome: str, now_ms: int) -> None:
    """Close the account of the rebalance under way."""
    rebalance = group.rebalance
    assert rebalance is not None
    group.rebalance = None
    told = rebalance.completed(
        now_ms,
        core.wall_offset_ms,
        outcome=outcome,
        generations=(rebalance.generation_before, group.generation),
        members=(rebalance.members_before, len(group.members)),
        before=rebalance.before,
        after={m.member_id: m.assignment for m in group.members.values()} if outcome == "stable" else {},
        protocol_type=group.protocol_type,
        kind="classic",
    )
    core.out.announce(group.group_id, told)


def reserve_generation(core: Core, group: ClassicGroup) -> None:
    """Make the next generation durable as given, unless that is done or on its way."""
    wanted = group.next_generation()
    if group.reserving < wanted:
        group.reserving = wanted
        core.out.persist(group.group_id, GenerationReserved(wanted), Reserved(group.group_id, wanted))


class Reserved(msgspec.Struct, frozen=True):
    """Goes on with the join phase that waited for its number."""

    group_id: str
    generation: int

    def written(self, core: Core, now_ms: int) -> None:
        group = core.classic(self.group_id)
        if group is not None and group.rebalance is not None and group.rebalance.ready:
            group.rebalance.ready = False
            complete(core, group, now_ms)

    def failed(self, core: Core, now_ms: int) -> None:
        """Nobody can be given a generation. A join phase that goes on tries again at its end; one that is done sends those
        who wait back, and each who returns tries the disk."""
        group = core.classic(self.group_id)
        if group is None or group.reserving != self.generation:  # a later number is on its way
            return
        group.reserving = group.reserved
        if group.rebalance is None or not group.rebalance.ready:
            return
        group.rebalance.ready = False
        for member in group.waiting():
            refuse_join(core, group, member, ErrorCode.COORDINATOR_NOT_AVAILABLE, member.member_id)
            heard(core, group, member, now_ms)
        await_members(core, group, group.rebalance, now_ms)
        core.out.announce(group.group_id, MembersChanged(member_ids=None))
