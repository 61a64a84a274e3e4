"""The tables are whole, and each exit of a group's state is one that can be taken."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kaas.coordinator.announcements import StateChanged
from kaas.coordinator.modern.group import MemberState, State
from kaas.coordinator.modern.states import MEMBERS, TABLE
from tests.support.consumers import Consumers

EXITS = [(state, other) for state, row in TABLE.items() for other in row.exits]


def empty(consumers: Consumers) -> None:
    consumers.joined("t", instance_id="i").leaves()


def stable(consumers: Consumers) -> None:
    consumers.joined("t", instance_id="i", member_id="a")


def assigning(consumers: Consumers) -> None:
    a, b = consumers.joined("t", instance_id="i", member_id="a"), consumers.joined("t", member_id="b")
    consumers.reconcile(a, b)
    b.leaves()


def reconciling(consumers: Consumers) -> None:
    consumers.joined("t", instance_id="i", member_id="a")
    consumers.joined("t", member_id="b")


MAKE: dict[State, Callable[[Consumers], None]] = {
    State.EMPTY: empty,
    State.STABLE: stable,
    State.ASSIGNING: assigning,
    State.RECONCILING: reconciling,
}


def beat_by(consumers: Consumers, member_id: str, **changes) -> None:
    member = consumers.consumer("t", member_id=member_id)
    assert member.beats(epoch=consumers.modern.members[member_id].epoch, **changes) == 0


def acknowledge(consumers: Consumers) -> None:
    for member_id in ("a", "b"):
        beat_by(consumers, member_id)
        beat_by(consumers, member_id, owned=consumers.modern.members[member_id].assigned)
    beat_by(consumers, "b")


def all_leave(consumers: Consumers) -> None:
    consumers.leaves(*((member_id, None) for member_id in list(consumers.modern.members)))


def match_another(consumers: Consumers) -> None:
    beat_by(consumers, "a", regex="u")
    consumers.matches("u", "u")


WAYS: dict[tuple[State, State], Callable[[Consumers], None]] = {
    (State.EMPTY, State.STABLE): stable,
    (State.ASSIGNING, State.RECONCILING): lambda consumers: consumers.joined("t"),
    (State.ASSIGNING, State.STABLE): lambda consumers: beat_by(consumers, "a"),
    (State.RECONCILING, State.STABLE): acknowledge,
    (State.RECONCILING, State.ASSIGNING): lambda consumers: consumers.leaves(("b", None)),
    (State.STABLE, State.RECONCILING): lambda consumers: consumers.joined("t"),
    (State.STABLE, State.ASSIGNING): match_another,
    **{(state, State.EMPTY): all_leave for state in (State.ASSIGNING, State.RECONCILING, State.STABLE)},
    **{(state, State.DEAD): lambda consumers: consumers.unloads() for state in MAKE},
}


def test_every_state_has_a_row():
    assert TABLE.keys() == set(State)
    assert MEMBERS.keys() == set(MemberState)


@pytest.mark.parametrize(("state", "other"), EXITS, ids=lambda state: state.value)
def test_every_exit_can_be_taken(state, other):
    consumers = Consumers(t=4)
    MAKE[state](consumers)
    assert consumers.modern.state is state
    consumers.announced.clear()
    WAYS[state, other](consumers)
    assert consumers.heard(StateChanged)[0] == StateChanged(before=state.value, after=other.value)
