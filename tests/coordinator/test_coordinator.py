"""The one door for events: late timers, lost writes, loading, moves to another broker, topics that grow."""

from __future__ import annotations

import pytest

from kaas.coordinator import timers
from kaas.coordinator.announcements import GroupCreated, GroupGone, PartitionsChanged, RebalanceStarted
from kaas.coordinator.classic.states import State
from kaas.coordinator.config import CoordinatorConfig
from kaas.coordinator.coordinator import Coordinator
from kaas.coordinator.events import ClockMoved, Heartbeat, Loaded, PartitionsAdded, TimerExpired
from kaas.coordinator.records import OffsetsCommitted
from kaas.errors import ErrorCode
from tests.support.groups import GROUP, OTHER_TOPIC, Groups

# Timers


@pytest.mark.parametrize(
    "key",
    [
        timers.session("gone", "who"),
        timers.session(GROUP, "who"),
        timers.new_member(GROUP, "who"),
        timers.pending_member(GROUP, "who"),
        timers.initial_delay(GROUP),
        timers.rebalance(GROUP),
        timers.sync(GROUP),
    ],
)
def test_an_expiry_that_comes_too_late_finds_nothing_to_do(key):
    groups = Groups()
    groups.settled(*groups.members(2))
    before = groups.described(), dict(groups.timers)
    groups.submit(TimerExpired(key=key))
    assert (groups.described(), groups.timers) == before


def test_the_expiry_of_a_session_that_came_with_a_parked_join_is_no_expiry():
    groups = Groups()
    a, _ = groups.settled(*groups.members(2))
    a.joins()
    groups.submit(TimerExpired(key=timers.session(GROUP, a.id)))
    assert a.last_join.waits


def test_a_newcomers_five_minutes_that_end_when_it_is_one_no_more_do_nothing():
    groups = Groups()
    (a,) = groups.settled(groups.member())
    groups.submit(TimerExpired(key=timers.new_member(GROUP, a.id)))
    assert a.beats() == 0


def test_the_timer_of_a_rebalance_does_not_end_an_initial_phase():
    groups = Groups(initial_rebalance_delay_ms=3_000)
    a = groups.member()
    a.joins()
    groups.submit(TimerExpired(key=timers.rebalance(GROUP)))
    assert a.last_join.waits


# Loading


def test_members_are_there_after_a_load_with_a_full_session_each():
    """https://github.com/redpanda-data/redpanda/issues/5079"""
    groups = Groups()
    a, _ = groups.settled(*groups.members(2, session_timeout_ms=6_000))
    groups.restarts()
    assert {key[0] for key in groups.timers if GROUP in key} == {"session"}
    assert groups.timers[timers.session(GROUP, a.id)] == groups.now_ms + 6_000


def test_a_group_with_more_members_than_are_allowed_now_rebalances_after_a_load():
    """None were evicted.

    https://issues.apache.org/jira/browse/KAFKA-9885
    """
    groups = Groups()
    a, b, c = groups.settled(*groups.members(3, rebalance_timeout_ms=10_000))
    groups.config = type(groups.config)(initial_rebalance_delay_ms=0, max_size=2)
    groups.restarts()
    assert groups.state is State.PREPARING_REBALANCE
    a.joins()
    b.joins()
    assert c.joins().code == 81
    groups.passes(10_000)
    assert groups.ids == [a.id, b.id]


def test_a_group_whose_state_cannot_be_read_takes_no_request_and_the_others_do():
    """K8: a corrupt file counted as empty."""
    groups = Groups()
    groups.core.broken = {GROUP: "its file is corrupt"}
    a = groups.member()
    assert a.beats() == 0
    codes = [groups.joins().code, a.syncs().code, groups.leaves(("", "i0")).code, groups.commits({("t", 0): 1}).code]
    assert codes == [14, 14, 14, 14]
    assert (groups.deletes().code, groups.deletes_offsets(("t", 0)).code) == (14, 14)
    assert groups.described().code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert groups.joins(group_id="other").code == 79


# A group that is being deleted


