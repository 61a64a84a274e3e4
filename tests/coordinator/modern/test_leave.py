"""Members of a consumer group go: for good, for a while, silent, too slow, or removed."""

from __future__ import annotations

import pytest

from kaas.coordinator.announcements import MemberChange, RebalanceStarted
from kaas.coordinator.modern.group import AWAY
from tests.support.consumers import Consumers


def causes(consumers: Consumers) -> list[tuple[str, str | None]]:
    return [(one.cause.kind, one.cause.member_id) for one in consumers.heard(RebalanceStarted)]


def kinds(consumers: Consumers) -> list[tuple[str, str]]:
    return [(one.kind, one.member_id) for one in consumers.heard(MemberChange)]


# By itself


def test_a_member_that_leaves_is_gone_and_the_group_empty():
    consumers = Consumers(t=1)
    a = consumers.joined("t")
    assert a.leaves() == 0
    answer = a.asked.answer
    assert (answer.member_id, answer.epoch, answer.interval_ms, answer.assignment) == (a.id, -1, 0, None)
    assert consumers.seen == ("Empty", 2, 1)
    assert (a.leaves(), a.beats(epoch=1)) == (25, 25)
    assert kinds(consumers)[-1] == ("member_left", a.id)


def test_what_a_leaver_held_goes_to_the_others_at_their_next_heartbeat():
    consumers = Consumers(t=4)
    a, b = consumers.settled(2, "t")
    b.leaves()
    assert consumers.seen == ("Assigning", 3, 2)
    assert causes(consumers)[-1] == ("member_left", b.id)
    a.beats()
    assert (a.epoch, a.held, consumers.seen) == (3, {"t": (0, 1, 2, 3)}, ("Stable", 3, 3))


def test_a_stranger_cannot_leave():
    consumers = Consumers()
    a = consumers.joined("t")
    stranger = consumers.consumer("t", instance_id="i")
    assert (stranger.leaves(), stranger.leaves(-2)) == (25, 25)
    assert (a.beats(), consumers.seen) == (0, ("Stable", 1, 1))


def test_an_epoch_that_leaves_on_an_unknown_member_is_25():
    """https://issues.apache.org/jira/browse/KAFKA-19335"""
    consumers = Consumers()
    consumers.joined("t")
    assert consumers.consumer("t").beats(epoch=-1) == 25
    assert consumers.consumer("t").beats(epoch=-3) == 42


# For a while


def test_a_static_member_that_will_be_back_keeps_its_share_and_the_group_its_epoch():
    consumers = Consumers(t=4)
    a, b = consumers.joined("t", instance_id="i"), consumers.joined("t")
    consumers.reconcile(a, b)
    assert a.leaves(-2) == 0
    assert (a.epoch, consumers.seen, consumers.shown(a).epoch) == (-2, ("Reconciling", 2, 2), AWAY)
    assert (b.beats(), b.told) == (0, False)
    back = consumers.joined("t", instance_id="i")
    assert (back.epoch, back.held, consumers.seen) == (2, {"t": (0, 1)}, ("Stable", 2, 2))
    assert (b.beats(), b.told) == (0, False)
    assert kinds(consumers)[-1] == ("member_replaced", a.id)
    assert causes(consumers) == [("member_joined", a.id), ("member_joined", b.id)]


def test_what_who_is_away_was_to_give_up_is_free():
    consumers = Consumers(t=2)
    a, b = consumers.joined("t", instance_id="i"), consumers.joined("t")
    a.beats()
    assert consumers.shown(a).revoking
    a.leaves(-2)
    b.beats()
    assert (b.held, consumers.shown(a).revoking) == ({"t": (1,)}, {})


def test_who_was_replaced_is_fenced_by_its_instance_and_unknown_without():
    consumers = Consumers(t=1)
    a = consumers.joined("t", instance_id="i")
    a.leaves(-2)
    back = consumers.joined("t", instance_id="i")
    assert [a.beats(epoch=epoch, instance_id="i") for epoch in (1, -1, -2)] == [82, 82, 82]
    assert [a.beats(epoch=epoch) for epoch in (1, -1)] == [25, 25]
    assert (a.joins(), back.beats()) == (111, 0)


def test_who_does_not_come_back_within_its_session_is_gone():
    consumers = Consumers(t=1, config={"consumer_session_timeout_ms": 4_000})
    a = consumers.joined("t", instance_id="i")
    a.leaves(-2)
    consumers.passes(3_999)
    assert consumers.seen[0] == "Reconciling"
    consumers.passes(1)
    assert consumers.seen == ("Empty", 2, 1)


