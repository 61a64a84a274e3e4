"""A target assignment while it is made."""

from __future__ import annotations

from kaas.coordinator.modern.assignors.draft import NOBODY, Draft
from tests.coordinator.modern.assignors.asking import by_name, request, topic_id

T1, T2 = topic_id("T1"), topic_id("T2")


def draft(had=()):
    return Draft(request({"T1": 2, "T2": 3}, {"B": ["T1", "T2"], "A": ["T2"]}, had))


def test_members_and_topics_are_in_the_order_of_their_ids():
    made = draft()
    assert (made.member_ids, list(made.owners)) == (["A", "B"], [T1, T2])


def test_a_member_may_have_again_what_is_there_free_and_subscribed_to():
    made = draft({"A": {"T1": [0], "T2": [1, 2, 3], "gone": [0]}, "B": {"T2": [0, 1]}})
    assert list(made.had(0)) == [(T2, 1), (T2, 2)]
    made.give(T2, 1, 0)
    assert list(made.had(1)) == [(T2, 0)]


def test_what_is_given_and_moved_is_counted():
    made = draft()
    made.give(T1, 0, 1)
    made.give(T2, 2, 1)
    made.move(T2, 2, 0)
    assert (made.loads, made.owners) == ([1, 1], {T1: [1, NOBODY], T2: [NOBODY, NOBODY, 0]})
    assert (made.free(T1), made.free(T2), made.by_owner(T2)) == ([1], [0, 1], {0: [2]})
    assert by_name(made.shares()) == {"A": {"T2": (2,)}, "B": {"T1": (0,)}}
