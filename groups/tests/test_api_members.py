"""GET …/groups/{group}/members/ and DELETE …/members/{member}/."""

from __future__ import annotations

import pytest

from groups.keys import key_of
from groups.models import AuditRow
from groups.testing.feed import member_view
from groups.testing.fixtures import CLUSTER

MEMBERS = f"{CLUSTER}/groups/shop/members/"
ODD = "one/é-1"


@pytest.fixture
def shop(world):
    world.topic("orders", 10)
    world.group("shop", {("orders", 0): 4}, members=[member_view(ODD, {"orders": [0]}), member_view("idle-2")])
    world.read()
    return world


def test_it_works(api, shop):
    answer = api("GET", MEMBERS)
    assert [row["member_id"] for row in answer["items"]] == ["idle-2", ODD]
    assert answer["total"] == 2 and answer["snapshot_age_ms"] is not None
    idle, busy = answer["items"]
    assert (idle["assignment"], idle["lag"], busy["lag"], busy["key"]) == ([], None, 6, key_of(ODD))


def test_it_is_404_for_an_unknown_group(api, feed):
    api("GET", MEMBERS, expect=404)


def test_it_removes_a_member_and_says_why(api, shop):
    answer = api("DELETE", f"{MEMBERS}{key_of(ODD)}/", {"reason": "stuck"})
    assert answer == {"group_id": "shop", "member_id": ODD, "removed": True, "dry_run": False}
    assert list(shop.gateway.groups["shop"].members) == ["idle-2"]
    row = AuditRow.objects.get(action="member_remove")
    assert row.before["member_id"] == ODD and row.after["reason"] == "stuck" and row.outcome == "done"


def test_it_needs_no_reason(api, shop):
    assert api("DELETE", f"{MEMBERS}idle-2/")["removed"] is True


def test_it_only_tells_in_a_dry_run(api, shop):
    assert api("DELETE", f"{MEMBERS}idle-2/?dry_run=true")["removed"] is False
    assert "idle-2" in shop.gateway.groups["shop"].members


def test_it_is_404_for_an_unknown_member(api, shop):
    api("DELETE", f"{MEMBERS}nobody/", expect=404)
    api("DELETE", f"{MEMBERS}~!/", expect=404)


def test_it_is_404_for_a_member_that_left_in_between(api, shop):
    shop.gateway.groups["shop"].members.clear()
    api("DELETE", f"{MEMBERS}idle-2/", expect=404)
    assert AuditRow.objects.get(action="member_remove").outcome == "failed"


def test_it_is_denied_to_viewers(make_caller, shop):
    make_caller("read")("DELETE", f"{MEMBERS}idle-2/", expect=403)


@pytest.mark.parametrize(
    "body", [{"why": "x"}, {"reason": 5 * ["x"]}, [], "text", b"{", b'{"reason": "\\ud800"}', {"reason": "x" * 201}]
)
def test_it_refuses_bodies_that_make_no_sense(api, shop, body):
    assert api("DELETE", f"{MEMBERS}idle-2/", body, expect=400)["kind"] == "invalid"
    assert "idle-2" in shop.gateway.groups["shop"].members
