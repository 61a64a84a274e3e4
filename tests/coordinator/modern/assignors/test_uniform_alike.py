"""Members that subscribe to the same topics: what Apache Kafka hands out, balance, and nothing that moves without need."""

from __future__ import annotations

import pytest
from hypothesis import given

from kaas.coordinator.modern.assignors.uniform_alike import assign
from tests.coordinator.modern.assignors.asking import alike, assigned, load, pairs
from tests.support.laws import law


def one_topic(size: int, **had: list[int]) -> dict[str, list[int]]:
    """Shares of a topic with so many partitions, from those before."""
    shares = assigned(assign, {"T1": size}, dict.fromkeys(had, ("T1",)), {m: {"T1": p} for m, p in had.items()})
    return {member: list(held.get("T1", ())) for member, held in shares.items()}


def two_topics(first: int, second: int, had: dict[str, dict[str, list[int]]]):
    return assigned(assign, {"T1": first, "T2": second}, dict.fromkeys(had, ("T1", "T2")), had)


@pytest.mark.parametrize(
    ("partitions", "expected"),
    [
        (7, {"A": [0, 1, 2], "B": [3, 4, 5, 6]}),
        (5, {"A": [0], "B": [1, 2], "C": [3, 4]}),
        (2, {"A": [], "B": [0], "C": [1]}),
        (4, {"A": [0], "B": [1], "C": [2, 3]}),
        (10, {"A": [0, 1, 2], "B": [3, 4, 5], "C": [6, 7, 8, 9]}),
    ],
)
def test_at_first_runs_are_dealt_and_the_last_members_get_the_extras(partitions, expected):
    """https://issues.apache.org/jira/browse/KAFKA-18688"""
    assert one_topic(partitions, **{member: [] for member in expected}) == expected


def test_members_that_come_and_go_move_as_little_as_they_can():
    assert one_topic(6, A=[]) == {"A": [0, 1, 2, 3, 4, 5]}
    assert one_topic(6, A=[0, 1, 2, 3, 4, 5], B=[]) == {"A": [0, 1, 2], "B": [3, 4, 5]}
    assert one_topic(6, A=[0, 1, 2], B=[3, 4, 5], C=[]) == {"A": [0, 1], "B": [3, 4], "C": [2, 5]}
    assert one_topic(6, A=[0, 1], C=[2, 5]) == {"A": [0, 1, 3], "C": [2, 4, 5]}


def test_new_partitions_go_to_who_has_least():
    assert one_topic(3, A=[0, 1, 2], B=[]) == {"A": [0, 1], "B": [2]}
    assert one_topic(5, A=[0, 1], B=[2]) == {"A": [0, 1], "B": [2, 3, 4]}


def test_an_extra_goes_to_the_last_member_that_has_none_even_where_another_has_less():
    assert one_topic(5, A=[0], B=[1, 2]) == {"A": [0, 3], "B": [1, 2, 4]}
    assert one_topic(8, A=[0], B=[1], C=[2, 3]) == {"A": [0, 4], "B": [1, 5, 6], "C": [2, 3, 7]}
    assert one_topic(10, A=[0, 4], B=[1, 5, 6], C=[2, 3, 7]) == {"A": [0, 4, 8], "B": [1, 5, 6], "C": [2, 3, 7, 9]}
    assert one_topic(11, A=[0, 4, 8], B=[1, 5, 6], C=[2, 3, 7, 9]) == {
        "A": [0, 4, 8],
        "B": [1, 5, 6, 10],
        "C": [2, 3, 7, 9],
    }


def test_a_balanced_group_is_left_alone():
    assert one_topic(5, A=[0, 3], B=[1], C=[2, 4]) == {"A": [0, 3], "B": [1], "C": [2, 4]}


def test_the_sum_over_all_topics_is_balanced():
    assert two_topics(3, 3, {"A": {"T1": [0, 1], "T2": [0, 1]}, "B": {"T1": [2], "T2": [2]}}) == {
        "A": {"T1": (0, 1), "T2": (0,)},
        "B": {"T1": (2,), "T2": (1, 2)},
    }
    assert two_topics(3, 3, {"A": {"T1": [0, 2], "T2": [0]}, "B": {"T1": [1], "T2": [1, 2]}, "C": {}}) == {
        "A": {"T1": (0, 2)},
        "B": {"T1": (1,), "T2": (1,)},
        "C": {"T2": (0, 2)},
    }
    grown = two_topics(6, 5, {"A": {"T1": [0, 2], "T2": [0]}, "B": {"T1": [1], "T2": [1, 2]}})
    assert {member: load(held) for member, held in grown.items()} == {"A": 5, "B": 6}


@given(alike())
@law
def test_nobody_has_more_than_one_partition_more_than_another(asked):
    loads = [load(held) for held in assign(asked).values()]
    assert max(loads) - min(loads) <= 1


@given(alike())
@law
def test_nobody_both_gains_and_loses(asked):
    """What a member may still have is kept up to its quota, so a partition moves only from who has too many."""
    for member, held in assign(asked).items():
        subscriber = asked.members[member]
        had = {(t, p) for t, p in pairs(subscriber.target) if t in subscriber.topics and p < asked.partitions[t]}
        assert pairs(held) <= had or had <= pairs(held)
