"""ConsumerGroupHeartbeat: who comes, who goes on, what they are told and when."""

from __future__ import annotations

import random

import pytest

from kaas.coordinator.announcements import (
    MemberChange,
    MembersChanged,
    RebalanceCompleted,
    RebalanceStarted,
    SubscriptionChanged,
)
from kaas.coordinator.events import ConsumerHeartbeat
from tests.support.consumers import Consumer, Consumers
from tests.support.groups import GROUP

NOWHERE = "no-such-topic"


# Joining and the steady state


def test_the_first_member_gets_everything_at_epoch_1():
    consumers = Consumers(t=2, u=1)
    a = consumers.joined("t", "u")
    assert (a.epoch, a.held) == (1, {"t": (0, 1), "u": (0,)})
    assert a.asked.answer.interval_ms == 5_000
    assert consumers.seen == ("Stable", 1, 1)


@pytest.mark.parametrize("topics", [(), (NOWHERE,)], ids=str)
def test_a_member_without_a_topic_that_exists_is_told_an_empty_assignment(topics):
    """https://issues.apache.org/jira/browse/KAFKA-18095"""
    consumers = Consumers()
    a = consumers.joined(*topics)
    assert (a.epoch, a.told, a.held) == (1, True, {})
    assert consumers.seen == ("Stable", 1, 1)


def test_a_steady_heartbeat_is_answered_without_an_assignment():
    consumers = Consumers(t=1)
    a = consumers.joined("t")
    assert (a.beats(), a.epoch, a.told) == (0, 1, False)
    assert (a.acks(), a.epoch, a.told) == (0, 1, False)


def test_only_a_full_request_is_told_the_assignment_again():
    consumers = Consumers(t=2)
    a = consumers.joined("t")
    timeout, names, regex = {"rebalance_timeout_ms": 30_000}, {"topics": ("t",)}, {"regex": ""}
    told = []
    for part in (timeout, names, {**timeout, **names}):
        a.beats(**part)
        told.append(a.told)
    for part in (timeout, names, {**timeout, **names}, {**timeout, **regex}):
        a.acks(**part)
        told.append(a.told)
    assert told == [False, False, False, False, False, True, True]
    assert consumers.seen == ("Stable", 1, 1)


def test_a_known_member_may_join_again_and_is_told_its_assignment():
    consumers = Consumers(t=2, u=1)
    a = consumers.joined("t")
    a.joins()
    assert (a.epoch, a.told, a.held) == (1, True, {"t": (0, 1)})
    a.joins(topics=("t", "u"))
    assert (a.epoch, a.held) == (2, {"t": (0, 1), "u": (0,)})


def test_order_repetition_rack_and_false_claims_move_nothing():
    consumers = Consumers(t=1, u=1)
    a, b = consumers.settled(2, "t", "u")
    a.beats(topics=("u", "t", "t"), rack_id="elsewhere")
    a.acks({"t": (0,), "u": (0,)})
    assert (a.epoch, a.told, consumers.seen) == (2, False, ("Stable", 2, 2))
    assert (b.beats(), b.told, consumers.shown(a).rack_id) == (0, False, "elsewhere")


def test_a_group_may_tell_an_interval_of_its_own():
    consumers = Consumers(t=1, config={"consumer_heartbeat_interval_ms": 700})
    a = consumers.joined("t")
    a.beats()
    assert a.asked.answer.interval_ms == 700


def test_a_refusal_has_a_message_and_nothing_else():
    consumers = Consumers()
    a = consumers.joined(NOWHERE)
    assert a.beats(epoch=2) == 110
    answer = a.asked.answer
    assert answer.message
    assert (answer.member_id, answer.epoch, answer.interval_ms, answer.assignment) == (None, 0, 0, None)


# Members that share


def test_a_partition_moves_when_its_holder_has_let_go():
    consumers = Consumers(t=2)
    a, b = consumers.joined("t"), consumers.joined("t")
    assert (b.epoch, b.told, b.held, consumers.seen) == (2, True, {}, ("Reconciling", 2, 2))
    a.beats()
    assert (a.epoch, a.held) == (1, {"t": (0,)})
    b.beats()
    assert (b.epoch, b.told) == (2, False)
    a.acks()
    assert (a.epoch, a.told) == (2, False)
    b.beats()
    assert (b.epoch, b.held, consumers.seen) == (2, {"t": (1,)}, ("Stable", 2, 2))


