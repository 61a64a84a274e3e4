"""GET …/groups/{group}/records/."""

from __future__ import annotations

import pytest

from groups.testing.feed import member_view
from groups.testing.fixtures import CLUSTER

RECORDS = f"{CLUSTER}/groups/shop/records/"


@pytest.fixture
def shop(world):
    world.topic("orders", 10, 10)
    world.topic("secret", 3)
    world.topic("late", 5, start=5)
    world.group("shop", {("orders", 0): 4, ("late", 0): 2, ("orders", 1): 99})
    return world


def sides(answer):
    return [(row["offset"], row["side"]) for row in answer["items"]]


def test_it_works(api, shop):
    answer = api("GET", f"{RECORDS}?topic=orders&partition=0&around=2")
    assert sides(answer) == [(2, "before"), (3, "before"), (4, "after"), (5, "after")]
    assert answer["committed"] == 4 and answer["items"][0]["value"] == {
        "encoding": "json",
        "data": '{"n": 2}',
        "size": 8,
        "cut": False,
    }


def test_it_touches_no_group(api, shop):
    api("GET", f"{RECORDS}?topic=orders&partition=0")
    assert shop.gateway.calls == ["records"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("topic=late&partition=0&around=2", [(5, "after"), (6, "after")]),
        ("topic=orders&partition=1&around=2", [(8, "before"), (9, "before")]),
        (
            "topic=orders&partition=0&around=50",
            [(n, "before") for n in range(4)] + [(n, "after") for n in range(4, 10)],
        ),
    ],
)
def test_it_stays_inside_the_log(api, shop, query, expected):
    assert sides(api("GET", f"{RECORDS}?{query}")) == expected


def test_without_a_commit_it_begins_with_the_log(api, shop):
    shop.group("fresh", members=[member_view("one-1", {"orders": [1], "none": [0]})])
    shop.topic("none", 0)
    answer = api("GET", f"{CLUSTER}/groups/fresh/records/?topic=orders&partition=1&around=1")
    assert sides(answer) == [(0, "after")] and answer["committed"] is None
    assert api("GET", f"{CLUSTER}/groups/fresh/records/?topic=none&partition=0")["items"] == []


@pytest.mark.parametrize("query", ["topic=secret&partition=0", "topic=orders&partition=7", "topic=nowhere&partition=0"])
def test_only_partitions_of_the_group_are_shown(api, shop, query):
    api("GET", f"{RECORDS}?{query}", expect=404)


@pytest.mark.parametrize(
    "query",
    ["", "topic=orders", "topic=orders&partition=-1", "topic=orders&partition=x", "topic=orders&partition=0&around=51"],
)
def test_a_question_that_makes_no_sense_is_refused(api, shop, query):
    api("GET", f"{RECORDS}?{query}", expect=400)
