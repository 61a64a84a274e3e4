"""The account of a rebalance in a consumer group: what the feed is told, and when."""

from __future__ import annotations

import msgspec

from kaas.coordinator.announcements import (
    Announcement,
    Cause,
    MemberProgressed,
    MembersChanged,
    RebalanceCompleted,
    RebalanceStarted,
    StateChanged,
)
from kaas.coordinator.config import CoordinatorConfig
from kaas.coordinator.core import Core
from kaas.coordinator.effects import Announce
from kaas.coordinator.modern import rebalance
from kaas.coordinator.modern.group import Member, MemberState, ModernGroup, State

TOPIC = b"t" * 16
JOINED = Cause(kind="member_joined", member_id="a")
LEFT = Cause(kind="member_left", member_id="b")


def member(member_id: str, *partitions: int, **more: object) -> Member:
    held = {TOPIC: partitions} if partitions else {}
    one = Member(member_id=member_id, client_id="c", client_host="/h", rebalance_timeout_ms=9, assigned=held)
    return msgspec.structs.replace(one, **more)


def told(core: Core) -> list[Announcement]:
    return [effect.what for effect in core.out.take() if isinstance(effect, Announce)]


def begun(*members: Member) -> tuple[Core, ModernGroup]:
    """A group that settled with these members at epoch 3, and whose epoch has just grown."""
    core = Core(CoordinatorConfig())
    group = ModernGroup(group_id="g", epoch=3, members={one.member_id: one for one in members})
    rebalance.follow(core, group, State.RECONCILING, State.STABLE, 50)
    group.epoch = 4
    rebalance.begin(core, group, JOINED, 100)
    return core, group


def test_it_begins_with_what_was_held_when_the_group_was_last_stable() -> None:
    core, group = begun(member("a", 0, 1))
    assert told(core)[-1] == RebalanceStarted(cause=JOINED)
    assert group.rebalance is not None
    assert (group.rebalance.before, group.rebalance.epoch_before) == ({"a": {TOPIC: (0, 1)}}, 3)


def test_what_makes_the_epoch_grow_meanwhile_is_a_further_cause() -> None:
    core, group = begun(member("a", 0))
    told(core)
    rebalance.begin(core, group, LEFT, 200)
    assert told(core) == [MembersChanged(member_ids=None)]
    assert group.rebalance is not None and group.rebalance.also == [LEFT]


def test_it_ends_when_the_group_is_stable_with_the_time_of_each_phase() -> None:
    core, group = begun(member("a", 0, 1))
    rebalance.follow(core, group, State.STABLE, State.ASSIGNING, 100)
    rebalance.follow(core, group, State.ASSIGNING, State.RECONCILING, 130)
    told(core)
    group.members = {"a": member("a", 0), "b": member("b", 1)}
    rebalance.follow(core, group, State.RECONCILING, State.STABLE, 180)
    change, done = told(core)
    assert change == StateChanged(before="Reconciling", after="Stable")
    assert isinstance(done, RebalanceCompleted)
    assert done.phases == (("assigning", 30), ("reconciling", 50)) and done.outcome == "stable"
    assert (done.generation_before, done.generation_after, done.members_before, done.members_after) == (3, 4, 1, 2)
    assert done.after == {"a": {TOPIC: (0,)}, "b": {TOPIC: (1,)}} == group.settled
    assert group.rebalance is None


def test_a_rebalance_within_one_decision_is_told_without_a_change_of_state() -> None:
    """A member alone is on the group's epoch with its first answer."""
    core, group = begun(member("a", 0))
    told(core)
    rebalance.follow(core, group, State.STABLE, State.STABLE, 100)
    (done,) = told(core)
    assert isinstance(done, RebalanceCompleted) and done.ended_at - done.started_at == 0


def test_a_phase_that_took_no_time_is_not_told() -> None:
    core, group = begun(member("a", 0))
    rebalance.follow(core, group, State.STABLE, State.RECONCILING, 100)
    told(core)
    rebalance.follow(core, group, State.RECONCILING, State.STABLE, 180)
    done = told(core)[-1]
    assert isinstance(done, RebalanceCompleted) and done.phases == (("reconciling", 80),)


def test_a_group_that_nobody_is_left_in_ends_empty() -> None:
    core, group = begun(member("a", 0))
    group.members = {}
    rebalance.follow(core, group, State.STABLE, State.EMPTY, 100)
    done = told(core)[-1]
    assert isinstance(done, RebalanceCompleted) and done.outcome == "empty" and group.settled == {}


def test_a_steady_heartbeat_tells_nothing() -> None:
    core, group = begun(member("a", 0))
    rebalance.follow(core, group, State.STABLE, State.STABLE, 100)
    told(core)
    rebalance.follow(core, group, State.STABLE, State.STABLE, 5_000)
    one = group.members["a"]
    rebalance.progressed(core, group, one, one, 5_000)
    assert told(core) == []


def test_a_group_read_back_in_the_middle_settles_without_an_account() -> None:
    core = Core(CoordinatorConfig())
    group = ModernGroup(group_id="g", epoch=7, members={"a": member("a", 0)})
    rebalance.follow(core, group, State.RECONCILING, State.STABLE, 10)
    assert told(core) == [StateChanged(before="Reconciling", after="Stable")] and group.settled_epoch == 7


def test_a_member_that_is_to_give_something_up_is_remembered_with_the_moment() -> None:
    core, group = begun(member("a", 0, 1))
    told(core)
    before = group.members["a"]
    after = member("a", 0, state=MemberState.UNREVOKED, revoking={TOPIC: (1,)})
    rebalance.progressed(core, group, before, after, 120)
    rebalance.progressed(core, group, after, after, 170)
    assert group.revoking_since_ms == {"a": 120}
    assert told(core) == [MemberProgressed(member_id="a", let_go=False, is_done=False)]
    waits = member("a", 0, epoch=4, state=MemberState.UNRELEASED)
    rebalance.progressed(core, group, after, waits, 200)
    done = member("a", 0, 2, epoch=4)
    rebalance.progressed(core, group, waits, done, 250)
    assert told(core) == [
        MemberProgressed(member_id="a", let_go=True, is_done=False),
        MemberProgressed(member_id="a", let_go=True, is_done=True),
    ]
    assert group.revoking_since_ms == {}


def test_it_is_superseded_when_the_group_is_no_consumer_group_any_more() -> None:
    core, group = begun(member("a", 0))
    told(core)
    rebalance.abandon(core, group, 300)
    (done,) = told(core)
    assert isinstance(done, RebalanceCompleted)
    assert (done.outcome, done.after, done.ended_at - done.started_at, group.rebalance) == ("superseded", {}, 200, None)
    rebalance.abandon(core, group, 400)
    assert told(core) == []
