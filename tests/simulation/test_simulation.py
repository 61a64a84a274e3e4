"""Seeded schedules against the real coordinator, journal, checkpoints and load, with every invariant checked on the way.

`KAAS_SIMULATION_SEED` gives another seed, `KAAS_SIMULATION_EVENTS` another length; a failure names both.
"""

from __future__ import annotations

import os

import pytest

from kaas.coordinator.answers import JoinAnswer
from kaas.coordinator.classic.states import TABLE, State
from kaas.coordinator.events import Commit
from kaas.coordinator.group import new_group
from kaas.coordinator.offset_entry import OffsetEntry
from kaas.errors import ErrorCode
from tests.simulation.clock import Clock
from tests.simulation.coverage import Coverage
from tests.simulation.run import simulate
from tests.simulation.truth import Truth
from tests.simulation.watch import Watch
from tests.support.groups import Groups
from tests.support.offsets import offset_rows

SEED = int(os.environ.get("KAAS_SIMULATION_SEED", "1"))
EVENTS = int(os.environ.get("KAAS_SIMULATION_EVENTS", "100000"))
SHORT = 3_000


def test_no_invariant_breaks_and_every_cell_of_the_state_table_is_reached():
    coverage = simulate(EVENTS, SEED)
    assert EVENTS < 100_000 or coverage.missed() == [], f"seed {SEED}\n{coverage.table()}"


def test_the_same_seed_gives_the_same_events():
    assert simulate(SHORT, 7) == simulate(SHORT, 7) != simulate(SHORT, 8)


def test_a_failure_names_the_seed_and_the_event(monkeypatch):
    def breaks(*_):
        raise AssertionError("broken")

    monkeypatch.setattr(Truth, "formed", breaks)
    with pytest.raises(AssertionError, match="broken") as failure:
        simulate(SHORT, 7)
    assert failure.value.__notes__[0].startswith("seed 7, event ")


# What watches is watched


def answer(member_id: str, generation: int, leader: str = "a", protocol: str = "range", *, skips: bool = False):
    return JoinAnswer(
        code=ErrorCode.NONE,
        member_id=member_id,
        generation=generation,
        protocol_name=protocol,
        leader=leader,
        skip_assignment=skips,
    )


@pytest.fixture
def truth():
    made = Truth(Clock(), retention_ms=1_000)
    made.formed("g", 3)
    made.joined("g", answer("a", 3))
    return made


def commit(offset: int) -> Commit:
    rows = offset_rows({("t", 0): offset})
    return Commit(reply_to=None, group_id="g", generation=-1, member_id="", instance_id=None, rows=rows)


def test_a_generation_that_is_given_twice_is_noticed(truth):
    for generation in (3, 2):
        with pytest.raises(AssertionError, match="after 3"):
            truth.formed("g", generation)
    truth.formed("g", 4)


def test_two_leaders_of_one_generation_are_noticed_and_one_that_skips_is_none(truth):
    truth.joined("g", answer("b", 3))
    truth.joined("g", answer("b", 3, leader="b", skips=True))
    with pytest.raises(AssertionError, match="lead 3"):
        truth.joined("g", answer("b", 3, leader="b"))


def test_a_generation_that_nobody_leads_is_noticed(truth):
    truth.formed("g", 4)
    truth.joined("g", answer("b", 4))
    with pytest.raises(AssertionError, match="nobody leads"):
        truth.check_led()


def test_two_protocols_in_one_generation_are_noticed(truth):
    with pytest.raises(AssertionError):
        truth.joined("g", answer("b", 3, protocol="sticky"))


def test_a_commit_that_was_acknowledged_and_is_not_there_is_noticed(truth):
    truth.committed(commit(5), None)
    group = new_group("g")
    for there in (None, group):
        with pytest.raises(AssertionError, match="acknowledged"):
            truth.check_offsets("g", there)
    group.put("t", 0, OffsetEntry(5, -1, "", 0))
    truth.check_offsets("g", group)
    group.put("t", 1, OffsetEntry(6, -1, "", 0))
    with pytest.raises(AssertionError, match="acknowledged"):
        truth.check_offsets("g", group)


def test_generations_that_a_start_has_forgotten_are_noticed(truth):
    with pytest.raises(AssertionError, match="is not there"):
        truth.loaded({})
    group = new_group("g")
    with pytest.raises(AssertionError, match="only 0 is spent"):
        truth.loaded({"g": group})
    group.classic.spent = 3
    truth.loaded({"g": group})


def test_what_changes_without_an_announcement_is_noticed(monkeypatch):
    monkeypatch.setattr("tests.simulation.watch.EVERY", 1)
    groups = Groups()
    groups.settled(groups.member())
    watch = Watch(groups.core)
    watch.touched()
    watch.touched()
    groups.classic().protocol_name = "sticky"
    with pytest.raises(AssertionError, match="nothing was announced"):
        watch.touched()


def test_cells_that_were_never_reached_are_told():
    coverage = Coverage()
    everything = coverage.missed()
    assert "Stable to PreparingRebalance" in everything and "Empty: Commit is UNKNOWN_MEMBER_ID" in everything
    coverage.moved("Stable", "PreparingRebalance")
    coverage.replied(State.EMPTY, "Commit", 0)
    coverage.replied(State.STABLE, "Sync", None)
    missed = coverage.missed()
    assert "Stable to PreparingRebalance" not in missed and "Stable: Sync is None" not in missed
    assert "Empty: Commit is UNKNOWN_MEMBER_ID" in missed
    classic = 3 * len(TABLE) + sum(len(row.exits) for row in TABLE.values())
    assert len(everything) == classic + len(coverage.consumers.missed())
    assert "wait:1" in coverage.table()
