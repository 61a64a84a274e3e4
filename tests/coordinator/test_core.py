"""What decisions share: the state, questions about it, and what follows a record."""

from __future__ import annotations

from kaas.coordinator import timers
from kaas.coordinator.config import GroupConfig
from kaas.coordinator.core import Answering, Core
from kaas.coordinator.effects import CancelTimer, Reply
from kaas.coordinator.group import Group
from kaas.errors import ErrorCode
from tests.support.groups import GROUP, Groups


def test_a_group_that_is_made_is_there_at_once_and_newer_than_what_has_settled():
    core = Groups().core
    core.out.epoch = 3
    made = core.create("new")
    assert isinstance(made, Group) and core.groups["new"] is made and core.classic("new") is made.classic
    assert (made.epoch, made.version) == core.out.settled_order == (3, 0)
    assert core.classic("another") is None


def test_while_the_state_is_read_nothing_can_be_taken_and_a_broken_group_alone_stays_so():
    core = Groups().core
    core.broken, core.broken_transactions = {"b": "torn"}, {"t": "torn"}
    assert core.unavailable("b") == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and core.is_loading_transaction("t")
    assert core.unavailable("a") == ErrorCode.NONE and not core.is_loading_transaction("u")
    core.loading = True
    assert core.unavailable("a") == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and core.is_loading_transaction("u")


def test_a_consumer_group_has_its_own_times_before_those_of_all():
    core = Groups().core
    core.group_configs = {
        "quick": GroupConfig(consumer_session_timeout_ms=9),
        "often": GroupConfig(consumer_heartbeat_interval_ms=3),
    }
    assert [core.consumer_session_timeout_ms(name) for name in ("quick", "often", "new")] == [9, 45_000, 45_000]
    assert [core.consumer_heartbeat_interval_ms(name) for name in ("quick", "often", "new")] == [5_000, 3, 5_000]


def test_every_timer_of_a_group_can_be_forgotten():
    groups = Groups()
    member = groups.member()
    member.joins()
    groups.core.forget_timers(groups.core.groups[GROUP])
    cancelled = {effect.key for effect in groups.core.out.take() if isinstance(effect, CancelTimer)}
    assert {timers.session(GROUP, member.id), timers.rebalance(GROUP), timers.sync(GROUP)} <= cancelled


def test_a_core_needs_nobody_who_decides():
    core = Core(Groups().core.config)
    assert core.loading and not core.groups and not core.again


def test_an_answer_waits_for_the_record_and_is_a_refusal_when_that_fails():
    core = Groups().core
    answering = Answering(to="token", answer="done", refusal="no")
    answering.written(core, 0)
    answering.failed(core, 0)
    assert core.out.take() == [Reply("token", "done"), Reply("token", "no")]
