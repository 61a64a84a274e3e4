"""groups.index."""

from __future__ import annotations

import msgspec
import pytest

from groups.index import GroupIndex
from groups.testing.feed import last_rebalance, member_view, offset_view, snapshot
from kaas.feed.types import BrokerView, Pulse, TopicView


@pytest.fixture
def index():
    return GroupIndex()


def put(index, group_id, **more):
    return index.put(msgspec.json.encode(snapshot(group_id, **more)))


def topic(index, name, *ends, at=1):
    rows = [None if end is None else (end[0], end[1], end[1]) for end in ends]
    index.topic(name, msgspec.json.encode(TopicView(topic=name, topic_id=None, at=at, partitions=rows)))


def test_a_row_holds_what_lists_show(index):
    topic(index, "orders", (0, 10), (0, 10))
    row = put(
        index,
        "shop",
        members=[member_view("one-1", {"orders": [0], "extra": [1]})],
        offsets={("orders", 0): 10, ("orders", 1): 4},
        coordinator=3,
        last_rebalance=last_rebalance(),
        error="torn",
    )
    assert (row.group_id, row.state, row.type, row.protocol) == ("shop", "Stable", "classic", "range")
    assert (row.member_count, row.topics, row.coordinator, row.error) == (1, ("extra", "orders"), 3, "torn")
    assert (row.total_lag(), row.lag_status()) == (6, "lagging")
    assert row.last_rebalance.cause == "member_joined"


def test_lag_follows_the_ends_without_a_new_snapshot(index):
    """Lag stood still as soon as nobody committed any more.

    https://github.com/linkedin/Burrow/issues/58
    https://github.com/linkedin/Burrow/issues/287
    """
    row = put(index, "shop", offsets={("orders", 0): 4})
    assert (row.total_lag(), row.lag_status()) == (None, "unknown")
    topic(index, "orders", (0, 10))
    assert (row.total_lag(), row.lag_status()) == (6, "stopped")
    topic(index, "orders", (0, 12), at=2)
    assert row.total_lag() == 8
    topic(index, "orders", (0, 3), at=3)
    assert (row.total_lag(), row.lag_status()) == (None, "out_of_range")


def test_the_ends_in_a_snapshot_count_until_newer_ones_come(index):
    """A new group had no lag until the next round of a scraper, where Kafka's own tool says a number.

    https://github.com/kafbat/kafka-ui/issues/675
    https://github.com/provectus/kafka-ui/issues/4503
    """
    row = put(index, "shop", offsets={("orders", 0): offset_view(10, log_start=0, log_end=10)}, at=5)
    assert row.total_lag() == 0
    topic(index, "orders", (0, 8), at=4)
    assert (row.total_lag(), row.lag_status()) == (0, "ok")
    topic(index, "orders", (0, 15), at=6)
    assert row.total_lag() == 5


def test_a_newer_snapshot_replaces_and_the_same_one_changes_nothing(index):
    first = put(index, "shop", version=1, at=1)
    assert put(index, "shop", version=1, at=1) is first
    second = put(index, "shop", version=2, at=2, state="Dead")
    assert index.rows["shop"] is second and second.state == "Dead"
    restarted = put(index, "shop", version=1, at=3)
    assert index.rows["shop"] is restarted


def test_a_topic_knows_its_readers(index):
    put(index, "shop", offsets={("orders", 0): 1})
    put(index, "ship", members=[member_view("m-1", {"orders": [0]})])
    put(index, "bill", members=[member_view("m-1", subscription=["orders"])])
    assert sorted(row.group_id for row in index.readers_of("orders")) == ["bill", "ship", "shop"]
    put(index, "ship", version=2)
    index.drop("shop")
    assert [row.group_id for row in index.readers_of("orders")] == ["bill"]
    index.drop("bill")
    assert index.readers_of("orders") == [] and index.topics == {} and index.readers == {}


def test_a_topic_that_is_gone_stays_as_long_as_somebody_committed_there(index):
    topic(index, "orders", (0, 5))
    put(index, "shop", offsets={("orders", 0): 1})
    index.topic("orders", None)
    assert index.rows["shop"].total_lag() == 4 and not index.topics["orders"].known
    index.drop("shop")
    assert index.topics == {}
    index.topic("orders", None)


def test_a_topic_without_readers_goes_with_its_view(index):
    topic(index, "orders", (0, 5))
    index.topic("orders", None)
    assert index.topics == {}


def test_names_with_slashes_split_at_the_last_one(index):
    row = put(index, "shop", offsets={("a/b", 3): 1})
    assert row.topics == ("a/b",) and dict(row.committed[0].committed()) == {3: 1}


def test_equal_topic_sets_are_one(index):
    one, two = put(index, "one", offsets={("t", 0): 1}), put(index, "two", offsets={("t", 0): 2})
    assert one.topics is two.topics


def test_brokers_come_and_go(index):
    view = BrokerView(
        id=1, host="h", port=1, state="alive", at=1, started_at=1, incarnation="i", assignment_version=1, group_count=0
    )
    index.broker("1", msgspec.json.encode(view))
    assert index.brokers == {1: view}
    index.broker("1", None)
    index.broker("2", None)
    assert index.brokers == {}


def test_heartbeats_are_kept_for_members_that_are_there(index):
    put(index, "shop", members=[member_view("one-1"), member_view("two-2")])
    heard = {"shop": {"one-1": 5, "two-2": 6}, "ghost": {"x": 1}}
    assert index.pulse(msgspec.json.encode(Pulse(at=9, groups=heard))) == heard
    assert index.heartbeats == {"shop": {"one-1": 5, "two-2": 6}}
    put(index, "shop", members=[member_view("two-2")], version=2)
    assert index.heartbeats == {"shop": {"two-2": 6}}
    index.drop("shop")
    assert index.heartbeats == {}


@pytest.mark.parametrize("value", [b"", b"{", b"[]", b"{}", b'{"group_id": 5}'])
def test_what_is_no_snapshot_is_refused_and_changes_nothing(index, value):
    with pytest.raises(msgspec.DecodeError):
        index.put(value)
    assert index.rows == {}


def test_dropping_what_is_not_there_does_no_harm(index):
    index.drop("ghost")


def test_states_are_counted_as_they_change(index):
    for group_id, state in (("a", "Stable"), ("b", "Empty"), ("c", "Stable")):
        put(index, group_id, state=state)
    assert +index.states == {"Stable": 2, "Empty": 1}
    put(index, "a", state="Empty", version=9)
    index.drop("c")
    index.drop("never there")
    assert +index.states == {"Empty": 2}


@pytest.mark.parametrize(("first", "last"), [(0, 3), (3, 6), (6, 9), (9, 12)])
def test_a_stretch_of_rows_is_the_same_as_a_slice_of_all(index, first, last):
    for number in range(7):
        put(index, f"g{number}")
    ids = [row.group_id for row in index.all()]
    assert [row.group_id for row in index.page(first, last, descending=False)] == ids[first:last]
    assert [row.group_id for row in index.page(first, last, descending=True)] == ids[::-1][first:last]
