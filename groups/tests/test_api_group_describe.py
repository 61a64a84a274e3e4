"""GET /api/v1/clusters/{cluster}/groups/{group}/."""

from __future__ import annotations

import pytest

from groups.clusters import Cluster
from groups.feeds import feed_of
from groups.testing.feed import member_view, snapshot
from groups.testing.fixtures import CLUSTER
from groups.times import now_ms
from kaas.feed.types import Phase, RebalanceView, WaitingFor

GROUP = f"{CLUSTER}/groups/shop/"


@pytest.fixture
def shop(world):
    world.topic("orders", 10, 10)
    members = [member_view("one-1", {"orders": [0]}, is_leader=True), member_view("two-2", {"orders": [1]})]
    world.group("shop", {("orders", 0): 10, ("orders", 1): 4}, members=members, leader="one-1", generation=7)
    world.read()
    return world


def test_it_works(api, shop):
    row = api("GET", GROUP)
    assert (row["group_id"], row["state"], row["generation"], row["member_count"]) == ("shop", "Stable", 7, 2)
    assert (row["total_lag"], row["lag_status"], row["topics"]) == (6, "lagging", ["orders"])
    assert row["phase"] == {
        "name": "stable",
        "since": row["state_since"],
        "waiting_for": [],
        "waiting_count": 0,
    }
    assert row["armed_reset"] is None and row["rebalance"] is None
    assert 0 <= row["snapshot_age_ms"] < 5_000
    one, two = row["members"]
    assert (one["member_id"], one["key"], one["client_id"], one["lag"]) == ("one-1", "one-1", "one", 0)
    assert two["assignment"] == [{"topic": "orders", "partitions": [1]}] and two["lag"] == 6
    assert 0 <= one["last_heartbeat_ms_ago"] < 5_000


def test_it_counts_the_members_that_read_each_topic(api, world):
    """How many of the members read one topic could not be told.

    https://github.com/provectus/kafka-ui/issues/3668
    """
    both = {"subscription": ["bills", "orders"]}
    owning = member_view("two-2", {"orders": [1]}, subscription=[], subscription_regex="ord.*")
    world.group("shop", {("left", 0): 4}, members=[member_view("one-1", {"orders": [0]}, **both), owning])
    row = api("GET", GROUP)
    assert row["topic_members"] == {"bills": 1, "left": 0, "orders": 2} and list(row["topic_members"]) == row["topics"]


def test_it_counts_owned_partitions_without_a_commit(api, world):
    """They were neither in the sum nor beside it.

    https://github.com/redpanda-data/console/issues/788
    """
    world.topic("orders", *[10] * 10)
    member = member_view("one-1", {"orders": list(range(10))})
    world.group("shop", {("orders", partition): 9 for partition in range(8)}, members=[member])
    row = api("GET", GROUP)
    assert (row["total_lag"], row["uncommitted"]) == (8, 2)


def test_it_says_why_a_live_group_cannot_be_reset_or_deleted(api, shop):
    actions = api("GET", GROUP)["actions"]
    assert actions["delete"] == {
        "allowed": False,
        "reason": "The group is Stable with 2 live members (one, two): stop them first.",
    }
    assert actions["reset"]["allowed"] is False and "arm the reset" in actions["reset"]["reason"]
    assert actions["arm_reset"]["allowed"] and actions["remove_member"]["allowed"]


def test_it_allows_what_an_empty_group_allows(api, world):
    world.group("shop")
    actions = api("GET", GROUP)["actions"]
    assert actions["delete"]["allowed"] and actions["reset"]["allowed"] and actions["delete_offsets"]["allowed"]
    assert actions["remove_member"] == {"allowed": False, "reason": "The group has no members."}


def test_it_allows_a_viewer_nothing_and_says_so(make_caller, shop):
    actions = make_caller("read")("GET", GROUP)["actions"]
    assert not any(action["allowed"] for action in actions.values())
    assert "needs the right to operate" in actions["delete"]["reason"]


