"""offsets.requests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from groups.problems import Problem
from offsets.requests import reset_request, topic_scope

ALL = {"all": True}


def read(strategy, value=None, scope=None):
    return reset_request({"strategy": strategy, "value": value, "scope": scope or ALL})


@pytest.mark.parametrize(
    ("strategy", "value", "typed"),
    [
        ("earliest", None, None),
        ("latest", None, None),
        ("current", None, None),
        ("offset", 0, 0),
        ("offset", 2**63 - 1, 2**63 - 1),
        ("shift", -5, -5),
        ("timestamp", "2026-01-01T00:00:00Z", datetime(2026, 1, 1, tzinfo=UTC)),
        ("timestamp", "2026-01-01T02:00:00.5+02:00", datetime(2026, 1, 1, microsecond=500_000, tzinfo=UTC)),
        ("duration", "PT4M30S", timedelta(seconds=270)),
        ("duration", "P30D", timedelta(days=30)),
        ("csv", "orders,0,7", {("orders", 0): 7}),
        ("group", "other", "other"),
        ("group", "", ""),
    ],
)
def test_each_strategy_has_its_kind_of_value(strategy, value, typed):
    """A strategy was refused for a field that it does not have.

    https://github.com/provectus/kafka-ui/issues/916
    """
    request = read(strategy, value)
    assert request.value == typed and request.raw == {"strategy": strategy, "value": value, "scope": ALL}


@pytest.mark.parametrize(
    ("strategy", "value"),
    [
        ("earliest", 0),
        ("latest", ""),
        ("current", "now"),
        ("offset", None),
        ("offset", -1),
        ("offset", 2**63),
        ("offset", 1.5),
        ("offset", True),
        ("offset", "3"),
        ("shift", None),
        ("shift", 2**63),
        ("timestamp", None),
        ("timestamp", 1_700_000_000),
        ("timestamp", "yesterday"),
        ("timestamp", "2026-01-01T00:00:00"),
        ("timestamp", "2026-01-01"),
        ("timestamp", "0001-01-01T00:00:00+23:59"),
        ("duration", "soon"),
        ("duration", "P"),
        ("duration", "PT"),
        ("duration", "5"),
        ("duration", "-PT1H"),
        ("duration", "P-1D"),
        ("duration", "P99999999999999D"),
        ("duration", 60),
        ("csv", None),
        ("csv", "a,b"),
        ("group", None),
        ("group", ["x"]),
    ],
)
def test_a_value_that_makes_no_sense_is_refused(strategy, value):
    with pytest.raises(Problem) as refused:
        read(strategy, value)
    assert refused.value.kind.status == 400 and refused.value.details["value"]


@pytest.mark.parametrize(
    ("scope", "typed"),
    [
        ({"all": True}, None),
        ({"topics": []}, ()),
        ({"topics": [{"topic": "b"}, {"topic": "a", "partitions": [2, 1, 2]}]}, (("a", (1, 2)), ("b", None))),
        ({"topics": [{"topic": "a", "partitions": []}]}, (("a", ()),)),
        ({"topics": [{"topic": "a", "partitions": [1]}, {"topic": "a", "partitions": [0]}]}, (("a", (0, 1)),)),
        ({"topics": [{"topic": "a", "partitions": [1]}, {"topic": "a"}]}, (("a", None),)),
        ({"topics": [{"topic": "a"}, {"topic": "a", "partitions": [1]}]}, (("a", None),)),
    ],
)
def test_a_scope_names_each_topic_once_and_nothing_stays_nothing(scope, typed):
    assert read("earliest", scope=scope).scope == typed


@pytest.mark.parametrize("scope", [{"all": False}, {"all": True, "topics": []}, {"x": 1}])
def test_a_scope_is_one_thing(scope):
    with pytest.raises(Problem):
        read("earliest", scope=scope)


def test_a_list_of_topics_alone_is_a_scope_too():
    assert topic_scope([{"topic": "a"}]) == (("a", None),)
