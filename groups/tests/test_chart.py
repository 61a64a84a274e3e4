"""groups.views.chart."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from groups.views.chart import HEIGHT, WIDTH, Bar, Point, ceiling, chart


def points(*rows):
    return [Point(at=at, lag=lag) for at, lag in rows]


def test_it_works():
    drawn = chart(points((0, 0), (50, 50), (100, 100)), 0, 100, 50)
    assert drawn.top == 100
    assert drawn.line == "M0.0 160.0 L500.0 80.0 L1000.0 0.0"
    assert drawn.area == "M0.0 160.0 L500.0 80.0 L1000.0 0.0 L1000.0 160 L0.0 160 Z"
    assert drawn.holes == ()
    assert drawn.labels[1] == Bar(x=250.0, width=500.0, text="1970-01-01 00:00:00 UTC: 50 records wait")


def test_what_is_not_known_is_a_hole():
    drawn = chart(points((0, 1), (10, 1), (20, None), (30, None), (40, None), (90, 1), (100, 1)), 0, 100, 10)
    assert [(hole.x, hole.width) for hole in drawn.holes] == [(100.0, 800.0)]
    assert drawn.line.count("M") == 2
    assert drawn.labels[2].text.endswith("not known")


def test_a_pause_is_a_hole_and_one_late_sample_is_none():
    assert chart(points((0, 1), (20, 1), (100, 1)), 0, 100, 10).line.count("M") == 2
    assert len(chart(points((0, 1), (20, 1), (100, 1)), 0, 100, 40).holes) == 0


def test_a_point_alone_is_a_dot():
    assert chart(points((50, 5)), 0, 100, 10).line == "M500.0 80.0 h0"


def test_nothing_is_one_hole():
    drawn = chart([], 0, 100, 10)
    assert (drawn.line, drawn.area, drawn.labels) == ("", "", ())
    assert drawn.holes == (Bar(x=0.0, width=1000.0),)


def test_the_upper_edge_is_a_round_number():
    assert [ceiling(lag) for lag in (0, 3, 10, 11, 21, 51, 1_001)] == [10, 10, 10, 20, 50, 100, 2_000]


POINTS = st.lists(st.tuples(st.integers(0, 1_000), st.none() | st.integers(0, 2**62)), max_size=12)


@given(POINTS, st.integers(1, 500))
def test_everything_lies_in_the_drawing(rows, step_ms):
    drawn = chart(points(*sorted(rows, key=lambda row: row[0])), 0, 1_000, step_ms)
    for x, y in re.findall(r"[ML](\S+) (\S+)", drawn.line):
        assert 0 <= float(x) <= WIDTH and 0 <= float(y) <= HEIGHT
    for bar in (*drawn.holes, *drawn.labels):
        assert bar.x >= 0 and bar.width >= 0 and bar.x + bar.width <= WIDTH + 0.1
    assert len(drawn.labels) == len(rows)
