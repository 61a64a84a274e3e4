"""GET /api/v1/clusters/{cluster}/groups/."""

from __future__ import annotations

import time

import pytest

from groups.feeds import feed_of
from groups.testing.feed import last_rebalance, member_view
from groups.testing.fixtures import CLUSTER, Caller
from groups.times import now_ms

GROUPS = f"{CLUSTER}/groups/"


@pytest.fixture
def listed(world):
    """Three groups: one Stable, one Empty with lag, one simple."""
    world.topic("orders", 10, 10)
    world.topic("bills", 5)
    world.group(
        "shop-b",
        {("orders", 0): 10, ("orders", 1): 4},
        members=[member_view("one-1", {"orders": [0, 1]})],
        last_rebalance=last_rebalance(),
    )
    world.group("Shop-A", {("orders", 0): 3})
    world.group("other", {("bills", 0): 5}, coordinator=2)
    world.read()
    return world


def ids(answer):
    return [item["group_id"] for item in answer["items"]]


def test_it_works(api, listed):
    answer = api("GET", GROUPS)
    assert ids(answer) == ["Shop-A", "other", "shop-b"]
    assert (answer["total"], answer["page"], answer["errors"]) == (3, 1, [])
    assert 0 <= answer["snapshot_age_ms"] < 5_000
    assert answer["counters"] == {"Empty": 2, "Stable": 1}
    item = answer["items"][2]
    assert item == {
        "cluster": "local",
        "group_id": "shop-b",
        "key": "shop-b",
        "state": "Stable",
        "type": "classic",
        "protocol": "range",
        "member_count": 1,
        "topics": ["orders"],
        "total_lag": 6,
        "lag_status": "lagging",
        "last_rebalance": item["last_rebalance"],
        "coordinator": 1,
        "error": None,
    }
    assert item["last_rebalance"]["cause"] == "member_joined"
    assert item["last_rebalance"]["cause_text"] == "two joined."
    assert item["last_rebalance"]["at"].endswith("+00:00")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("search=SHOP", ["Shop-A", "shop-b"]),
        ("search=nothing", []),
        ("regex=^shop-", ["shop-b"]),
        ("regex=(A|b)$", ["Shop-A", "shop-b"]),
        ("state=Stable", ["shop-b"]),
        ("state=Stable&state=Empty", ["Shop-A", "other", "shop-b"]),
        ("type=simple", ["Shop-A", "other"]),
        ("topic=bills", ["other"]),
        ("topic=unknown", []),
        ("min_lag=6", ["Shop-A", "shop-b"]),
        ("min_lag=8", []),
        ("coordinator=2", ["other"]),
        ("search=shop&state=Empty", ["Shop-A"]),
        ("ordering=-group_id", ["shop-b", "other", "Shop-A"]),
        ("ordering=-total_lag", ["Shop-A", "shop-b", "other"]),
        ("ordering=member_count", ["Shop-A", "other", "shop-b"]),
        ("ordering=last_rebalance", ["shop-b", "Shop-A", "other"]),
        ("ordering=-last_rebalance", ["shop-b", "Shop-A", "other"]),
        ("page_size=2", ["Shop-A", "other"]),
        ("page_size=2&page=2", ["shop-b"]),
        ("page_size=2&page=3", []),
    ],
)
def test_it_filters_sorts_and_pages(api, listed, query, expected):
    assert ids(api("GET", f"{GROUPS}?{query}")) == expected


def test_it_counts_states_whatever_state_is_chosen(api, listed):
    answer = api("GET", f"{GROUPS}?search=shop&state=Stable")
    assert answer["counters"] == {"Empty": 1, "Stable": 1} and answer["total"] == 1


