"""Partitions move from member to member, topics come and go, and so do subscriptions."""

import random

import pytest

from tests.conformance.oracle.modern.groups import settle
from tests.support.waiting import until

# Reconciliation


def test_a_partition_moves_when_its_holder_acknowledged(cg, topic):
    t = topic(2)
    a, b = cg.joined(t), cg.joined(t)
    assert (b.epoch, b.told, b.held, cg.seen()) == (2, True, {}, ("Reconciling", 2, 2))
    a.beat()
    assert (a.epoch, a.held) == (1, {t: [0]})
    b.beat()
    assert (b.epoch, b.told) == (2, False)
    a.ack()
    assert (a.epoch, a.told) == (2, False)
    b.beat()
    assert (b.epoch, b.held, cg.seen()) == (2, {t: [1]}, ("Stable", 2, 2))


def test_silence_about_owned_partitions_acknowledges_nothing(cg, topic):
    t = topic(2)
    a, b = cg.joined(t), cg.joined(t)
    a.beat()
    for _ in range(3):
        a.beat()
        a.ack({t: [0, 1]})
        b.beat()
    assert (a.epoch, a.held, b.held) == (1, {t: [0]}, {})
    assert cg.seen() == ("Reconciling", 2, 2)


def test_a_third_member_gets_its_share_piece_by_piece(cg, topic):
    t = topic(6)
    a, b = cg.joined(t), cg.joined(t)
    assert settle(a, b) == [{t: [0, 1, 2]}, {t: [3, 4, 5]}]
    c = cg.joined(t)
    assert (a.beat().member_epoch, b.beat().member_epoch) == (2, 2)
    assert (a.held, b.held, c.epoch, c.held) == ({t: [0, 1]}, {t: [3, 4]}, 3, {})
    b.ack()
    c.beat()
    assert (b.epoch, c.held) == (3, {t: [5]})
    a.ack()
    c.beat()
    assert (a.epoch, c.held, cg.seen()) == (3, {t: [2, 5]}, ("Stable", 3, 3))


def test_a_member_keeps_its_epoch_while_more_must_be_revoked(cg, topic):
    t = topic(6)
    a, _ = cg.joined(t), cg.joined(t)
    a.beat()
    cg.joined(t)
    assert (a.epoch, a.held) == (1, {t: [0, 1, 2]})
    a.ack()
    assert (a.epoch, a.told, a.held) == (1, True, {t: [0, 1]})
    a.ack()
    assert (a.epoch, a.told) == (3, False)


def test_nothing_new_is_handed_to_a_member_that_has_not_let_go(cg, topic):
    t, u = topic(2), topic(2)
    a = cg.joined(t)
    a.beat(subscribed_topic_names=[u])
    assert (a.epoch, a.told, a.held) == (1, True, {})
    a.beat()
    assert (a.epoch, a.told) == (1, False)
    a.ack({})
    assert (a.epoch, a.held) == (2, {u: [0, 1]})


def test_members_beyond_the_partitions_hold_nothing_in_a_stable_group(cg, topic):
    t = topic(2)
    members = cg.settled(4, t)
    assert sorted(p for m in members for p in m.held.get(t, [])) == [0, 1]
    assert cg.seen() == ("Stable", 4, 4)


@pytest.mark.parametrize("seed", range(3))
def test_no_partition_is_handed_out_while_another_member_may_use_it(cg, topic, seed):
    dice, t = random.Random(seed), topic(5)
    uses = {}  # member -> what it may be using: all that it was told since it last said what it has
    for _ in range(80):
        move = dice.choice(["join", "leave", "beat", "beat", "ack", "ack", "ack"])
        if (move == "join" and len(uses) < 4) or not uses:
            m = cg.joined(t)
            uses[m] = set()
        else:
            m = dice.choice(list(uses))
            if move == "leave":
                m.leave()
                del uses[m]
                continue
            if move == "ack":
                uses[m] = set(m.held.get(t, ()))
                m.ack()
            else:
                m.beat()
        uses[m] |= set(m.held.get(t, ()))
        assert not any(uses[m] & theirs for other, theirs in uses.items() if other is not m), uses
    shares = settle(*uses)
    assert sorted(p for held in shares for p in held[t]) == [0, 1, 2, 3, 4]