# LeaveGroup


def test_an_operator_removes_members_by_id_and_by_instance_with_one_epoch():
    """https://issues.apache.org/jira/browse/KAFKA-18188"""
    consumers = Consumers(t=3)
    a, b, c = consumers.joined("t"), consumers.joined("t", instance_id="i"), consumers.joined("t")
    consumers.reconcile(a, b, c)
    rows = consumers.leaves((a.id, None), ("who", None), ("", "i"), ("", "j"), reason="tidying").answer.members
    assert [row.code for row in rows] == [0, 25, 0, 25]
    assert (consumers.seen, list(consumers.modern.members)) == (("Assigning", 4, 3), [c.id])
    assert causes(consumers)[-1] == ("member_removed", a.id)
    assert consumers.modern.rebalance is not None
    assert [one.kind for one in consumers.modern.rebalance.also] == ["member_removed"]
    assert (a.beats(), c.beats(), c.epoch, c.held) == (25, 0, 4, {"t": (0, 1, 2)})


def test_rows_are_judged_against_the_group_as_it_was():
    consumers = Consumers(t=1)
    a = consumers.joined("t", instance_id="i")
    rows = consumers.leaves((a.id, None), ("", "i"), (a.id, "i"), (a.id, "j"), ("who", "i")).answer.members
    assert [row.code for row in rows] == [0, 0, 0, 25, 82]
    assert consumers.seen == ("Empty", 2, 1)


def test_rows_of_strangers_change_nothing():
    consumers = Consumers(t=1)
    consumers.joined("t")
    assert consumers.leaves(("who", None)).answer.members[0].code == 25
    assert consumers.seen == ("Stable", 1, 1)


# Time


def test_a_silent_member_goes_when_its_session_ends():
    consumers = Consumers(t=2, config={"consumer_session_timeout_ms": 4_000})
    a, b = consumers.settled(2, "t")
    consumers.passes(3_000)
    a.beats()
    consumers.passes(1_000)
    assert consumers.seen == ("Assigning", 3, 2)
    gone = consumers.heard(MemberChange)[-1]
    assert (gone.kind, gone.member_id, gone.silent_ms, gone.timeout_ms) == ("member_expired", b.id, 4_000, 4_000)
    assert causes(consumers)[-1] == ("session_expired", b.id)
    a.beats()
    assert (a.epoch, a.held, b.beats()) == (3, {"t": (0, 1)}, 25)
    b.joins()
    assert (b.epoch, b.held) == (4, {})


def test_a_refused_heartbeat_does_not_keep_a_member():
    consumers = Consumers(t=2, config={"consumer_session_timeout_ms": 4_000})
    a = consumers.joined("t")
    consumers.passes(3_000)
    assert a.beats(epoch=7) == 110
    consumers.passes(1_000)
    assert consumers.seen[0] == "Empty"


def test_who_beats_but_does_not_let_go_goes_after_its_rebalance_timeout():
    consumers = Consumers(t=2)
    a = consumers.joined("t", rebalance_timeout_ms=1_500)
    b = consumers.joined("t")
    a.beats()
    for _ in range(3):
        consumers.passes(499)
        assert a.beats() == 0
    consumers.passes(3)
    assert a.beats(epoch=1) == 25
    assert consumers.modern.rebalance is not None
    assert [one.kind for one in consumers.modern.rebalance.also] == ["rebalance_timeout"]
    b.beats()
    assert (b.epoch, b.held) == (3, {"t": (0, 1)})


def test_who_let_go_in_time_has_no_such_limit():
    consumers = Consumers(t=2)
    a = consumers.joined("t", rebalance_timeout_ms=1_500)
    consumers.joined("t")
    a.beats()
    a.acks()
    consumers.passes(2_000)
    assert a.beats() == 0


@pytest.mark.parametrize(
    "leave", [lambda a: a.leaves(), lambda a: a.beats(epoch=-2, instance_id="i")], ids=["-1", "-2"]
)
def test_a_leave_that_the_disk_refuses_is_refused_and_counts(leave):
    consumers = Consumers(t=1)
    a = consumers.joined("t", instance_id="i")
    consumers.journal.full = True
    assert leave(a) == 15
    consumers.journal.full = False
    b = consumers.consumer("t", instance_id="i")
    assert (b.joins(), b.held) == (0, {"t": (0,)})
