"""The range assignor against what Apache Kafka hands out."""

from __future__ import annotations

import pytest

from kaas.coordinator.modern.assignors.range import assign
from tests.coordinator.modern.assignors.asking import assigned

ROWS = {
    "seven over two": ({"T1": 7}, {"A": ["T1"], "B": ["T1"]}, {"A": {"T1": (0, 1, 2, 3)}, "B": {"T1": (4, 5, 6)}}),
    "six over two": ({"T1": 6}, {"A": ["T1"], "B": ["T1"]}, {"A": {"T1": (0, 1, 2)}, "B": {"T1": (3, 4, 5)}}),
    "two over three": (
        {"T1": 2},
        {"A": ["T1"], "B": ["T1"], "C": ["T1"]},
        {"A": {"T1": (0,)}, "B": {"T1": (1,)}, "C": {}},
    ),
    "two topics": (
        {"T1": 3, "T2": 3},
        {"A": ["T1", "T2"], "B": ["T1", "T2"]},
        {"A": {"T1": (0, 1), "T2": (0, 1)}, "B": {"T1": (2,), "T2": (2,)}},
    ),
    "uneven topics": (
        {"T1": 3, "T3": 2},
        {"A": ["T1", "T3"], "B": ["T1", "T3"]},
        {"A": {"T1": (0, 1), "T3": (0,)}, "B": {"T1": (2,), "T3": (1,)}},
    ),
    "three members": (
        {"T1": 3, "T3": 2},
        {"A": ["T1", "T3"], "B": ["T1", "T3"], "C": ["T1", "T3"]},
        {"A": {"T1": (0,), "T3": (0,)}, "B": {"T1": (1,), "T3": (1,)}, "C": {"T1": (2,)}},
    ),
    "different topics": (
        {"T1": 3, "T2": 3, "T3": 2},
        {"A": ["T1", "T2"], "B": ["T3"], "C": ["T2", "T3"]},
        {"A": {"T1": (0, 1, 2), "T2": (0, 1)}, "B": {"T3": (0,)}, "C": {"T2": (2,), "T3": (1,)}},
    ),
    "one topic in common": (
        {"T1": 3, "T2": 2},
        {"A": ["T1"], "B": ["T1", "T2"], "C": ["T1"]},
        {"A": {"T1": (0,)}, "B": {"T1": (1,), "T2": (0, 1)}, "C": {"T1": (2,)}},
    ),
}


@pytest.mark.parametrize("row", ROWS)
def test_each_reader_gets_a_run_of_every_topic(row):
    sizes, subscribed, expected = ROWS[row]
    assert assigned(assign, sizes, subscribed) == expected


def test_static_members_come_first_in_the_order_of_their_instances():
    shares = assigned(assign, {"T1": 3}, dict.fromkeys("xya", ("T1",)), instances={"x": "i2", "y": "i1"})
    assert shares == {"y": {"T1": (0,)}, "x": {"T1": (1,)}, "a": {"T1": (2,)}}


def test_order_decides_even_where_that_moves_partitions():
    had = {"B": {"T1": [0, 1, 2]}}
    shares = assigned(assign, {"T1": 3}, dict.fromkeys("AB", ("T1",)), had)
    assert shares == {"A": {"T1": (0, 1)}, "B": {"T1": (2,)}}
