"""Members of a consumer group come, go on, leave for good or for a while, are fenced and run out of time."""

import time

import pytest

from tests.conformance.oracle.calls import ask
from tests.conformance.oracle.modern.groups import INTERVAL, SESSION, settle
from tests.conformance.oracle.wire import ms
from tests.support.waiting import until

NOWHERE = "no-such-topic"


# Joining and the steady state


def test_the_first_member_gets_everything_at_epoch_1_and_is_told_when_to_beat(cg, topic):
    t, u = topic(2), topic()
    a = cg.member(t, u)
    answer = a.join()
    assert (answer.member_id, a.epoch, a.held) == (a.id, 1, {t: [0, 1], u: [0]})
    assert answer.heartbeat_interval == ms(INTERVAL * 1000)
    assert cg.seen() == ("Stable", 1, 1)


@pytest.mark.parametrize("names", [[], [NOWHERE]], ids=str)
def test_a_member_without_a_topic_that_exists_is_told_an_empty_assignment(cg, names):
    a = cg.joined(*names)
    assert (a.epoch, a.told, a.held) == (1, True, {})
    assert cg.seen() == ("Stable", 1, 1)


def test_a_steady_heartbeat_is_answered_without_an_assignment(cg, topic):
    a = cg.joined(topic())
    a.beat()
    assert (a.epoch, a.told) == (1, False)
    a.ack()
    assert (a.epoch, a.told) == (1, False)


def test_only_a_full_request_is_told_the_assignment_again(cg, topic):
    a = cg.joined(topic(2))
    timeout, names, regex = (
        {"rebalance_timeout": 30_000},
        {"subscribed_topic_names": a.topics},
        {"subscribed_topic_regex": ""},
    )
    told = []
    for part in (timeout, names, {**timeout, **names}):
        a.beat(**part)
        told.append(a.told)
    for part in (timeout, names, {**timeout, **names}, {**timeout, **regex}):
        a.ack(**part)
        told.append(a.told)
    assert told == [False, False, False, False, False, True, True]
    assert cg.seen() == ("Stable", 1, 1)


def test_a_known_member_may_join_again_and_is_told_its_assignment(cg, topic):
    t, u = topic(2), topic()
    a = cg.joined(t)
    a.join()
    assert (a.epoch, a.told, a.held) == (1, True, {t: [0, 1]})
    a.join(subscribed_topic_names=[t, u])
    assert (a.epoch, a.held) == (2, {t: [0, 1], u: [0]})


def test_order_repetition_rack_and_false_claims_move_nothing(cg, topic):
    t, u = topic(), topic()
    a, b = cg.settled(2, t, u)
    a.beat(subscribed_topic_names=[u, t, t], rack_id="elsewhere")
    a.ack({t: [0], u: [0]})
    assert (a.epoch, a.told, b.beat().assignment, cg.seen()) == (2, False, None, ("Stable", 2, 2))
    assert cg.shown(a).rack_id == "elsewhere"


# Leaving


def test_a_member_that_leaves_is_gone_and_the_group_empty(cg, topic):
    a = cg.joined(topic())
    answer = a.leave()
    assert (answer.member_id, answer.member_epoch, answer.assignment) == (a.id, -1, None)
    assert cg.seen() == ("Empty", 2, 1)
    a.leave(error=25)
    a.beat(25, member_epoch=1)


def test_what_a_leaver_held_goes_to_the_others_at_their_next_heartbeat(cg, topic):
    t = topic(4)
    a, b = cg.settled(2, t)
    b.leave()
    assert cg.seen() == ("Assigning", 3, 2)
    a.beat()
    assert (a.epoch, a.held, cg.seen()) == (3, {t: [0, 1, 2, 3]}, ("Stable", 3, 3))


def test_a_stranger_cannot_leave_and_the_group_stays_as_it_was(cg, topic):
    a = cg.joined(topic())
    cg.member(NOWHERE).leave(error=25)
    cg.member(NOWHERE, instance="i").leave(error=25)
    cg.member(NOWHERE, instance="i").leave(-2, error=25)
    assert (a.beat().member_epoch, cg.seen()) == (1, ("Stable", 1, 1))


# Epochs


def test_a_wrong_epoch_is_fenced_and_the_member_goes_on_with_the_right_one(cg, topic):
    t = topic(3)
    a, b = cg.settled(2, t)
    settle(a, b, cg.joined(t))
    assert a.epoch == 3
    for epoch in (4, 1):  # the previous one is 2
        a.beat(110, member_epoch=epoch)
        a.ack(error=110, member_epoch=epoch)
    assert a.beat().member_epoch == 3
    a.join()
    assert (a.epoch, a.told) == (3, True)


