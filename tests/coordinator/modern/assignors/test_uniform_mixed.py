"""Members that subscribe to different topics: what Apache Kafka hands out, and balance among the readers of each topic."""

from __future__ import annotations

from hypothesis import given

from kaas.coordinator.modern.assignors.uniform_mixed import assign
from tests.coordinator.modern.assignors.asking import after, assigned, load, mixed, pairs
from tests.support.laws import law


def test_what_leaves_the_least_choice_is_dealt_first():
    shares = assigned(assign, {"T1": 3, "T3": 6}, {"A": ["T1", "T3"], "B": ["T3"]})
    assert shares == {"A": {"T1": (0, 1, 2), "T3": (4,)}, "B": {"T3": (0, 1, 2, 3, 5)}}


def test_balance_goes_along_a_chain_of_subscriptions():
    shares = assigned(assign, {"T1": 3, "T2": 3, "T3": 3}, {"A": ["T1", "T2"], "B": ["T2", "T3"], "C": ["T3"]})
    assert [load(shares[member]) for member in "ABC"] in ([4, 3, 2], [3, 3, 3])


def test_partitions_move_from_who_has_most_to_who_has_least():
    had = {"A": {"T1": [0, 1, 2, 3]}, "B": {"T2": [0]}, "C": {}}
    shares = assigned(assign, {"T1": 4, "T2": 1}, {"A": ["T1"], "B": ["T1", "T2"], "C": ["T1"]}, had)
    assert {member: load(held) for member, held in shares.items()} == {"A": 2, "B": 1, "C": 2}
    assert pairs(shares["A"]) < pairs(had["A"])


def test_who_shares_its_topic_with_nobody_keeps_all_of_it():
    had = {"A": {"T1": [0, 1, 2, 3, 4]}, "B": {}, "C": {}}
    shares = assigned(assign, {"T1": 5, "T2": 2}, {"A": ["T1", "T2"], "B": ["T2"], "C": ["T2"]}, had)
    assert shares == {"A": {"T1": (0, 1, 2, 3, 4)}, "B": {"T2": (0,)}, "C": {"T2": (1,)}}


@given(mixed())
@law
def test_no_reader_of_a_topic_has_two_partitions_more_than_another_reader_of_it(asked):
    """Only of a topic that it has a partition of: it could give that one away."""
    shares = assign(asked)
    for topic in asked.partitions:
        readers = {member: load(shares[member]) for member, one in asked.members.items() if topic in one.topics}
        for member, most in readers.items():
            assert topic not in shares[member] or most - min(readers.values()) <= 1


@given(mixed())
@law
def test_what_is_balanced_stays(asked):
    shares = assign(asked)
    assert assign(after(asked, shares)) == shares
