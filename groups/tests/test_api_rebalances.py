"""GET …/groups/{group}/rebalances/ and …/rebalances/{n}/."""

from __future__ import annotations

import pytest

from groups.history import history_write
from groups.testing.feed import rebalance_record, snapshot
from groups.testing.fixtures import CLUSTER

REBALANCES = f"{CLUSTER}/groups/shop/rebalances/"


@pytest.fixture
def history(db, feed):
    """Three rebalances of one group, one of another."""
    feed.group(snapshot("shop"))
    for cause, detail in (
        ("member_joined", {"client_id": "two"}),
        ("session_expired", {"client_id": "two", "silent_ms": 10_000, "timeout_ms": 10_000}),
        ("member_removed", {"client_id": "two", "reason": "member was removed by an admin: stuck (by ann)"}),
    ):
        feed.event("shop", "rebalance_completed", rebalance=rebalance_record(cause=cause, detail=detail))
    feed.event("other", "rebalance_completed", rebalance=rebalance_record())
    history_write("local")
    return feed


def test_it_works(api, history):
    answer = api("GET", REBALANCES)
    assert [row["number"] for row in answer["items"]] == [3, 2, 1] and answer["total"] == 3
    assert [row["cause"] for row in answer["items"]] == ["member_removed", "session_expired", "member_joined"]
    assert [row["cause_text"] for row in answer["items"]] == [
        "two was removed by an operator: stuck (by ann).",
        "two was silent for 10 s (session timeout 10 s).",
        "two joined.",
    ]
    row = answer["items"][2]
    assert row["phases"] == [{"name": "joining", "duration_ms": 100}, {"name": "syncing", "duration_ms": 20}]
    assert row["moved"] == [{"topic": "orders", "partition": 1, "from": "one-1", "to": "two-1"}]
    assert (row["generation_before"], row["generation_after"], row["members_before"], row["members_after"]) == (
        1,
        2,
        1,
        2,
    )
    assert (row["duration_ms"], row["kept"], row["without_ms"]) == (120, 1, {"one-1": 120})
    assert row["started_at"].endswith("+00:00") and row["ended_at"].endswith("+00:00")


def test_it_pages(api, history):
    answer = api("GET", f"{REBALANCES}?page=2&page_size=2")
    assert [row["number"] for row in answer["items"]] == [1] and (answer["total"], answer["page"]) == (3, 2)


def test_it_shows_one(api, history):
    assert api("GET", f"{REBALANCES}2/")["cause"] == "session_expired"


@pytest.mark.parametrize("number", ["4", "0", "99999999999999999999", "x"])
def test_it_is_404_for_a_rebalance_that_was_not(api, history, number):
    assert api("GET", f"{REBALANCES}{number}/", expect=404)["kind"] == "not_found"


def test_it_stays_when_the_group_is_gone(api, history):
    history.gone("shop")
    assert api("GET", REBALANCES)["total"] == 3


def test_it_is_empty_for_a_group_that_never_rebalanced(api, history):
    history.group(snapshot("calm"))
    assert api("GET", f"{CLUSTER}/groups/calm/rebalances/")["items"] == []


def test_it_is_404_for_an_unknown_group(api, history):
    api("GET", f"{CLUSTER}/groups/never-seen/rebalances/", expect=404)


def test_it_hides_groups_that_are_not_granted(make_caller, history):
    narrow = make_caller("read", group_pattern="other")
    narrow("GET", REBALANCES, expect=404)
    narrow("GET", f"{REBALANCES}1/", expect=404)
    assert narrow("GET", f"{CLUSTER}/groups/other/rebalances/")["total"] == 1
