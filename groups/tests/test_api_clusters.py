"""GET /api/v1/clusters/, …/topics/, …/topics/{topic}/groups/ and …/brokers/."""

from __future__ import annotations

import pytest

from groups.testing.feed import member_view
from groups.testing.fixtures import CLUSTER
from groups.times import now_ms


@pytest.fixture
def filled(world):
    world.topic("orders", 10, 10)
    world.topic("empty")
    world.feed.topic("__hidden", (0, 1), internal=True)
    world.group("shop", {("orders", 0): 4})
    world.group("ship", members=[member_view("m-1", {"orders": [1]})])
    world.read()
    return world


def test_clusters_tell_how_they_are_read(api, filled):
    (row,) = api("GET", "/api/v1/clusters/")["items"]
    assert (row["name"], row["source"], row["read_only"]) == ("local", "feed", False)
    assert (row["group_count"], row["topic_count"], row["broker_count"]) == (2, 3, 1)
    assert row["connected"] is True and row["snapshot_age_ms"] >= 0


def test_clusters_that_are_not_granted_are_not_listed(make_caller, filled):
    assert make_caller("admin", cluster="prod-*")("GET", "/api/v1/clusters/")["items"] == []


def test_topics_tell_how_many_groups_read_them(api, filled):
    rows = {row["topic"]: row for row in api("GET", f"{CLUSTER}/topics/")["items"]}
    assert rows["orders"]["partition_count"] == 2 and rows["orders"]["group_count"] == 2
    assert rows["empty"]["group_count"] == 0 and rows["__hidden"]["internal"] is True


def test_topics_of_invisible_groups_are_not_listed(make_caller, filled):
    filled.topic("secret", 1)
    filled.group("vault", {("secret", 0): 1})
    filled.read()
    narrow = make_caller("read", group_pattern="sh*")
    answer = narrow("GET", f"{CLUSTER}/topics/")
    assert [(row["topic"], row["group_count"]) for row in answer["items"]] == [("orders", 2)]
    narrow("GET", f"{CLUSTER}/topics/secret/groups/", expect=404)


def test_a_topic_knows_who_reads_it(api, make_caller, filled):
    answer = api("GET", f"{CLUSTER}/topics/orders/groups/")
    assert [row["group_id"] for row in answer["items"]] == ["ship", "shop"] and "counters" not in answer
    assert {row["group_id"]: row["topic_lag"] for row in answer["items"]} == {"ship": None, "shop": 6}
    assert api("GET", f"{CLUSTER}/topics/empty/groups/")["items"] == []
    narrow = make_caller("read", group_pattern="shop")
    assert [row["group_id"] for row in narrow("GET", f"{CLUSTER}/topics/orders/groups/")["items"]] == ["shop"]


def test_a_topic_that_nobody_knows_is_404(api, filled):
    assert api("GET", f"{CLUSTER}/topics/never-seen/groups/", expect=404)["resource"] == "topic never-seen"


def test_brokers_tell_their_state_and_how_old_that_is(api, filled):
    filled.feed.broker(2, at=now_ms() - 60_000, state="read_only", error="disk full", group_count=7)
    filled.read()
    one, two = api("GET", f"{CLUSTER}/brokers/")["items"]
    assert (one["id"], one["port"], one["state"]) == (1, 9092, "alive")
    assert two["lease_age_ms"] >= 60_000 and (two["state"], two["error"], two["group_count"]) == (
        "read_only",
        "disk full",
        7,
    )


@pytest.mark.parametrize("path", ["topics/", "topics/orders/groups/", "brokers/"])
def test_they_say_that_the_feed_was_not_read_yet(api, feed, path):
    api("GET", f"{CLUSTER}/{path}", expect=503)


@pytest.mark.parametrize("path", ["topics/", "topics/orders/groups/", "brokers/"])
def test_they_refuse_parameters_that_they_do_not_have(api, filled, path):
    api("GET", f"{CLUSTER}/{path}?colour=blue", expect=400)