def test_the_previous_epoch_passes_when_what_the_member_claims_is_still_its_own(cg, topic):
    t = topic(2)
    a, b = cg.settled(2, t)
    mine, theirs = a.held[t], b.held[t]
    assert a.ack({t: mine}, member_epoch=1).member_epoch == 2
    assert a.ack({}, member_epoch=1).member_epoch == 2
    a.beat(110, member_epoch=1)  # null claims nothing, which is not the same
    a.ack({t: theirs}, 110, member_epoch=1)
    a.ack({t: [0, 1]}, 110, member_epoch=1)
    b.ack(error=110, member_epoch=1)  # an epoch that this member never had


# Static members


def test_a_static_member_that_will_be_back_keeps_its_share_and_the_group_its_epoch(cg, topic):
    t = topic(4)
    a, b = cg.joined(t, instance="i"), cg.joined(t)
    settle(a, b)
    answer = a.leave(-2)
    assert (answer.member_id, answer.member_epoch, answer.assignment) == (a.id, -2, None)
    assert (b.beat().assignment, cg.seen()) == (None, ("Reconciling", 2, 2))
    assert (cg.shown(a).member_epoch, cg.shown(a).instance_id) == (-2, "i")
    back = cg.joined(t, instance="i")
    assert (back.epoch, back.held, cg.seen()) == (2, {t: [0, 1]}, ("Stable", 2, 2))
    assert b.beat().assignment is None


def test_who_was_replaced_is_fenced_by_its_instance_and_unknown_without(cg, topic):
    t = topic()
    a = cg.joined(t, instance="i")
    a.leave(-2)
    back = cg.joined(t, instance="i")
    for epoch in (1, -1, -2):
        a.beat(82, member_epoch=epoch, instance_id="i")
    a.beat(25, member_epoch=1)
    a.beat(25, member_epoch=-1)
    a.join(111)
    assert back.beat().member_epoch == 1


def test_an_instance_that_is_in_use_is_not_handed_over(cg, topic):
    t = topic()
    a = cg.joined(t, instance="i")
    cg.member(t, instance="i").join(111)
    a.beat(instance_id="i")
    assert (a.epoch, a.told, cg.seen()) == (1, False, ("Stable", 1, 1))
    assert [m.member_id for m in cg.describe().members] == [a.id]


def test_an_instance_belongs_to_one_member(cg, topic):
    t = topic(2)
    a, b = cg.joined(t, instance="i"), cg.joined(t)
    b.beat(82, instance_id="i")
    b.beat(82, instance_id="i", member_epoch=9)
    a.beat(25, instance_id="j")
    a.beat(25, instance_id="j", member_epoch=9)
    a.beat(110, instance_id="i", member_epoch=9)


# Timers


@pytest.mark.slow
def test_a_silent_member_is_removed_when_its_session_ends(cg, topic):
    t = topic(2)
    a, b = cg.settled(2, t)
    start = time.monotonic()
    until(lambda: a.beat() and len(a.held[t]) == 2, within_s=SESSION + 3, every_s=0.2)
    assert time.monotonic() - start > SESSION - 0.5
    assert (a.epoch, cg.seen()) == (3, ("Stable", 3, 3))
    b.beat(25)
    b.join()
    assert (b.epoch, b.held) == (4, {})


@pytest.mark.slow
def test_who_beats_but_does_not_let_go_is_removed_after_its_rebalance_timeout(cg, topic):
    t = topic(2)
    a = cg.joined(t, rebalance_timeout=1500)
    b = cg.joined(t)
    a.beat()
    start = time.monotonic()

    def removed():
        answer = ask(cg.c, "ConsumerGroupHeartbeat", 1, group_id=cg.name, member_id=a.id, member_epoch=1)
        b.beat()
        return answer.error_code == 25

    until(removed, within_s=SESSION - 1, every_s=0.1)
    assert time.monotonic() - start > 1.3
    b.beat()
    assert (b.epoch, b.held) == (3, {t: [0, 1]})


def test_a_group_may_have_timers_of_its_own(cg, topic):
    a = cg.joined(topic())
    cg.configure(**{"consumer.heartbeat.interval.ms": "700", "consumer.session.timeout.ms": "1000"})
    until(lambda: a.beat().heartbeat_interval == ms(700))
    until(lambda: cg.seen()[0] == "Empty", within_s=SESSION - 1)
    a.beat(25)
