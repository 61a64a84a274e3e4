"""The table of states, walked cell by cell: for each state and request the reply, for each pair of states the exit."""

from __future__ import annotations

import itertools

import pytest

from kaas.coordinator.classic.group import ClassicGroup
from kaas.coordinator.classic.states import TABLE, State
from kaas.errors import ErrorCode
from tests.support.groups import GROUP, Groups, Member

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = State


def empty(groups: Groups) -> Member:
    """Somebody who was a member of a group that is Empty now."""
    (gone,) = groups.settled(groups.member())
    gone.leaves()
    return gone


def preparing(groups: Groups) -> Member:
    (member,) = groups.settled(groups.member())
    groups.member().joins()
    return member


def completing(groups: Groups) -> Member:
    return groups.gathered(*groups.members(2))[1]


def stable(groups: Groups) -> Member:
    return groups.settled(*groups.members(2))[1]


def dead(groups: Groups) -> Member:
    """A group whose end is being written: from the decision on it is as good as Dead."""
    gone = empty(groups)
    groups.journal.held = True
    groups.deletes()
    return gone


MAKE = {EMPTY: empty, PREPARING: preparing, COMPLETING: completing, STABLE: stable, DEAD: dead}


@pytest.mark.parametrize("state", State)
def test_a_heartbeat_is_answered_as_the_table_says(state):
    member = MAKE[state](Groups())
    assert member.beats() == TABLE[state].heartbeat


@pytest.mark.parametrize("state", State)
def test_a_sync_is_answered_as_the_table_says(state):
    asked = MAKE[state](Groups()).syncs()
    if state is COMPLETING:
        assert TABLE[state].sync is None and asked.waits  # for the leader
    elif state is STABLE:
        assert TABLE[state].sync is None and asked.code == 0
    else:
        assert asked.code == TABLE[state].sync


@pytest.mark.parametrize("state", State)
def test_a_commit_of_a_member_is_answered_as_the_table_says(state):
    member = MAKE[state](Groups())
    assert member.commits().code == TABLE[state].commit


@pytest.mark.parametrize("state", State)
def test_a_join_of_a_newcomer_is_taken_in_every_state_but_dead(state):
    groups = Groups()
    MAKE[state](groups)
    asked = groups.member(version=3).joins()
    if state is DEAD:
        assert asked.code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    else:
        assert asked.waits or asked.code == 0


@pytest.mark.parametrize("state", State)
def test_only_a_group_without_members_is_deleted(state):
    groups = Groups()
    MAKE[state](groups)
    expected = {EMPTY: ErrorCode.NONE, DEAD: ErrorCode.COORDINATOR_NOT_AVAILABLE}
    assert groups.deletes().code == expected.get(state, ErrorCode.NON_EMPTY_GROUP)


@pytest.mark.parametrize("state", State)
def test_the_makers_of_this_file_make_the_state_they_are_named_for(state):
    groups = Groups()
    MAKE[state](groups)
    assert groups.state is (EMPTY if state is DEAD else state)
    assert groups.core.groups[GROUP].deleting == (state is DEAD)


@pytest.mark.parametrize(("before", "after"), list(itertools.product(State, State)))
def test_a_group_moves_to_a_state_exactly_when_the_table_has_the_exit(before, after):
    group = ClassicGroup(group_id=GROUP, state=before)
    if after in TABLE[before].exits:
        assert group.transition_to(after, 5) is before
        assert (group.state, group.state_since_ms) == (after, 5)
    else:
        with pytest.raises(AssertionError, match=f"{before.value} to {after.value}"):
            group.transition_to(after, 5)
        assert group.state is before


# Every exit is taken by something that happens


def test_empty_goes_to_preparing_when_somebody_joins():
    groups = Groups(initial_rebalance_delay_ms=3_000)
    groups.member(version=3).joins()
    assert groups.state is PREPARING


def test_empty_goes_to_dead_when_it_is_deleted():
    groups = Groups()
    empty(groups)
    classic = groups.classic()
    groups.deletes()
    assert classic.state is DEAD and groups.state is DEAD


def test_preparing_goes_to_completing_when_all_are_back():
    groups = Groups()
    preparing(groups).joins()
    assert groups.state is COMPLETING


def test_preparing_goes_to_empty_when_nobody_is_left():
    groups = Groups()
    member = preparing(groups)
    member.leaves()
    (newcomer,) = groups.ids
    groups.leaves((newcomer, None))
    assert groups.state is EMPTY


def test_completing_goes_to_stable_when_the_leaders_assignment_is_durable():
    groups = Groups()
    (leader,) = groups.gathered(groups.member())
    groups.journal.held = True
    leader.syncs({leader: b""})
    assert groups.state is COMPLETING
    groups.writes()
    assert groups.state is STABLE


def test_completing_goes_to_preparing_when_somebody_joins():
    groups = Groups()
    completing(groups)
    groups.member().joins()
    assert groups.state is PREPARING


def test_stable_goes_to_preparing_when_somebody_leaves():
    groups = Groups()
    stable(groups).leaves()
    assert groups.state is PREPARING


@pytest.mark.parametrize("state", [PREPARING, COMPLETING, STABLE])
def test_a_group_with_members_goes_to_dead_when_another_broker_has_it(state):
    groups = Groups()
    MAKE[state](groups)
    classic = groups.classic()
    groups.unloads()
    assert classic.state is DEAD and groups.state is DEAD


def test_every_state_says_how_it_is_entered_and_left():
    assert set(TABLE) == set(State)
    assert all(row.enters and row.leaves for row in TABLE.values())