def test_a_group_that_is_being_deleted_can_be_seen_and_takes_no_request():
    """A Dead group told members 25, which wiped their ids.

    https://issues.apache.org/jira/browse/KAFKA-8386
    """
    groups = Groups()
    groups.commits({("t", 0): 1})
    groups.journal.held = True
    asked = groups.deletes()
    a = groups.member(version=3)
    assert a.joins().code == 15
    assert (a.beats(), a.syncs().code, groups.leaves(("", "i0")).code) == (15, 15, 15)
    assert (groups.commits({("t", 0): 2}).code, groups.deletes_offsets(("t", 0)).code) == (15, 15)
    assert groups.described().state == "Empty" and groups.committed() == {("t", 0): 1}
    groups.settle()
    assert asked.code == 0
    assert groups.described().state == "Dead"
    groups.journal.held = False
    a.joins()
    assert a.generation == 1


def test_pending_ids_of_a_deleted_group_leave_no_timer():
    groups = Groups()
    told = groups.joins().answer.member_id
    groups.deletes()
    assert not [key for key in groups.timers if GROUP in key]
    assert groups.joins(member_id=told).code == 25


# Topics that grow


def test_a_topic_that_grows_makes_its_groups_rebalance_at_once():
    groups = Groups()
    a, b = groups.settled(*groups.members(2))
    groups.submit(PartitionsAdded(topic="u"))
    assert a.beats() == 0
    groups.submit(PartitionsAdded(topic="t"))
    assert (a.beats(), b.beats()) == (27, 27)
    assert groups.heard(PartitionsChanged)[-1].topic == "t"
    assert groups.heard(RebalanceStarted)[-1].cause.kind == "partitions_changed"


def test_a_topic_that_grows_disturbs_no_group_without_members_and_none_of_another_type():
    groups = Groups()
    groups.commits({("t", 0): 1})
    worker = groups.member(group_id="workers", protocol_type="connect", protocols=(("default", b"\0"),))
    worker.joins()
    worker.syncs({worker: b""})
    groups.submit(PartitionsAdded(topic="t"))
    assert groups.state is State.EMPTY
    assert worker.beats() == 0


def test_a_member_whose_subscription_cannot_be_read_subscribes_to_the_topic_that_grows():
    groups = Groups()
    a = groups.member(protocols=(("range", b"\0"),))
    groups.gathered(a)
    a.syncs({a: b""})
    groups.submit(PartitionsAdded(topic="anything"))
    assert a.beats() == 27


def test_a_topic_that_grows_while_assignments_are_on_their_way_starts_over():
    groups = Groups()
    a, b = groups.gathered(*groups.members(2))
    asked = b.syncs()
    groups.submit(PartitionsAdded(topic="t"))
    assert asked.code == 27 and a.beats() == 27


# A move to another broker


def test_who_waits_is_sent_to_the_other_broker_and_nothing_of_the_group_stays():
    """sarama#1231: 16 while opening a session."""
    groups = Groups()
    a, b = groups.settled(*groups.members(2))
    told = groups.joins().answer.member_id
    a.joins()
    groups.unloads(assignment_version=7)
    assert (a.last_join.answer.code, a.last_join.answer.member_id) == (ErrorCode.NOT_COORDINATOR, a.id)
    assert (groups.core.groups, [key for key in groups.timers if GROUP in key]) == ({}, [])
    gone = groups.heard(GroupGone)[-1]
    assert (gone.kind, gone.assignment_version) == ("coordinator_lost", 7)
    assert b.beats() == 25
    assert groups.joins(member_id=told).code == 25


def test_a_parked_sync_is_sent_to_the_other_broker():
    groups = Groups()
    _, b = groups.gathered(*groups.members(2))
    b.syncs()
    groups.unloads()
    assert b.last_sync.answer.code is ErrorCode.NOT_COORDINATOR


