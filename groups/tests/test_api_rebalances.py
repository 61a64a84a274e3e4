"""GET …/groups/{group}/rebalances/ and …/rebalances/{n}/."""

from __future__ import annotations

from urllib.parse import quote

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
    assert row["moved"] == [{"topic": "orders", "partition": 1, "from": "one-1", "to": "two-1", "without_ms": 120}]
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


def test_it_filters_by_cause_and_time(api, history):
    asked = "cause=member_joined&cause=session_expired"
    assert [row["number"] for row in api("GET", f"{REBALANCES}?{asked}")["items"]] == [2, 1]
    began = quote(api("GET", f"{REBALANCES}3/")["ended_at"])
    assert next(row["number"] for row in api("GET", f"{REBALANCES}?from={began}")["items"]) == 3
    assert api("GET", f"{REBALANCES}?to=2026-01-01T00:00:00Z")["total"] == 0


@pytest.mark.parametrize("query", ["cause=boredom", "from=2026-01-01T00:00:00", "to=yesterday", "colour=blue"])
def test_it_refuses_what_makes_no_sense(api, history, query):
    assert api("GET", f"{REBALANCES}?{query}", expect=400)["details"]


def test_flapping_is_named_with_advice_whatever_is_filtered(api, history):
    assert api("GET", REBALANCES)["flapping"] is None
    detail = {"client_id": "two", "silent_ms": 11_000, "timeout_ms": 10_000}
    for _ in range(2):
        history.event("shop", "rebalance_completed", rebalance=rebalance_record(cause="session_expired", detail=detail))
    history_write("local")
    told = api("GET", f"{REBALANCES}?cause=member_joined")["flapping"]
    assert (told["cause"], told["who"], told["count"], told["of"]) == ("session_expired", "two", 3, 4)
    assert told["text"] == "3 of the last 4 rebalances: two silent past its 10 s session."
    assert told["advice"].startswith("Its process stopped answering for 10 s to 11 s each time: look for pauses")


def test_what_came_while_it_ran_keeps_its_detail(api, feed, db):
    also = [{"cause": "member_left", "member_id": "a-1", "detail": {"client_id": "a", "reason": "closed"}}]
    feed.group(snapshot("shop"))
    feed.event("shop", "rebalance_completed", rebalance=rebalance_record(also=also))
    history_write("local")
    (one,) = api("GET", f"{REBALANCES}1/")["also"]
    assert (one["cause_text"], one["detail"]["reason"]) == ("a left: closed.", "closed")


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
