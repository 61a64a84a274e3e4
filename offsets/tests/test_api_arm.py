"""POST …/reset-plans/{id}/arm/, and what becomes of it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from groups.models import AuditRow, RoleBinding, Token
from groups.problems import not_connected, timed_out
from groups.testing.feed import member_view, snapshot
from groups.testing.fixtures import CLUSTER
from kaas.errors import ErrorCode
from offsets import tasks
from offsets.models import ResetPlan
from offsets.services import armed
from offsets.services.armed import armed_apply, plans_expire

GROUP = f"{CLUSTER}/groups/shop/"
PLANS = f"{GROUP}reset-plans/"


@pytest.fixture
def shop(world):
    world.topic("orders", 10, 10)
    world.group("shop", {("orders", 0): 4, ("orders", 1): 6}, members=[member_view("one-1", {"orders": [0, 1]})])
    return world


def make(api, strategy="earliest", value=None):
    return api("POST", PLANS, {"strategy": strategy, "value": value, "scope": {"all": True}}, expect=201)


def arm(api, plan, expect=200, query=""):
    return api("POST", f"{PLANS}{plan['id']}/arm/{query}", expect=expect)


def empty(world):
    """The last member leaves, after a last commit."""
    world.gateway.group("shop", {("orders", 0): 5, ("orders", 1): 6})
    world.feed.group(snapshot("shop"))


def offsets(world):
    return {place[1]: held.offset for place, held in world.gateway.offsets("shop").items()}


def test_it_works(api, shop):
    plan = make(api, "shift", -2)
    armed = arm(api, plan)
    assert armed["armed"] is True and armed["id"] == plan["id"] and armed["expires_at"]
    shown = api("GET", GROUP)["armed_reset"]
    assert (shown["id"], shown["by"]) == (plan["id"], "admin (test)") and shown["at"] and shown["expires_at"]
    assert not armed_apply("local", "shop")
    empty(shop)
    assert armed_apply("local", "shop")
    assert offsets(shop) == {0: 3, 1: 4}
    assert api("GET", GROUP)["armed_reset"] is None
    assert api("GET", f"{PLANS}{plan['id']}/")["status"] == "applied"
    row = AuditRow.objects.get(action="armed_reset")
    assert (row.actor, row.before, row.after) == (
        "admin (test)",
        {"orders/0": 5, "orders/1": 6},
        {"orders/0": 3, "orders/1": 4},
    )
    assert not armed_apply("local", "shop")


def test_the_sweep_finds_what_nobody_noticed(api, shop):
    arm(api, make(api))
    tasks.armed_resets_sweep()
    assert offsets(shop) == {0: 4, 1: 6}
    empty(shop)
    tasks.armed_resets_sweep()
    assert offsets(shop) == {0: 0, 1: 0}


def test_a_group_that_is_gone_is_given_its_offsets(api, shop):
    plan = api("POST", PLANS, {"strategy": "latest", "scope": {"topics": [{"topic": "orders"}]}}, expect=201)
    arm(api, plan)
    shop.feed.gone("shop")
    del shop.gateway.groups["shop"]
    assert armed_apply("local", "shop") and offsets(shop) == {0: 10, 1: 10}


def test_an_empty_group_needs_no_arming(api, shop):
    empty(shop)
    assert "apply the plan at once" in arm(api, make(api), expect=409)["message"]


def test_a_group_has_one_armed_plan(api, shop):
    one, two = make(api), make(api, "latest")
    arm(api, one)
    problem = arm(api, two, expect=409)
    assert "armed already by admin (test)" in problem["message"]
    api("DELETE", f"{PLANS}{one['id']}/", expect=204)
    arm(api, two)
    empty(shop)
    assert armed_apply("local", "shop") and offsets(shop) == {0: 10, 1: 10}


def test_an_armed_plan_is_neither_applied_by_hand_nor_armed_twice(api, shop):
    plan = make(api)
    arm(api, plan)
    assert "was armed by admin (test)" in arm(api, plan, expect=409)["message"]
    assert "was armed by" in api("POST", f"{PLANS}{plan['id']}/apply/", expect=409)["message"]


def test_a_dropped_one_is_not_carried_out(api, shop):
    plan = make(api)
    arm(api, plan)
    api("DELETE", f"{PLANS}{plan['id']}/", expect=204)
    empty(shop)
    assert not armed_apply("local", "shop") and offsets(shop) == {0: 5, 1: 6}


def test_it_expires(api, shop):
    arm(api, make(api))
    ResetPlan.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    empty(shop)
    assert not armed_apply("local", "shop") and offsets(shop) == {0: 5, 1: 6}
    assert plans_expire() == 1 and plans_expire() == 0
    plan = ResetPlan.objects.get()
    assert (plan.status, plan.message) == ("expired", "Its time was over.")
    assert api("GET", GROUP)["armed_reset"] is None


def test_the_task_ends_plans_too(api, shop):
    make(api)
    ResetPlan.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    tasks.plans_expire()
    assert ResetPlan.objects.get().status == "expired"


def test_it_waits_on_when_members_came_back_or_the_cluster_is_away(api, shop):
    arm(api, make(api))
    empty(shop)
    shop.gateway.groups["shop"].members = {"back": None}
    assert not armed_apply("local", "shop") and ResetPlan.objects.get().status == "armed"
    for problem in (not_connected("cluster local", "refused"), timed_out("cluster local", 10)):
        shop.gateway.failing = problem
        assert not armed_apply("local", "shop") and ResetPlan.objects.get().status == "armed"
    shop.gateway.failing, shop.gateway.groups["shop"].members = None, {}
    assert armed_apply("local", "shop")


def test_it_is_cancelled_with_a_reason_when_it_cannot_be(api, shop):
    arm(api, make(api, "csv", "orders,0,7"))
    empty(shop)
    shop.gateway.codes["orders", 0] = ErrorCode.KAFKA_STORAGE_ERROR
    assert not armed_apply("local", "shop")
    plan = ResetPlan.objects.get()
    assert plan.status == "cancelled" and "could still reset" in plan.message


def test_a_cluster_that_refuses_ends_it(api, shop, monkeypatch):
    arm(api, make(api))
    empty(shop)
    refused = ErrorCode.GROUP_AUTHORIZATION_FAILED
    monkeypatch.setattr(shop.gateway, "commit_offsets", lambda group_id, targets: dict.fromkeys(targets, refused))
    assert not armed_apply("local", "shop") and ResetPlan.objects.get().status == "cancelled"


def test_one_in_doubt_has_failed_and_is_not_tried_again(api, shop, monkeypatch):
    arm(api, make(api))
    empty(shop)

    def too_late(group_id, targets):
        raise timed_out("cluster local", 10)

    monkeypatch.setattr(shop.gateway, "commit_offsets", too_late)
    assert not armed_apply("local", "shop")
    plan = ResetPlan.objects.get()
    assert plan.status == "failed" and "did not answer" in plan.message
    assert not armed_apply("local", "shop")


@pytest.mark.parametrize("taken", ["token", "role", "user"])
def test_it_is_carried_out_only_while_who_armed_it_may(make_caller, shop, taken):
    caller = make_caller("operate")
    arm(caller, make(caller))
    if taken == "token":
        Token.objects.filter(owner__username="caller").delete()
    elif taken == "role":
        RoleBinding.objects.filter(user__username="caller").update(role="read")
    else:
        RoleBinding.objects.filter(user__username="caller").delete()
    empty(shop)
    assert not armed_apply("local", "shop") and offsets(shop) == {0: 5, 1: 6}
    assert ResetPlan.objects.get().status == "cancelled" and ResetPlan.objects.get().message


def test_of_two_who_notice_one_carries_it_out(api, shop, monkeypatch):
    arm(api, make(api))
    empty(shop)
    carry_out = armed._carry_out

    def and_a_twin(cluster, plan):
        assert not armed_apply("local", "shop")
        carry_out(cluster, plan)

    monkeypatch.setattr(armed, "_carry_out", and_a_twin)
    assert armed_apply("local", "shop")
    assert shop.gateway.calls.count("commit_offsets") == 1


def test_a_group_that_emptied_while_it_was_armed_is_not_left_waiting(api, shop, monkeypatch):
    plan = make(api)
    arm_it = armed._arm

    def and_it_empties(*given):
        arm_it(*given)
        empty(shop)

    monkeypatch.setattr(armed, "_arm", and_it_empties)
    arm(api, plan)
    assert offsets(shop) == {0: 0, 1: 0}


def test_it_only_tells_in_a_dry_run(api, shop):
    plan = make(api)
    assert arm(api, plan, query="?dry_run=true")["armed"] is False
    assert api("GET", GROUP)["armed_reset"] is None


def test_a_feed_that_is_away_is_left_to_the_next_turn(api, shop, settings):
    arm(api, make(api))
    settings.KAAS_REDIS_URL = "unix:///nowhere/valkey.sock"
    tasks.armed_resets_sweep()
    assert ResetPlan.objects.get().status == "armed"