def test_a_third_member_gets_its_share_piece_by_piece():
    consumers = Consumers(t=6)
    a, b = consumers.settled(2, "t")
    c = consumers.joined("t")
    a.beats()
    b.beats()
    assert (a.epoch, b.epoch, c.epoch, c.held) == (2, 2, 3, {})
    b.acks()
    c.beats()
    assert (b.epoch, c.held) == (3, {"t": (5,)})
    a.acks()
    c.beats()
    assert (a.epoch, c.held, consumers.seen) == (3, {"t": (2, 5)}, ("Stable", 3, 3))


def test_members_beyond_the_partitions_hold_nothing_in_a_stable_group():
    consumers = Consumers(t=2)
    members = consumers.settled(4, "t")
    assert sorted(p for m in members for p in m.held.get("t", ())) == [0, 1]
    assert consumers.seen == ("Stable", 4, 4)


def test_a_balanced_group_moves_nothing_when_its_epoch_grows():
    """https://issues.apache.org/jira/browse/KAFKA-18688"""
    consumers = Consumers(t=5)
    members = consumers.settled(3, "t")
    before = [m.held for m in members]
    members[0].beats(topics=("t", NOWHERE))
    for member in members:
        member.beats()
    assert ([m.held for m in members], consumers.seen) == (before, ("Stable", 4, 4))


@pytest.mark.parametrize("seed", range(20))
def test_no_partition_is_handed_out_while_another_member_may_use_it(seed):
    """All that a member was told since it last said what it has may be in use."""
    consumers, dice = Consumers(t=5), random.Random(seed)
    uses: dict[Consumer, set[int]] = {}
    for _ in range(80):
        move = dice.choice(["join", "leave", "beat", "beat", "ack", "ack", "ack"])
        if (move == "join" and len(uses) < 4) or not uses:
            one = consumers.joined("t")
            uses[one] = set()
        else:
            one = dice.choice(list(uses))
            if move == "leave":
                one.leaves()
                del uses[one]
                continue
            if move == "ack":
                uses[one] = set(one.held.get("t", ()))
                one.acks()
            else:
                one.beats()
        uses[one] |= set(one.held.get("t", ()))
        assert not any(uses[one] & theirs for other, theirs in uses.items() if other is not one), uses
    consumers.reconcile(*uses)
    assert sorted(p for member in uses for p in member.held.get("t", ())) == [0, 1, 2, 3, 4]


# What members subscribe to


def test_a_topic_that_is_no_longer_named_leaves_the_answer_at_once():
    consumers = Consumers(t=2, u=2)
    a = consumers.joined("t", "u")
    a.beats(topics=("t",))
    assert (a.epoch, a.held) == (1, {"t": (0, 1)})
    a.acks()
    assert (a.epoch, a.told, consumers.seen) == (2, False, ("Stable", 2, 2))
    told = consumers.heard(SubscriptionChanged)[-1]
    assert (told.member_id, told.topics) == (a.id, ("t",))


def test_a_topic_that_is_added_is_assigned_in_the_same_answer():
    consumers = Consumers(t=2, u=1)
    a = consumers.joined("t")
    a.beats(topics=("t", "u"))
    assert (a.epoch, a.held) == (2, {"t": (0, 1), "u": (0,)})
    a.beats(topics=())
    a.acks({})
    assert (a.epoch, a.held, consumers.seen) == (3, {}, ("Stable", 3, 3))
    cause = consumers.heard(RebalanceStarted)[-1].cause
    assert (cause.kind, cause.detail["before"], cause.detail["after"]) == ("subscription_changed", ["t", "u"], [])


def test_a_pattern_matches_nothing_until_it_is_matched():
    """https://issues.apache.org/jira/browse/KAFKA-18096"""
    consumers = Consumers(t1=2, t2=1)
    a = consumers.consumer(regex="t[0-9]")
    a.joins(topics=None)
    assert (a.epoch, a.told, a.held) == (1, True, {})
    consumers.matches("t[0-9]", "t1", "t2")
    assert consumers.seen == ("Assigning", 2, 1)
    a.beats()
    assert (a.epoch, a.held, consumers.seen) == (2, {"t1": (0, 1), "t2": (0,)}, ("Stable", 2, 2))