def test_it_allows_nothing_on_a_read_only_cluster(api, shop, settings):
    settings.KAAS_CLUSTERS = {"local": Cluster(name="local", bootstrap="127.0.0.1:1", read_only=True)}
    assert "read-only" in api("GET", GROUP)["actions"]["remove_member"]["reason"]


def test_it_names_the_phase_and_whom_it_waits_for(api, world):
    now = now_ms()
    rebalance = RebalanceView(
        started_at=now - 500,
        cause="member_joined",
        member_id="two-2",
        detail={"client_id": "two"},
        also=[{"cause": "member_left", "member_id": "three-3", "detail": {}}],
        phase="joining",
        phase_since=now - 400,
        phases=[Phase(name="joining", duration_ms=100)],
        waiting_for=[WaitingFor(member_id="one-1", client_id="one", timer="rebalance", deadline_at=now + 9_000)],
        waiting_count=1,
        generation_before=7,
        members_before=1,
    )
    world.group("shop", members=[member_view("one-1")], state="PreparingRebalance", rebalance=rebalance)
    row = api("GET", GROUP)
    assert row["phase"]["name"] == "joining" and row["phase"]["waiting_count"] == 1
    (waiting,) = row["phase"]["waiting_for"]
    assert (waiting["member_id"], waiting["timer"]) == ("one-1", "rebalance") and waiting["deadline"]
    assert row["rebalance"]["cause_text"] == "two joined."
    assert row["rebalance"]["also"][0]["cause_text"] == "three-3 left."


def test_it_shows_newer_heartbeats_than_the_snapshot_has(api, world):
    old = now_ms() - 60_000
    world.group("shop", members=[member_view("one-1", last_heartbeat_at=old)])
    world.read()
    assert api("GET", GROUP)["members"][0]["last_heartbeat_ms_ago"] >= 60_000
    feed_of("local").index.heartbeats["shop"] = {"one-1": now_ms()}
    assert api("GET", GROUP)["members"][0]["last_heartbeat_ms_ago"] < 5_000


def test_it_shows_raw_bytes_of_what_cannot_be_decoded(api, world):
    raw = member_view("one-1", subscription=None, subscription_raw="AAE=", assignment=None, assignment_raw="/w==")
    bare = member_view("two-2", subscription=None, assignment=None)
    world.group("shop", members=[raw, bare])
    one, two = api("GET", GROUP)["members"]
    assert (one["subscription"], one["subscription_raw"], one["assignment"]) == (None, "AAE=", None)
    assert (two["subscription"], two["assignment"], two["lag"]) == ([], [], None)


def test_it_passes_on_a_state_that_nobody_here_knows(api, world):
    """A word that is new in Kafka was shown as UNKNOWN.

    https://github.com/kafbat/kafka-ui/issues/1950
    """
    world.group("shop", members=[member_view("one-1")], state="Dreaming")
    assert api("GET", GROUP)["state"] == "Dreaming"


@pytest.mark.parametrize("key", ["never-seen", "~!", "~/", "~_w", "%20"])
def test_it_knows_no_group_behind_such_a_key(api, feed, key):
    problem = api("GET", f"{CLUSTER}/groups/{key}/", expect=404)
    assert {"resource", "kind", "code", "code_number", "message", "retriable"} <= problem.keys()


def test_it_hides_groups_that_are_not_granted(make_caller, shop):
    assert make_caller("admin", group_pattern="other*")("GET", GROUP, expect=404)["kind"] == "not_found"


def test_it_tells_that_the_feed_is_away(api, shop, settings):
    settings.KAAS_REDIS_URL = "unix:///nowhere/valkey.sock"
    assert api("GET", GROUP, expect=503)["kind"] == "not_connected"


def test_it_describes_a_consumer_group_by_its_epochs(api, world):
    world.feed.group(snapshot("shop", type="consumer", generation=None, group_epoch=5, assignment_epoch=4))
    row = api("GET", GROUP)
    assert (row["generation"], row["group_epoch"], row["assignment_epoch"]) == (None, 5, 4)
