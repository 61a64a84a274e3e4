"""offsets.planning."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groups.gateway import Committed
from groups.problems import Problem
from groups.testing.memory import MemoryGateway
from groups.times import now_ms
from kaas.errors import ErrorCode
from offsets.planning import Ground, plan_items, require_group_known, require_source
from offsets.requests import reset_request

MINUTE_MS = 60_000


@pytest.fixture
def gateway():
    """A topic with two partitions of ten records, a minute apart up to now; one with a log that starts at 5."""
    gateway = MemoryGateway()
    now = now_ms()
    gateway.topic("orders", 10, 10, timestamps=[now - (9 - n) * MINUTE_MS for n in range(10)])
    gateway.topic("late", 5, start=5)
    return gateway


def ground(held=None, source=None):
    return Ground(held={p: Committed(offset=o) for p, o in (held or {}).items()}, source=source or {})


HELD = {("orders", 0): 4, ("orders", 1): 6}


def plan(gateway, strategy, value=None, scope=None, held=HELD, source=None):
    request = reset_request({"strategy": strategy, "value": value, "scope": scope or {"all": True}})
    return {item.place(): item for item in plan_items(gateway, request, ground(held, source))}


def after(items):
    return {place[1]: item.after for place, item in items.items()}


@pytest.mark.parametrize(
    ("strategy", "value", "expected"),
    [
        ("earliest", None, {0: 0, 1: 0}),
        ("latest", None, {0: 10, 1: 10}),
        ("offset", 3, {0: 3, 1: 3}),
        ("offset", 99, {0: 10, 1: 10}),
        ("shift", 2, {0: 6, 1: 8}),
        ("shift", -5, {0: 0, 1: 1}),
        ("current", None, {0: 4, 1: 6}),
        ("duration", "PT4M30S", {0: 5, 1: 5}),
        ("duration", "P30D", {0: 0, 1: 0}),
        ("duration", "P99999D", {0: 0, 1: 0}),
        ("timestamp", "1969-01-01T00:00:00Z", {0: 0, 1: 0}),
        ("timestamp", "9999-01-01T00:00:00Z", {0: 10, 1: 10}),
    ],
)
def test_each_strategy_takes_offsets_somewhere(gateway, strategy, value, expected):
    items = plan(gateway, strategy, value)
    assert after(items) == expected and {p[1]: item.before for p, item in items.items()} == {0: 4, 1: 6}


def test_what_was_moved_says_so_and_what_was_not_says_nothing(gateway):
    """A time in the future committed -1.

    https://github.com/redpanda-data/redpanda/issues/6234
    https://github.com/birdayz/kaf/issues/103
    """
    assert plan(gateway, "offset", 99)["orders", 0].note == "Offset 99 lies past the log's end: 10 instead."
    assert plan(gateway, "shift", -5)["orders", 0].note == "Offset -1 lies before the log's start: 0 instead."
    assert "no record at or after" in plan(gateway, "timestamp", "9999-01-01T00:00:00Z")["orders", 0].note
    for strategy, value in (("offset", 3), ("earliest", None), ("current", None), ("latest", None)):
        assert plan(gateway, strategy, value)["orders", 0].note is None


def test_what_is_skipped_and_replayed_counts_what_the_log_holds(gateway):
    item = plan(gateway, "latest")["orders", 0]
    assert (item.skipped, item.replayed) == (6, 0)
    item = plan(gateway, "earliest")["orders", 0]
    assert (item.skipped, item.replayed) == (0, 4)
    item = plan(gateway, "latest", held={("late", 0): 2})["late", 0]
    assert (item.before, item.after, item.skipped, item.replayed) == (2, 10, 5, 0)
    item = plan(gateway, "earliest", held={("late", 0): 99})["late", 0]
    assert (item.after, item.skipped, item.replayed) == (5, 0, 5)
    item = plan(gateway, "earliest", held={}, scope={"topics": [{"topic": "late"}]})["late", 0]
    assert (item.before, item.skipped, item.replayed) == (None, 0, 0)


def test_a_scope_chooses_topics_and_partitions_also_never_committed_ones(gateway):
    one = {"topics": [{"topic": "orders", "partitions": [1]}]}
    assert after(plan(gateway, "earliest", scope=one)) == {1: 0}
    late = {"topics": [{"topic": "late"}]}
    assert list(plan(gateway, "earliest", scope=late)) == [("late", 0)]


@pytest.mark.parametrize("scope", [{"topics": []}, {"topics": [{"topic": "orders", "partitions": []}]}])
def test_an_empty_scope_means_nothing(gateway, scope):
    assert plan(gateway, "earliest", scope=scope) == {}


@pytest.mark.parametrize(
    ("topic", "what"),
    [
        ({"topic": "never-seen"}, "topic never-seen"),
        ({"topic": "orders", "partitions": [1, 9]}, "partition 9 of topic orders"),
    ],
)
def test_what_is_not_there_is_named(gateway, topic, what):
    with pytest.raises(Problem, match=what):
        plan(gateway, "earliest", scope={"topics": [topic]})


def test_where_nothing_is_committed_nothing_is_shifted_and_current_means_the_end(gateway):
    scope = {"topics": [{"topic": "orders"}]}
    items = plan(gateway, "shift", 2, scope=scope, held={("orders", 0): 4})
    assert after(items) == {0: 6, 1: None} and "nothing can be shifted" in items["orders", 1].note
    items = plan(gateway, "current", scope=scope, held={("orders", 0): 4})
    assert after(items) == {0: 4, 1: 10} and "Nothing is committed" in items["orders", 1].note


def test_sources_decide_what_all_means_and_a_scope_narrows_them(gateway):
    source = {("orders", 1): 7, ("late", 0): 6}
    assert after(plan(gateway, "csv", "late,0,6", source=source)) == {0: 6, 1: 7}
    narrow = plan(gateway, "group", "other", source=source, scope={"topics": [{"topic": "orders"}]})
    assert list(narrow) == [("orders", 1)]


def test_a_topic_that_is_gone_but_committed_is_planned_as_not_to_be_judged(gateway):
    items = plan(gateway, "earliest", held={**HELD, ("gone", 3): 5})
    item = items["gone", 3]
    assert (item.before, item.after, item.code) == (5, None, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert "cannot be judged" in item.note and item.error()["code_number"] == 3
    assert items["orders", 0].after == 0 and items["orders", 0].error() is None
    named = plan(gateway, "earliest", held={("gone", 3): 5}, scope={"topics": [{"topic": "gone"}]})
    assert list(named) == [("gone", 3)]


@pytest.mark.parametrize(
    ("strategy", "value"), [("latest", None), ("timestamp", "2026-01-01T00:00:00Z"), ("offset", 3)]
)
def test_a_partition_without_a_leader_fails_alone(gateway, strategy, value):
    """https://issues.apache.org/jira/browse/KAFKA-19435
    https://issues.apache.org/jira/browse/KAFKA-19500
    """
    gateway.codes["orders", 1] = ErrorCode.LEADER_NOT_AVAILABLE
    items = plan(gateway, strategy, value)
    assert items["orders", 1].after is None and items["orders", 0].after is not None


@given(
    st.integers(0, 20),
    st.integers(0, 20),
    st.sampled_from(["earliest", "latest", "current", "offset", "shift"]),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(0, 2**62),
)
def test_no_plan_leaves_the_log_or_writes_a_sentinel(count, start, strategy, value, held):
    """https://github.com/redpanda-data/console/issues/1850"""
    gateway = MemoryGateway()
    gateway.topic("t", count, start=start)
    value = None if strategy in ("earliest", "latest", "current") else abs(value) if strategy == "offset" else value
    value = min(value, 2**63 - 1) if isinstance(value, int) else value
    if strategy == "shift":
        value = max(value, -(2**63 - 1))
    (item,) = plan(gateway, strategy, value, held={("t", 0): held}).values()
    assert start <= item.after <= start + count
    assert item.skipped >= 0 and item.replayed >= 0 and not (item.skipped and item.replayed)


def test_large_numbers_have_twins(gateway):
    row = plan(gateway, "current", held={("orders", 0): 2**60})["orders", 0].row()
    assert row["before_str"] == str(2**60) and row["after"] == 10


def test_all_of_a_group_that_nobody_knows_is_404_unless_a_source_says_what():
    def known(strategy, value, held, listed):
        request = reset_request({"strategy": strategy, "value": value, "scope": {"all": True}})
        require_group_known(request, ground(held), "shop", listed)

    known("earliest", None, {}, True)
    known("earliest", None, HELD, False)
    known("csv", "orders,0,1", {}, False)
    with pytest.raises(Problem, match="There is no group shop"):
        known("earliest", None, {}, False)


def test_a_csv_without_lines_is_refused():
    with pytest.raises(Problem, match="no lines"):
        require_source(reset_request({"strategy": "csv", "value": "", "scope": {"all": True}}), ground())
