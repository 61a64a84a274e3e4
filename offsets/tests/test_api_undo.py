"""POST …/groups/{group}/undo/."""

from __future__ import annotations

import pytest

from groups.models import AuditRow, OffsetBackup
from groups.problems import not_connected, timed_out
from groups.testing.feed import member_view, snapshot
from groups.testing.fixtures import CLUSTER
from kaas.errors import ErrorCode
from offsets.services import undo

GROUP = f"{CLUSTER}/groups/shop/"
UNDO = f"{GROUP}undo/"


@pytest.fixture
def shop(world):
    world.topic("orders", 10, 10)
    world.group("shop", {("orders", 0): 4, ("orders", 1): 6})
    return world


def reset(api, strategy="latest", scope=None):
    plan = api("POST", f"{GROUP}reset-plans/", {"strategy": strategy, "scope": scope or {"all": True}}, expect=201)
    return api("POST", f"{GROUP}reset-plans/{plan['id']}/apply/")


def offsets(world):
    return {place[1]: held.offset for place, held in world.gateway.offsets("shop").items()}


def test_it_works_once(api, shop):
    reset(api)
    done = api("POST", UNDO)
    assert done["outcome"] == "applied"
    assert [(row["before"], row["after"], row["read_back"]) for row in done["items"]] == [(10, 4, 4), (10, 6, 6)]
    assert offsets(shop) == {0: 4, 1: 6}
    assert AuditRow.objects.filter(action="undo", outcome="done").count() == 1
    assert "could be undone" in api("POST", UNDO, expect=404)["message"]


def test_it_goes_back_one_by_one(api, shop):
    reset(api, "latest")
    reset(api, "earliest")
    api("POST", UNDO)
    assert offsets(shop) == {0: 10, 1: 10}
    api("POST", UNDO)
    assert offsets(shop) == {0: 4, 1: 6}
    api("POST", UNDO, expect=404)


def test_it_brings_back_a_deleted_group(api, shop):
    api("DELETE", GROUP)
    shop.feed.gone("shop")
    api("POST", UNDO)
    assert offsets(shop) == {0: 4, 1: 6}


def test_it_brings_back_deleted_offsets_with_their_metadata(api, shop):
    held = shop.gateway.groups["shop"].offsets
    held["orders", 0] = type(held["orders", 0])(offset=4, metadata="kept")
    api("DELETE", f"{GROUP}offsets/", {"topics": [{"topic": "orders", "partitions": [0]}]})
    assert offsets(shop) == {1: 6}
    api("POST", UNDO)
    assert shop.gateway.offsets("shop")["orders", 0].metadata == "kept" and offsets(shop) == {0: 4, 1: 6}


def test_what_was_new_is_taken_away_again(api, shop):
    shop.gateway.group("shop", {("orders", 0): 4})
    shop.feed.group(snapshot("shop", offsets={("orders", 0): 4}))
    reset(api, "earliest", {"topics": [{"topic": "orders"}]})
    assert offsets(shop) == {0: 0, 1: 0}
    done = api("POST", UNDO)
    assert [(row["after"], row["read_back"]) for row in done["items"]] == [(4, 4), (None, None)]
    assert offsets(shop) == {0: 4}


def test_a_live_group_is_refused_and_can_be_undone_later(api, shop):
    reset(api)
    shop.feed.group(snapshot("shop", members=[member_view("one-1")]))
    assert "1 live member" in api("POST", UNDO, expect=409)["message"]
    shop.feed.group(snapshot("shop"))
    api("POST", UNDO)


def test_what_the_broker_refuses_can_be_tried_again(api, shop):
    reset(api)
    shop.gateway.groups["shop"].members = {"late": None}
    assert api("POST", UNDO, expect=409)["code_number"] == ErrorCode.UNKNOWN_MEMBER_ID
    shop.gateway.groups["shop"].members = {}
    api("POST", UNDO)
    assert offsets(shop) == {0: 4, 1: 6}


def test_one_in_doubt_is_not_tried_again(api, shop, monkeypatch):
    reset(api)

    def too_late(group_id, targets):
        raise timed_out("cluster local", 10)

    monkeypatch.setattr(shop.gateway, "commit_offsets", too_late)
    api("POST", UNDO, expect=504)
    assert OffsetBackup.objects.get().used_at is not None
    shop.gateway.failing = not_connected("cluster local", "refused")
    api("POST", UNDO, expect=404)


def test_of_two_who_undo_one_does(api, shop, monkeypatch):
    reset(api)
    monkeypatch.setattr(undo, "backup_claim", lambda backup: False)
    assert "same time" in api("POST", UNDO, expect=409)["message"]


def test_it_only_tells_in_a_dry_run(api, shop):
    reset(api)
    told = api("POST", f"{UNDO}?dry_run=true")
    assert [(row["before"], row["after"], row["read_back"]) for row in told["items"]] == [(10, 4, None), (10, 6, None)]
    assert offsets(shop) == {0: 10, 1: 10}


def test_it_is_404_where_nothing_was_done_and_denied_to_viewers(api, make_caller, shop):
    api("POST", f"{CLUSTER}/groups/never-seen/undo/", expect=404)
    make_caller("read")("POST", UNDO, expect=403)
    make_caller("admin", group_pattern="other", name="other")("POST", UNDO, expect=404)


def test_what_can_be_undone_is_listed_with_who_when_and_what(api, make_caller, shop):
    reset(api, "latest")
    reset(api, "earliest", {"topics": [{"topic": "orders", "partitions": [1]}]})
    reader = make_caller("read")
    told = reader("GET", UNDO)
    assert told["total"] == 2 and [row["partitions"] for row in told["items"]] == [1, 2]
    assert {(row["action"], row["topics"][0]) for row in told["items"]} == {("offsets_reset", "orders")}
    assert told["items"][0]["actor"] and told["items"][0]["at"] > told["items"][1]["at"]
    assert len(reader("GET", f"{UNDO}?page_size=1&page=2")["items"]) == 1
    make_caller("admin", group_pattern="other", name="other")("GET", UNDO, expect=404)


def test_one_that_is_not_the_last_is_chosen_and_the_others_stay(api, shop):
    reset(api, "latest")
    reset(api, "earliest", {"topics": [{"topic": "orders", "partitions": [1]}]})
    newer, older = api("GET", UNDO)["items"]
    done = api("POST", UNDO, {"id": older["id"]})
    assert done["id"] == older["id"] and [row["before"] for row in done["items"]] == [10, 0]
    assert offsets(shop) == {0: 4, 1: 6}
    assert api("GET", UNDO)["items"] == [newer]
    assert f"deletion {older['id']} of" in api("POST", UNDO, {"id": older["id"]}, 404)["message"]


@pytest.mark.parametrize("body", [{"id": "x"}, {"id": ""}, {"id": None}, {"id": "1" * 19}, {"which": "1"}])
def test_a_choice_that_makes_no_sense_is_refused(api, shop, body):
    api("POST", UNDO, body, 400)


def test_a_choice_of_another_group_is_not_there(api, shop):
    reset(api)
    shop.group("other", {("orders", 0): 1})
    (row,) = api("GET", UNDO)["items"]
    api("POST", f"{CLUSTER}/groups/other/undo/", {"id": row["id"]}, 404)
