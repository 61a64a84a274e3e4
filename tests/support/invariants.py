"""What must hold of a coordinator after every event, whatever happened. Tests and simulations ask here.

The group's own invariants stand in `ClassicGroup.check`; these are between a group, its timers and its durable state.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kaas.coordinator import timers
from kaas.coordinator.classic.group import ClassicGroup
from kaas.coordinator.classic.states import State
from kaas.coordinator.coordinator import Coordinator
from kaas.coordinator.group import Group
from kaas.coordinator.modern.group import ModernGroup
from kaas.coordinator.records import GroupStable
from kaas.coordinator.timers import TimerKey
from kaas.coordinator.transactions.holder import Holder
from kaas.coordinator.transactions.state import LAST_EPOCH
from kaas.coordinator.transactions.states import ENDING, TxnState
from kaas.wire.consumer_protocol import PROTOCOL_TYPE, decode_assignment

TRANSACTION_TIMERS = ("transaction", "markers")


def check_group(group: Group, armed: Iterable[TimerKey]) -> None:
    """One group: its state fits together, and its timers are those that it needs."""
    group.classic.check()
    if group.modern is not None:
        group.modern.check()
    check_timers(group, armed)


def check_timers(group: Group, armed: Iterable[TimerKey]) -> None:
    """`armed`: the timers that are set for this group."""
    if group.modern is None:
        needed, allowed = needed_timers(group.classic), allowed_timers(group.classic)
    else:
        needed, allowed = needed_consumer_timers(group.modern), allowed_consumer_timers(group.modern)
    armed = set(armed)
    assert needed <= armed, f"{group.group_id!r} in {group.state}: no timer {sorted(needed - armed)}"
    assert armed <= needed | allowed, f"{group.group_id!r}: a timer of nothing: {sorted(armed - needed - allowed)}"


def needed_timers(group: ClassicGroup) -> set[TimerKey]:
    """Without these something would wait for ever."""
    name = group.group_id
    needed = {timers.session(name, m.member_id) for m in group.members.values() if not m.waits}
    needed |= {timers.pending_member(name, member_id) for member_id in group.pending}
    rebalance = group.rebalance
    if group.state is State.PREPARING_REBALANCE and rebalance is not None and not rebalance.ready:
        needed.add(timers.initial_delay(name) if rebalance.initial else timers.rebalance(name))
    if group.state in (State.COMPLETING_REBALANCE, State.STABLE) and not all(m.synced for m in group.members.values()):
        needed.add(timers.sync(name))
    return needed


def needed_consumer_timers(group: ModernGroup) -> set[TimerKey]:
    """Every member has a session, and who was told to give something up or to join again so long to do it."""
    sessions = {timers.session(group.group_id, member_id) for member_id in group.members}
    letting_go = [m.member_id for m in group.members.values() if m.revoking and m.classic is None]
    sessions |= {timers.rejoin(group.group_id, member_id) for member_id in group.rejoin_by_ms}
    return sessions | {timers.revocation(group.group_id, member_id) for member_id in letting_go}


def allowed_consumer_timers(group: ModernGroup) -> set[TimerKey]:
    """Nobody keeps count of who of the classic members has yet to sync."""
    return {timers.resync(group.group_id, m.member_id) for m in group.members.values() if m.classic is not None}


def allowed_timers(group: ClassicGroup) -> set[TimerKey]:
    """These do no harm: a newcomer's five minutes, and the join phase's time while its generation is written."""
    allowed = {timers.new_member(group.group_id, m.member_id) for m in group.members.values() if m.is_new}
    if group.state is State.PREPARING_REBALANCE:
        allowed.add(timers.rebalance(group.group_id))
    return allowed


def check_owners(group: ClassicGroup) -> None:
    """In Stable no partition has two owners. Only where all leaders assign honestly."""
    if group.state is not State.STABLE or group.protocol_type != PROTOCOL_TYPE:
        return
    owned: dict[tuple[str, int], str] = {}
    for member in group.members.values():
        for topic, partitions in decode_assignment(member.assignment).partitions.items():
            for partition in partitions:
                other = owned.setdefault((topic, partition), member.member_id)
                assert other == member.member_id, f"{topic}/{partition} belongs to {other} and {member.member_id}"


def check_all(core: Coordinator, armed: Mapping[TimerKey, int]) -> None:
    """Every group and every transactional id, and no timer without one."""
    by_group: dict[str, list[TimerKey]] = {}
    for key in armed:
        if key[0] not in TRANSACTION_TIMERS and key not in (timers.RETENTION, timers.TRANSACTION_EXPIRY):
            by_group.setdefault(key[1], []).append(key)
    assert by_group.keys() <= core.groups.keys(), (
        f"timers of groups that are gone: {by_group.keys() - core.groups.keys()}"
    )
    for group_id, group in core.groups.items():
        check_group(group, by_group.get(group_id, ()))
    assert (timers.RETENTION in armed) != core.loading
    if core.transactions and not core.loading:
        check_transactions(core, armed)


def check_transactions(core: Coordinator, armed: Mapping[TimerKey, int]) -> None:
    """Every transactional id: an open transaction has its clock, and nothing else has one."""
    for transactional_id, holder in core.transactions.items():
        check_holder(holder)
        state = holder.decided.txn_state
        assert (timers.transaction(transactional_id) in armed) == (state is TxnState.ONGOING), transactional_id
        assert state in ENDING or timers.markers(transactional_id) not in armed, transactional_id
    strays = {key[1] for key in armed if key[0] in TRANSACTION_TIMERS} - core.transactions.keys()
    assert not strays, f"timers of transactional ids that are gone: {strays}"


def check_holder(holder: Holder) -> None:
    """One transactional id: what is decided fits together, and is durable unless it is on its way."""
    state = holder.decided
    assert holder.in_flight or holder.decided == holder.durable, state
    assert holder.in_flight or not holder.moving, state
    touched = state.partitions or state.groups
    assert not touched or state.txn_state in (TxnState.ONGOING, *ENDING), state
    assert state.txn_state is not TxnState.ONGOING or state.epoch <= LAST_EPOCH, state
    assert holder.ending is None or holder.moving or state.txn_state in ENDING, state


def check_staged(core: Coordinator) -> None:
    """Every staged offset is that of a transaction which ends some day. Only where all offsets come through transactions."""
    open_ones = {}
    for holder in core.transactions.values():
        for state in (holder.decided, holder.durable):
            if state is not None and state.txn_state in (TxnState.ONGOING, *ENDING):
                open_ones[state.producer_id] = {*open_ones.get(state.producer_id, ()), *state.groups}
    for group_id, group in core.groups.items():
        for producer_id in group.staged:
            assert group_id in open_ones.get(producer_id, ()), f"{group_id!r}: nobody ends what {producer_id} staged"


def check_replayed(live: Mapping[str, Group], durable: Mapping[str, Group]) -> None:
    """A restart now would bring back what is there. Groups of which nothing is durable are not expected back."""
    for group_id, group in durable.items():
        assert group_id in live, f"{group_id!r} is durable and not there"
        check_same(live[group_id], group)
    for group_id in live.keys() - durable.keys():
        group = live[group_id]
        assert not group.offsets and group.stored is None and not group.classic.reserved, f"{group_id!r} is not durable"


def check_same(live: Group, durable: Group) -> None:
    who = repr(live.group_id)
    assert live.offsets == durable.offsets, f"{who}: offsets differ"
    assert live.staged == durable.staged, f"{who}: staged offsets differ"
    assert live.stored == durable.stored, f"{who}: stored membership differs"
    if live.modern is None:
        assert live.classic.reserved == durable.classic.reserved, f"{who}: reserved generations differ"
    else:  # one that was to be classic again has its number before the disk says so, and files that are made then say it
        assert live.classic.reserved >= durable.classic.reserved, f"{who}: reserved generations went back"
    if live.modern is not None and not live.modern.unsaved:
        assert durable.modern is not None, f"{who}: the protocols differ"
        assert modern_shape(live.modern) == modern_shape(durable.modern), f"{who}: consumer groups differ"
    if live.classic.state is State.STABLE:
        assert isinstance(live.stored, GroupStable)
        assert shape(live.classic) == shape(durable.classic), f"{who}: Stable differs"


def modern_shape(group: ModernGroup) -> tuple[object, ...]:
    """What a consumer group is, save when its members were heard."""
    numbers = group.epoch, group.metadata_hash, group.target_epoch, group.target_assignor
    return *numbers, group.members, group.instances, group.target, group.owners, group.regexes


def shape(group: ClassicGroup) -> tuple[object, ...]:
    """What a Stable group is, save what it does at the moment."""
    members = {m.member_id: (m.instance_id, m.protocols, m.assignment) for m in group.members.values()}
    return group.state, group.generation, group.leader, group.protocol_type, group.protocol_name, members
