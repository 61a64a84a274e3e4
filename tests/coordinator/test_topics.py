"""Which topics there are: a name and an id always lead to the same topic."""

from __future__ import annotations

from kaas.coordinator.topics import Topic, Topics

FIRST, SECOND = b"1" * 16, b"2" * 16


def test_a_topic_is_found_by_its_name_and_by_its_id():
    topics = Topics()
    topics.put(Topic("t", FIRST, 3))
    assert topics.by_name["t"] is topics.by_id[FIRST]


def test_a_topic_that_is_made_anew_has_one_id():
    topics = Topics()
    topics.put(Topic("t", FIRST, 3))
    topics.put(Topic("t", SECOND, 1))
    assert (topics.by_name["t"].partitions, list(topics.by_id)) == (1, [SECOND])


def test_a_name_that_was_not_there_is_an_arrival():
    topics = Topics()
    for topic in (Topic("t", FIRST, 3), Topic("t", FIRST, 4), Topic("u", SECOND, 1)):
        topics.put(topic)
    assert topics.arrivals == 2
    topics.drop("t")
    topics.put(Topic("t", FIRST, 3))
    assert topics.arrivals == 3


def test_a_topic_that_is_gone_has_neither_name_nor_id_and_may_go_twice():
    topics = Topics()
    topics.put(Topic("t", FIRST, 3))
    topics.drop("t")
    topics.drop("t")
    assert (topics.by_name, topics.by_id) == ({}, {})


def test_partitions_are_named_in_the_order_of_names_and_those_of_topics_that_are_gone_left_out() -> None:
    topics = Topics()
    topics.put(Topic("b", b"o" * 16, 3))
    topics.put(Topic("a", b"n" * 16, 1))
    named = topics.named({b"o" * 16: (0, 2), b"x" * 16: (0,), b"n" * 16: (0,)})
    assert list(named.items()) == [("a", (0,)), ("b", (0, 2))]
