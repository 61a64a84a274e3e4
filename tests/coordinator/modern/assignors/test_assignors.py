"""Whatever the rule: each partition once, only to who subscribes, everything, the same answer each time, and in time."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaas.coordinator.modern.assignors import ASSIGNORS
from kaas.coordinator.modern.assignors.request import Request, Subscriber
from tests.coordinator.modern.assignors.asking import after, alike, assigned, check, mixed
from tests.support.laws import law

both = pytest.mark.parametrize("assign", ASSIGNORS.values(), ids=ASSIGNORS)


def test_the_default_comes_first():
    assert list(ASSIGNORS) == ["uniform", "range"]


@both
@given(st.one_of(alike(), mixed()))
@law
def test_every_partition_goes_to_one_member_that_subscribes_to_it(assign, asked):
    check(asked, assign(asked))


@both
@given(st.one_of(alike(), mixed()), st.randoms(use_true_random=False))
@law
def test_the_order_in_which_members_and_topics_are_named_does_not_matter(assign, asked, dice):
    members, topics = list(asked.members.items()), list(asked.partitions.items())
    dice.shuffle(members)
    dice.shuffle(topics)
    assert assign(Request(dict(members), dict(topics))) == assign(asked)


@both
@given(st.one_of(alike(), mixed()))
@law
def test_what_was_assigned_stays_while_nothing_changes(assign, asked):
    shares = assign(asked)
    assert assign(after(asked, shares)) == shares


@both
def test_a_member_that_subscribes_to_nothing_gets_nothing(assign):
    """https://issues.apache.org/jira/browse/KAFKA-16930"""
    assert assigned(assign, {"T1": 3}, {"A": [], "B": ["T1"]}) == {"A": {}, "B": {"T1": (0, 1, 2)}}
    assert assigned(assign, {}, {"A": [], "B": []}) == {"A": {}, "B": {}}


@both
def test_a_group_without_members_is_no_question(assign):
    assert assign(Request({}, {})) == {}


def large(topics: int, partitions: int, members: int, step: int) -> Request:
    """Members of which each subscribes to every topic, or to every second one."""
    ids = [number.to_bytes(16, "big") for number in range(topics)]
    subscribers = {f"m{n}": Subscriber(None, tuple(ids[n % step :: step]), {}) for n in range(members)}
    return Request(subscribers, dict.fromkeys(ids, partitions))


@both
@pytest.mark.parametrize("step", [1, 2], ids=["alike", "different"])
def test_a_thousand_members_and_ten_thousand_partitions_take_no_time_that_anybody_feels(assign, step):
    """Some 5 to 30 ms on two cores; a loop of members in a loop of partitions would take many seconds."""
    asked = large(topics=100, partitions=100, members=1_000, step=step)
    start = time.perf_counter()
    assign(after(asked, assign(asked)))
    assert time.perf_counter() - start < 2