# Subscriptions


def test_a_topic_that_is_no_longer_named_leaves_the_answer_at_once(cg, topic):
    t, u = topic(2), topic(2)
    a = cg.joined(t, u)
    a.beat(subscribed_topic_names=[t])
    assert (a.epoch, a.held) == (1, {t: [0, 1]})
    a.ack()
    assert (a.epoch, a.told, cg.seen()) == (2, False, ("Stable", 2, 2))


def test_a_topic_that_is_added_is_assigned_in_the_same_answer(cg, topic):
    t, u = topic(2), topic()
    a = cg.joined(t)
    a.beat(subscribed_topic_names=[t, u])
    assert (a.epoch, a.held) == (2, {t: [0, 1], u: [0]})
    a.beat(subscribed_topic_names=[])
    a.ack({})
    assert (a.epoch, a.held, cg.seen()) == (3, {}, ("Stable", 3, 3))


def test_added_partitions_are_assigned_at_a_new_epoch(cg, topic, grow):
    t = topic(2)
    a = cg.joined(t)
    grow(t, 5)
    a.beat()
    assert (a.epoch, a.held) == (2, {t: [0, 1, 2, 3, 4]})


def test_a_deleted_topic_is_taken_back_and_the_rest_stays(cg, topic, drop):
    t, u = topic(2), topic(2)
    a = cg.joined(t, u)
    drop(u)
    a.beat()
    assert a.held == {t: [0, 1]}
    settle(a)
    assert (a.epoch, cg.seen()) == (2, ("Stable", 2, 2))


# Regular expressions


def test_a_regex_matches_whole_names_and_nothing_until_it_is_resolved(cg, topic):
    t, u = topic(2, f"{cg.name}.1"), topic(1, f"{cg.name}.2")
    topic(1, f"{cg.name}.2.more")
    topic(1, f"more.{cg.name}.2")
    a = cg.joined(subscribed_topic_names=None, subscribed_topic_regex=cg.name + r"\.[0-9]")
    assert (a.epoch, a.told, a.held) == (1, True, {})
    until(lambda: a.beat() and a.held)
    assert (a.epoch, a.held, cg.seen()) == (2, {t: [0, 1], u: [0]}, ("Stable", 2, 2))
    assert cg.shown(a).subscribed_topic_regex == cg.name + r"\.[0-9]"


def test_names_and_regex_add_up_and_an_empty_regex_clears(cg, topic):
    t, u = topic(1, f"{cg.name}.1"), topic(1, f"{cg.name}.2")
    a = cg.joined(t, subscribed_topic_regex=u)
    until(lambda: a.ack() and u in a.held)
    assert a.held == {t: [0], u: [0]}
    a.beat(subscribed_topic_regex="")
    assert (a.told, a.held) == (True, {t: [0]})
    settle(a)
    assert (cg.shown(a).subscribed_topic_regex, cg.seen()[0]) == ("", "Stable")


def test_an_invalid_regex_is_refused_and_makes_no_group(cg):
    for pattern in ("(", "[", "a{2,1}", "*a"):
        cg.member(subscribed_topic_names=None, subscribed_topic_regex=pattern).join(128)
    cg.describe(error=69)


@pytest.mark.slow
def test_a_new_topic_that_matches_is_assigned_within_half_a_minute(cg, topic):
    t = topic(1, f"{cg.name}.1")
    a = cg.joined(subscribed_topic_names=None, subscribed_topic_regex=cg.name + ".*")
    until(lambda: a.beat() and a.held)
    u = topic(2, f"{cg.name}.2")
    until(lambda: a.beat() and u in a.held, within_s=30, every_s=0.5)
    assert (a.epoch, a.held) == (3, {t: [0], u: [0, 1]})