def test_a_record_in_flight_does_not_bring_a_group_back_that_has_moved_and_is_not_told_as_done():
    groups = Groups()
    groups.journal.held = True
    asked = groups.commits({("t", 0): 1})
    leaving = groups.member(version=3, group_id="other")
    leaving.joins()
    groups.unloads()
    assert asked.code == 15
    groups.writes(len(groups.journal.waiting))
    assert GROUP not in groups.core.groups
    assert leaving.generation == 1


@pytest.mark.parametrize("unwritten", ["assignment", "replacement", "number", "leave", "delete"])
def test_every_request_in_flight_of_a_group_that_moves_is_answered(unwritten):
    """https://github.com/IBM/sarama/issues/1231"""
    groups = Groups()
    a, b = groups.settled(groups.member("i0"), groups.member())
    asked = []
    if unwritten == "assignment":
        b.joins(protocols=OTHER_TOPIC)
        a.joins()
    groups.journal.held = True
    if unwritten == "assignment":
        asked = [a.syncs({a: b""})]
    elif unwritten == "replacement":
        asked = [a.restarts().joins()]
    elif unwritten == "number":
        asked = [b.joins(protocols=OTHER_TOPIC), a.joins()]
    elif unwritten == "leave":
        asked = [groups.leaves((a.id, None), (b.id, None))]
    else:
        groups.leaves((a.id, None), (b.id, None))
        groups.settle()
        asked = [groups.deletes()]
    assert all(each.waits for each in asked)
    groups.unloads()
    assert {each.code for each in asked} <= {15, 16}
    groups.writes(len(groups.journal.waiting))
    assert groups.core.groups == {}


def test_a_group_that_is_not_here_can_be_unloaded():
    groups = Groups()
    groups.unloads()
    assert groups.heard(GroupGone) == []


# Writes


def test_a_write_that_fails_is_not_applied_and_the_next_one_is():
    groups = Groups()
    groups.journal.held = True
    first, second = groups.commits({("t", 0): 1}), groups.commits({("t", 0): 2})
    groups.fails(1)
    assert first.code == 15
    groups.writes()
    assert second.code == 0 and groups.committed() == {("t", 0): 2}


def test_a_group_remembers_the_newest_record_that_was_applied():
    groups = Groups()
    groups.core.out.epoch = 7
    groups.commits({("t", 0): 1})
    groups.core.out.epoch = 8
    group = groups.core.groups[GROUP]
    assert (group.epoch, group.version) == (7, 1)


def test_the_epoch_of_a_record_is_that_of_its_decision():
    groups = Groups()
    groups.core.out.epoch = 7
    groups.journal.held = True
    groups.commits({("t", 0): 1})
    groups.core.out.epoch = 8
    (effect,) = groups.journal.waiting
    groups.settle()
    assert effect.epoch == groups.core.groups[GROUP].epoch == 7


def test_a_group_is_told_to_be_new_once_however_it_came():
    groups = Groups()
    groups.journal.held = True
    groups.commits({("t", 0): 1})
    groups.commits({("t", 0): 2})
    groups.settle()
    assert len(groups.heard(GroupCreated)) == 1
    groups.joins(group_id="other")
    groups.joins(group_id="other")
    assert len(groups.heard(GroupCreated)) == 2


def test_wall_time_follows_the_clock():
    groups = Groups()
    groups.submit(ClockMoved(wall_offset_ms=5))
    assert groups.core.wall_ms(10) == 15
    groups.wall_offset_ms = 5
    groups.commits({("t", 0): 1})
    record = groups.journal.written[-1][1]
    assert isinstance(record, OffsetsCommitted) and record.offsets[0][2].committed_at == groups.now_ms + 5


def test_effects_of_events_that_come_together_stand_in_the_order_of_the_events():
    core = Coordinator(CoordinatorConfig())
    core.handle(Loaded(), 0)
    for number in range(3):
        core.decide(Heartbeat(reply_to=number, group_id=GROUP, generation=1, member_id="m", instance_id=None), 5)
    effects = core.out.take()
    assert [(effect.to, effect.answer) for effect in effects] == [(n, ErrorCode.UNKNOWN_MEMBER_ID) for n in range(3)]
