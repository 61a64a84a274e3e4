"""When topics make the group epoch grow, and by which assignor the target is made."""

from __future__ import annotations

import pytest

from kaas.coordinator.announcements import MembersChanged, PartitionsChanged, RebalanceStarted
from kaas.coordinator.modern.epochs import CHEAP, PER_MS, metadata_hash
from kaas.coordinator.topics import Topic, Topics
from tests.support.consumers import Consumers


def test_added_partitions_are_assigned_at_a_new_epoch():
    consumers = Consumers(t=2)
    a = consumers.joined("t")
    consumers.topic("t", 5)
    assert consumers.seen == ("Stable", 1, 1)
    a.beats()
    assert (a.epoch, a.held, consumers.seen) == (2, {"t": (0, 1, 2, 3, 4)}, ("Stable", 2, 2))
    assert consumers.heard(PartitionsChanged)[-1].topic == "t"
    cause = consumers.heard(RebalanceStarted)[-1].cause
    assert (cause.kind, cause.detail["topics"]) == ("partitions_changed", ["t"])


def test_many_changes_make_one_epoch():
    consumers = Consumers(t=1, u=1)
    a = consumers.joined("t", "u")
    consumers.topic("t", 2)
    consumers.topic("u", 2)
    a.beats()
    assert consumers.seen == ("Stable", 2, 2)


def test_a_topic_that_nobody_subscribes_to_changes_nothing():
    consumers = Consumers(t=1, u=1)
    a = consumers.joined("t")
    consumers.topic("u", 2)
    a.beats()
    assert consumers.seen == ("Stable", 1, 1)


def test_a_topic_that_is_told_again_as_it_was_changes_nothing():
    consumers = Consumers(t=1)
    a = consumers.joined("t")
    consumers.topic("t", 1)
    a.beats()
    assert (consumers.seen, consumers.modern.stale) == (("Stable", 1, 1), False)


def test_a_deleted_topic_is_taken_back_and_the_rest_stays():
    consumers = Consumers(t=2, u=2)
    a = consumers.joined("t", "u")
    consumers.drops("u")
    a.beats()
    assert a.held == {"t": (0, 1)}
    a.acks()
    assert (a.epoch, consumers.seen) == (2, ("Stable", 2, 2))


def test_a_topic_that_comes_after_its_subscribers_is_assigned():
    consumers = Consumers()
    a = consumers.joined("t")
    assert a.held == {}
    consumers.topic("t", 1)
    a.beats()
    assert (a.epoch, a.held) == (2, {"t": (0,)})


def test_after_a_restart_only_what_is_another_topic_makes_an_epoch():
    consumers = Consumers(t=2)
    a = consumers.joined("t")
    consumers.restarts()
    a.beats()
    assert consumers.seen == ("Stable", 1, 1)
    consumers.sizes["t"] = 3
    consumers.restarts()
    a.beats()
    assert (a.epoch, a.held) == (2, {"t": (0, 1, 2)})


@pytest.mark.parametrize(
    ("preferences", "chosen"),
    [
        ([None, None], "uniform"),
        (["range", None], "range"),
        (["range", "uniform", "range"], "range"),
        (["range", "uniform"], "uniform"),
    ],
)
def test_most_members_choose_the_assignor_and_a_tie_goes_to_the_first_of_the_settings(preferences, chosen):
    consumers = Consumers(t=1)
    for assignor in preferences:
        consumers.joined("t", assignor=assignor)
    assert consumers.modern.target_assignor == chosen


def test_the_settings_order_the_assignors():
    consumers = Consumers(t=1, config={"consumer_assignors": ("range", "uniform")})
    consumers.joined("t")
    assert consumers.modern.target_assignor == "range"


def test_another_preference_is_no_reason_for_an_epoch():
    consumers = Consumers(t=1)
    a = consumers.joined("t")
    a.beats(assignor="range")
    assert (consumers.seen, consumers.modern.target_assignor) == (("Stable", 1, 1), "uniform")


def test_the_number_of_topics_differs_when_one_of_them_does():
    topics = Topics()
    topics.put(Topic("t", b"1" * 16, 2))
    topics.put(Topic("u", b"2" * 16, 2))
    names = frozenset("tu")
    before = metadata_hash(topics, names)
    assert before == metadata_hash(topics, names | {"not there"}) != 0
    assert metadata_hash(topics, frozenset()) == 0
    seen = {before, metadata_hash(topics, frozenset("t"))}
    topics.put(Topic("t", b"1" * 16, 3))
    seen.add(metadata_hash(topics, names))
    topics.put(Topic("t", b"3" * 16, 2))
    seen.add(metadata_hash(topics, names))
    assert len(seen) == 4 and all(-(2**63) <= one < 2**63 for one in seen)


def test_a_topic_that_goes_changes_what_is_shown_of_who_reads_it():
    consumers = Consumers(t=1, u=1)
    consumers.joined("t")
    consumers.announced.clear()
    consumers.drops("u")
    assert consumers.heard(MembersChanged) == []
    consumers.drops("t")
    assert len(consumers.heard(MembersChanged)) == 1


# Many members


def test_members_of_a_large_group_that_come_together_are_shared_among_at_a_few_moments():
    """https://cwiki.apache.org/confluence/display/KAFKA/KIP-1263"""
    consumers = Consumers(t=400)
    members = [consumers.joined("t") for _ in range(120)]
    assert consumers.seen[1] == 120
    made = consumers.seen[2]
    assert made < 120 and members[-1].held == {}
    consumers.passes(CHEAP // PER_MS - 1)
    members[0].beats()
    assert consumers.seen == ("Assigning", 120, made)
    consumers.passes(1)
    members[0].beats()
    assert consumers.seen == ("Reconciling", 120, 120)
    consumers.reconcile(*members)
    assert sorted(p for m in members for p in m.held["t"]) == list(range(400))


def test_the_first_target_is_made_at_once_and_so_is_one_after_a_rest():
    consumers = Consumers(t=CHEAP)
    a = consumers.joined("t")
    assert len(a.held["t"]) == CHEAP
    consumers.passes(1_000)
    consumers.joined("t")
    assert consumers.seen == ("Reconciling", 2, 2)