def test_another_pattern_leaves_the_topics_of_the_old_one_at_once_and_its_epoch_for_later():
    consumers = Consumers(t=1, u=1)
    a = consumers.joined(regex="t")
    consumers.matches("t", "t")
    a.beats()
    a.beats(regex="u")
    assert (a.epoch, a.held, consumers.seen[1:]) == (2, {}, (2, 2))
    a.acks()
    consumers.matches("u", "u")
    a.beats()
    assert (a.epoch, a.held, consumers.seen) == (3, {"u": (0,)}, ("Stable", 3, 3))


def test_a_pattern_that_another_member_has_counts_at_once():
    consumers = Consumers(t=2)
    a = consumers.joined(regex="t")
    consumers.matches("t", "t")
    a.beats()
    b = consumers.joined(regex="t")
    assert consumers.modern.target[b.id]


def test_names_and_pattern_add_up_and_an_empty_pattern_clears():
    consumers = Consumers(t=1, u=1)
    a = consumers.joined("t", regex="u")
    consumers.matches("u", "u")
    a.beats()
    assert a.held == {"t": (0,), "u": (0,)}
    a.beats(regex="")
    assert (a.told, a.held) == (True, {"t": (0,)})
    a.acks()
    assert (consumers.shown(a).regex, consumers.seen) == ("", ("Stable", 3, 3))


# What people are told


def test_a_rebalance_begins_when_the_epoch_grows_and_ends_when_all_have_reconciled():
    consumers = Consumers(t=2)
    a = consumers.joined("t")
    b = consumers.joined("t")
    consumers.passes(70)
    a.beats()
    a.acks()
    consumers.passes(30)
    b.beats()
    assert [one.kind for one in consumers.heard(MemberChange)] == ["member_joined", "member_joined"]
    assert [one.cause.member_id for one in consumers.heard(RebalanceStarted)] == [a.id, b.id]
    done = consumers.heard(RebalanceCompleted)[-1]
    assert (done.outcome, done.generation_before, done.generation_after) == ("stable", 1, 2)
    assert (done.ended_at - done.started_at, done.phases[-1]) == (100, ("reconciling", 100))
    assert (len(done.before), len(done.after), done.members_before, done.members_after) == (1, 2, 1, 2)


# Cost


def test_a_steady_heartbeat_looks_at_its_own_member_only():
    consumers = Consumers(t=8)
    members = consumers.settled(8, "t")
    group = consumers.core.groups[GROUP]
    assert group.modern is not None
    group.modern.target = Untouched(group.modern.target)
    group.modern.members = Untouched(group.modern.members)
    event_id = members[3].id
    consumers.core.handle(steady(members[3]), consumers.now_ms)
    assert group.modern.members.asked == {event_id}
    assert not group.modern.target.asked


class Untouched(dict):
    """Notes what is looked up, and refuses to be walked over."""

    def __init__(self, values):
        super().__init__(values)
        self.asked = set()

    def get(self, key, default=None):
        self.asked.add(key)
        return super().get(key, default)

    def __getitem__(self, key):
        self.asked.add(key)
        return super().__getitem__(key)

    def __iter__(self):
        raise AssertionError("walked over")

    values = items = keys = __iter__


def steady(member: Consumer) -> ConsumerHeartbeat:
    return ConsumerHeartbeat(
        reply_to=None,
        group_id=GROUP,
        member_id=member.id,
        epoch=member.epoch,
        client_id="client",
        client_host="/10.0.0.1",
    )


def test_a_newcomer_who_subscribes_to_nothing_that_is_known_makes_no_epoch():
    """It takes nothing from anybody. Apache tells it the epoch that there is."""
    consumers = Consumers(t=2)
    a = consumers.joined("t")
    idle, waits = consumers.joined(), consumers.joined(regex="u.*")
    assert [(m.epoch, m.told, m.held) for m in (idle, waits)] == [(1, True, {})] * 2
    assert consumers.seen == ("Stable", 1, 1) and consumers.modern.target[idle.id] == {}
    idle.beats(topics=("t",))
    assert consumers.seen == ("Reconciling", 2, 2)
    consumers.reconcile(a, idle, waits)


def test_everything_that_is_shown_of_a_member_is_announced():
    consumers = Consumers(t=1)
    a = consumers.joined("t")
    for said in ({"assignor": "range"}, {"rack_id": "r"}, {"rebalance_timeout_ms": 9_000}, {"regex": "u"}):
        consumers.announced.clear()
        a.beats(**said)
        assert [what.member_ids for what in consumers.heard(MembersChanged)] == [(a.id,)], said
    consumers.announced.clear()
    a.beats(rebalance_timeout_ms=9_000)
    assert consumers.heard(MembersChanged) == []
