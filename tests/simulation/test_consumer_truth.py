"""What watches consumer groups is watched: each of these would be a fault, and is noticed."""

from __future__ import annotations

import pytest

from kaas.coordinator.announcements import GroupGone, MemberChange
from kaas.coordinator.answers import ConsumerHeartbeatAnswer
from kaas.coordinator.events import ConsumerHeartbeat, DeleteGroup
from kaas.coordinator.group import new_group
from kaas.coordinator.modern.group import AWAY, LEFT, ModernGroup, State
from kaas.errors import ErrorCode
from tests.simulation.consumer_coverage import (
    BEAT,
    EXITS,
    JOIN,
    LEAVE,
    LIVING,
    PAUSE,
    REPLIES,
    SOMEWHERE,
    ConsumerCoverage,
    kind_of,
)
from tests.simulation.consumer_truth import ConsumerTruth

T = b"t" * 16


def beat(member_id: str, epoch: int, owned: tuple[int, ...] | None = None, timeout_ms: int = -1) -> ConsumerHeartbeat:
    return ConsumerHeartbeat(
        reply_to=None,
        group_id="g",
        member_id=member_id,
        epoch=epoch,
        rebalance_timeout_ms=timeout_ms,
        owned=None if owned is None else {T: owned},
        client_id="c",
        client_host="/h",
    )


class World:
    """Members of one group that ask and are told."""

    def __init__(self) -> None:
        self.truth = ConsumerTruth()

    def ask(self, *said, **more) -> tuple[ConsumerHeartbeat, int]:
        event = beat(*said, **more)
        return event, self.truth.said(event)

    def answer(self, asked: tuple[ConsumerHeartbeat, int], epoch: int, *partitions: int) -> None:
        event, arrival = asked
        about = {"member_id": event.member_id, "epoch": epoch, "assignment": {T: partitions} if partitions else None}
        self.truth.told(event, ConsumerHeartbeatAnswer(code=ErrorCode.NONE, **about), arrival)

    def joins(self, member_id: str, epoch: int, *partitions: int) -> None:
        self.answer(self.ask(member_id, 0), epoch, *partitions)


@pytest.fixture
def world():
    made = World()
    made.joins("a", 1, 0, 1)
    return made


def test_a_partition_that_another_reads_is_noticed(world):
    with pytest.raises(AssertionError, match="which a reads"):
        world.joins("b", 2, 1)


def test_a_partition_that_was_let_go_of_may_be_given(world):
    world.answer(world.ask("a", 1), 1, 0)
    with pytest.raises(AssertionError, match="which a reads"):
        world.joins("b", 2, 1)
    world.ask("b", LEFT)
    world.answer(world.ask("a", 1, (0,)), 2)
    world.joins("b", 2, 1)


def test_what_was_told_after_a_member_spoke_counts_unless_it_did_not_hear_that(world):
    world.ask("a", 1, ())
    with pytest.raises(AssertionError, match="which a reads"):
        world.joins("b", 2, 1)
    world.ask("b", LEFT)
    world.ask("a", 1, (), timeout_ms=9)
    world.joins("b", 2, 1)


@pytest.mark.parametrize("epoch", [LEFT, AWAY, 0])
def test_who_goes_or_comes_anew_reads_nothing(world, epoch):
    world.ask("a", epoch)
    world.joins("b", 2, 0, 1)


def test_an_answer_to_who_is_no_member_any_more_does_not_count(world):
    late = world.ask("a", 1)
    gone = MemberChange(kind="member_expired", member_id="a", instance_id=None, client_id="c", client_host="/h")
    world.truth.announced("g", gone)
    world.joins("b", 2, 0, 1)
    world.answer(late, 1, 0, 1)


def test_an_epoch_that_goes_back_is_noticed(world):
    world.joins("a", 5, 0)
    with pytest.raises(AssertionError, match="was told 5, then 4"):
        world.answer(world.ask("a", 5), 4)


def test_a_group_epoch_that_goes_back_is_noticed_in_one_life_and_in_the_next(world):
    group = new_group("g")
    group.modern = ModernGroup(group_id="g", epoch=7)
    world.truth.look("g", group)
    group.modern.epoch = 6
    with pytest.raises(AssertionError, match="epoch 6 after 7"):
        world.truth.look("g", group)
    world.truth.loaded({"g": group})
    with pytest.raises(AssertionError, match="told 1, there is 0"):
        world.truth.loaded({})


def test_a_group_that_is_gone_begins_anew(world):
    world.truth.announced("g", GroupGone(kind="group_deleted"))
    world.joins("b", 1, 0, 1)


def test_heartbeats_are_told_apart_by_what_they_are_for():
    assert [kind_of(beat("a", epoch)) for epoch in (0, 3, LEFT, AWAY)] == [JOIN, BEAT, LEAVE, PAUSE]
    assert kind_of(DeleteGroup(reply_to=None, group_id="g")) == "DeleteGroup"


def test_what_was_never_reached_is_told():
    coverage = ConsumerCoverage()
    replies, exits = len(LIVING) * sum(map(len, REPLIES.values())), sum(map(len, EXITS.values()))
    assert len(coverage.missed()) == replies + len(SOMEWHERE) + exits
    coverage.moved("Stable", "Assigning")
    coverage.replies[State.STABLE, BEAT, None] += 1
    missed = coverage.missed()
    assert "Stable to Assigning" not in missed and "Stable: beat is 0" not in missed
    assert "Stable: beat is 25" in missed and "wait:1" in coverage.table()
    coverage.moved("Empty", "Assigning")
    assert "Empty to Assigning is not in the table" in coverage.missed()