@pytest.mark.parametrize(
    "query",
    [
        "page=0",
        "page=x",
        "page_size=1001",
        "page_size=0",
        "ordering=password",
        "regex=(",
        "regex=(?=a)",
        "min_lag=many",
        "min_lag=-1",
        "state=Happy",
        "type=sad",
        "coordinator=one",
        "colour=blue",
        "search=%00",
    ],
)
def test_it_refuses_what_makes_no_sense(api, listed, query):
    problem = api("GET", f"{GROUPS}?{query}", expect=400)
    assert problem["kind"] == "invalid" and problem["message"] and problem["retriable"] is False
    assert problem["details"]


def test_it_is_not_held_up_by_a_regex_that_explodes(api, world):
    world.group("a" * 48 + "!")
    world.read()
    begin = time.monotonic()
    assert ids(api("GET", f"{GROUPS}?regex=^(a%2B)%2B$")) == []
    assert time.monotonic() - begin < 2


def test_it_refuses_strangers(api, listed):
    for stranger in (Caller(None), Caller("kaas_nonsense")):
        response = stranger.raw("GET", GROUPS)
        assert response.status_code == 401 and response["WWW-Authenticate"] == "Bearer"
        assert response.json()["kind"] == "unauthenticated"


def test_it_knows_no_other_cluster(api, listed):
    assert api("GET", "/api/v1/clusters/nowhere/groups/", expect=404)["resource"] == "cluster nowhere"


def test_it_shows_visible_groups_only(make_caller, listed):
    """L9: a right on some names was not asked for by the list."""
    narrow = make_caller("read", group_pattern="shop-*")
    answer = narrow("GET", GROUPS)
    assert ids(answer) == ["shop-b"] and answer["total"] == 1 and answer["counters"] == {"Stable": 1}


def test_it_says_that_the_feed_was_not_read_yet(api, feed):
    problem = api("GET", GROUPS, expect=503)
    assert problem["kind"] == "not_connected" and problem["retriable"] is True


def test_it_names_a_broker_that_is_silent(api, listed):
    """L10: one broker that did not answer made the list shorter, and nobody was told."""
    listed.feed.broker(2, at=now_ms() - 60_000)
    listed.read()
    (error,) = api("GET", GROUPS)["errors"]
    assert error["resource"] == "broker 2" and error["code"] == "BROKER_SILENT"


def test_it_answers_on_when_it_is_cut_off_and_says_so(api, listed, settings, monkeypatch):
    """Old numbers looked like new ones.

    https://github.com/kafbat/kafka-ui/issues/1055
    """
    settings.KAAS_REDIS_URL = "unix:///nowhere/valkey.sock"
    monkeypatch.setattr(feed_of("local").reader, "is_cut_off", lambda: True)
    answer = api("GET", GROUPS)
    assert answer["total"] == 3 and [error["resource"] for error in answer["errors"]] == ["feed of local"]


def test_it_names_a_group_whose_state_cannot_be_read(api, world):
    """One group that could not be described failed the whole list.

    https://github.com/kafbat/kafka-ui/issues/1980
    """
    world.group("torn", error="bad checksum")
    world.read()
    answer = api("GET", GROUPS)
    assert answer["items"][0]["error"] == "bad checksum"
    assert [error["code"] for error in answer["errors"]] == ["STATE_UNREADABLE"]


def test_it_asks_no_broker(api, listed):
    api("GET", f"{GROUPS}?ordering=-total_lag")
    assert listed.gateway.calls == []


@pytest.mark.parametrize(
    "group_id", ["a/b", "..", "%2F", " lead ", "é 😀", "<b>", "a\nb", "~t", "x" * 300, '"q", c', ""]
)
def test_it_lists_ids_of_any_characters(api, world, group_id):
    world.group(group_id)
    world.read()
    (item,) = api("GET", GROUPS)["items"]
    assert item["group_id"] == group_id
    assert api("GET", f"{GROUPS}{item['key']}/")["group_id"] == group_id


def test_it_gives_large_lags_as_text_too(api, world):
    world.gateway.topic("big", 0)
    world.feed.topic("big", (0, 2**60))
    world.group("far", {("big", 0): 1})
    world.read()
    (item,) = api("GET", GROUPS)["items"]
    assert item["total_lag_str"] == str(2**60 - 1)
