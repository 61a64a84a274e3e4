"""POST …/reset-plans/, GET and DELETE …/{id}/, POST …/{id}/apply/."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from groups.models import AuditRow, OffsetBackup
from groups.problems import not_connected, timed_out
from groups.testing.feed import member_view
from groups.testing.fixtures import CLUSTER
from kaas.errors import ErrorCode
from offsets.models import ResetPlan

GROUP = f"{CLUSTER}/groups/shop/"
PLANS = f"{GROUP}reset-plans/"


def body(strategy="earliest", value=None, scope=None):
    return {"strategy": strategy, "value": value, "scope": scope or {"all": True}}


@pytest.fixture
def shop(world):
    world.topic("orders", 10, 10)
    world.group("shop", {("orders", 0): 4, ("orders", 1): 6})
    return world


def offsets(world, group_id="shop"):
    return {place[1]: held.offset for place, held in world.gateway.offsets(group_id).items()}


def make(api, *given, expect=201, **more):
    return api("POST", PLANS, body(*given, **more), expect=expect)


def apply(api, plan, expect=200):
    return api("POST", f"{PLANS}{plan['id']}/apply/", expect=expect)


def test_it_works(api, shop):
    plan = make(api)
    assert plan["applicable"] is True and plan["reason"] is None and plan["state"] == "Empty"
    assert [(row["partition"], row["before"], row["after"], row["replayed"]) for row in plan["items"]] == [
        (0, 4, 0, 4),
        (1, 6, 0, 6),
    ]
    assert plan["command"].endswith("--reset-offsets --to-earliest --all-topics --execute")
    assert plan["csv"] == "orders,0,0\norders,1,0\n" and plan["expires_at"] and plan["errors"] == []
    assert offsets(shop) == {0: 4, 1: 6} and "commit_offsets" not in shop.gateway.calls


def test_it_is_applied_and_read_back(api, shop):
    """What was asked and what was written differed, and nobody looked.

    https://github.com/kafbat/kafka-ui/issues/409
    https://github.com/provectus/kafka-ui/issues/4453
    """
    done = apply(api, make(api, "offset", 3))
    assert done["outcome"] == "applied"
    assert [(row["before"], row["after"], row["read_back"], row["error"]) for row in done["items"]] == [
        (4, 3, 3, None),
        (6, 3, 3, None),
    ]
    assert offsets(shop) == {0: 3, 1: 3}
    row = AuditRow.objects.get(action="offsets_reset")
    assert (row.actor, row.outcome) == ("admin (test)", "done")
    assert (row.before, row.after) == ({"orders/0": 4, "orders/1": 6}, {"orders/0": 3, "orders/1": 3})
    assert OffsetBackup.objects.get().offsets == {"orders/0": [4, -1, ""], "orders/1": [6, -1, ""]}


def test_it_is_applied_once(api, shop):
    plan = make(api)
    apply(api, plan)
    problem = apply(api, plan, expect=409)
    assert "applied once" in problem["message"]
    assert api("GET", f"{PLANS}{plan['id']}/")["status"] == "applied"


def test_one_that_is_out_of_date_is_refused_and_may_be_used_when_it_fits_again(api, shop):
    plan = make(api)
    shop.gateway.group("shop", {("orders", 0): 5, ("orders", 1): 6})
    problem = apply(api, plan, expect=409)
    assert problem["message"] == (
        "Since the plan was made, orders 0 went from 4 to 5: by a commit, or by a tool other than this console. Plan again."
    )
    assert offsets(shop) == {0: 5, 1: 6} and not OffsetBackup.objects.exists()
    shop.gateway.group("shop", {("orders", 0): 4, ("orders", 1): 6})
    assert apply(api, plan)["outcome"] == "applied"


def test_of_two_operators_the_second_is_told_who_was_first(api, make_caller, shop):
    mine, other = make(api), make_caller("operate", name="bob")
    theirs = other("POST", PLANS, {"strategy": "latest", "scope": {"all": True}}, expect=201)
    apply(other, theirs)
    message = apply(api, mine, expect=409)["message"]
    assert (
        "orders 0 went from 4 to 10: bob" in message and "reset them at" in message and message.endswith("Plan again.")
    )
    other("POST", f"{CLUSTER}/groups/shop/undo/")
    assert apply(api, mine)["outcome"] == "applied", "the offsets are those of the plan again"


def test_offsets_outside_the_plan_may_move(api, shop):
    plan = make(api, scope={"topics": [{"topic": "orders", "partitions": [1]}]})
    shop.gateway.group("shop", {("orders", 0): 9, ("orders", 1): 6})
    apply(api, plan)
    assert offsets(shop) == {0: 9, 1: 0}


def test_a_live_group_is_planned_but_not_applicable(api, shop):
    """Success was told while the group went on as before.

    https://github.com/deviceinsight/kafkactl/issues/43
    """
    shop.group("shop", {("orders", 0): 4}, members=[member_view("one-1", {"orders": [0]})])
    plan = make(api)
    assert plan["applicable"] is False and "1 live member (one)" in plan["reason"] and plan["items"]
    assert "1 live member" in apply(api, plan, expect=409)["message"]
    assert offsets(shop) == {0: 4}


def test_members_that_came_after_all_are_a_sentence_and_the_plan_stays(api, shop):
    """The bare code is no answer.

    https://github.com/redpanda-data/redpanda/issues/5277
    """
    plan = make(api)
    shop.gateway.groups["shop"].members = {"late": None}
    problem = apply(api, plan, expect=409)
    assert problem["code_number"] == ErrorCode.UNKNOWN_MEMBER_ID and "live members" in problem["message"]
    assert OffsetBackup.objects.get().void
    shop.gateway.groups["shop"].members = {}
    apply(api, plan)


def test_what_fails_in_part_is_said_per_partition(api, shop):
    """Errors of partitions were passed over as success.

    https://github.com/DataDog/integrations-core/issues/24165
    """
    plan = make(api)
    shop.gateway.codes["orders", 1] = ErrorCode.KAFKA_STORAGE_ERROR
    done = apply(api, plan)
    assert done["outcome"] == "partly"
    zero, one = done["items"]
    assert (zero["read_back"], zero["error"]) == (0, None)
    assert (one["read_back"], one["error"]["code_number"]) == (6, 56)
    assert AuditRow.objects.get(action="offsets_reset").outcome == "partly"


def test_what_reads_back_otherwise_is_said(api, shop, monkeypatch):
    """Done was said where nothing had changed.

    https://github.com/birdayz/kaf/issues/91
    """
    plan = make(api)
    monkeypatch.setattr(
        shop.gateway, "commit_offsets", lambda group_id, targets: dict.fromkeys(targets, ErrorCode.NONE)
    )
    assert "reads back as 4, not 0" in apply(api, plan)["items"][0]["error"]["message"]


def test_one_in_doubt_is_not_tried_again_but_can_be_undone(api, shop, monkeypatch):
    plan = make(api)

    def too_late(group_id, targets):
        raise timed_out("cluster local", 10)

    monkeypatch.setattr(shop.gateway, "commit_offsets", too_late)
    apply(api, plan, expect=504)
    monkeypatch.undo()
    assert api("GET", f"{PLANS}{plan['id']}/")["status"] == "failed"
    apply(api, plan, expect=409)
    assert not OffsetBackup.objects.get().void


def test_a_cluster_that_is_away_before_the_write_leaves_the_plan(api, shop):
    plan = make(api)
    shop.gateway.failing = timed_out("cluster local", 10)
    apply(api, plan, expect=504)
    shop.gateway.failing = None
    assert apply(api, plan)["outcome"] == "applied"


def test_groups_never_seen_can_be_given_offsets(api, shop):
    """Dead was refused, though nobody lives there.

    https://github.com/deviceinsight/kafkactl/issues/217
    """
    fresh = f"{CLUSTER}/groups/fresh/reset-plans/"
    plan = api("POST", fresh, body(scope={"topics": [{"topic": "orders"}]}), expect=201)
    assert plan["state"] == "Dead" and plan["applicable"] is True
    api("POST", f"{fresh}{plan['id']}/apply/")
    assert offsets(shop, "fresh") == {0: 0, 1: 0}


def test_csv_and_other_groups_are_sources(api, shop):
    assert [row["after"] for row in make(api, "csv", "orders,0,7\norders,1,1\n")["items"]] == [7, 1]
    fresh = f"{CLUSTER}/groups/fresh/reset-plans/"
    plan = api("POST", fresh, body("group", "shop"), expect=201)
    api("POST", f"{fresh}{plan['id']}/apply/")
    assert offsets(shop, "fresh") == {0: 4, 1: 6}


def test_a_source_that_is_hidden_or_empty_is_404(make_caller, api, shop):
    shop.group("team-a", {("orders", 0): 1})
    narrow = make_caller("operate", group_pattern="team-*")
    path = f"{CLUSTER}/groups/team-a/reset-plans/"
    narrow("POST", path, body("group", "shop"), expect=404)
    api("POST", path, body("group", "never-seen"), expect=404)


def test_an_empty_scope_means_nothing(api, shop):
    plan = make(api, scope={"topics": []})
    assert plan["items"] == [] and plan["applicable"] is False and "Nothing lies" in plan["reason"]
    assert apply(api, plan, expect=409)["message"] == plan["reason"]


def test_a_plan_that_can_set_nothing_is_not_applicable(api, shop):
    plan = make(api, "shift", 1, scope={"topics": [{"topic": "orders", "partitions": [0]}]})
    shop.group("bare")
    bare = f"{CLUSTER}/groups/bare/reset-plans/"
    plan = api("POST", bare, body("shift", 1, {"topics": [{"topic": "orders"}]}), expect=201)
    assert plan["applicable"] is False and "notes" in plan["reason"]
    assert api("POST", f"{bare}{plan['id']}/apply/", expect=409)


def test_a_partition_that_cannot_be_judged_is_an_error_and_the_rest_is_applied(api, shop):
    shop.gateway.codes["orders", 1] = ErrorCode.LEADER_NOT_AVAILABLE
    plan = make(api)
    assert [error["code_number"] for error in plan["errors"]] == [5] and plan["items"][1]["after"] is None
    shop.gateway.codes.clear()
    assert [row["partition"] for row in apply(api, plan)["items"]] == [0]


@pytest.mark.parametrize(
    "bad",
    [
        {},
        body("sideways"),
        body("offset", -1),
        body("offset", 2**63),
        body("timestamp", "2026-01-01T00:00:00"),
        body("csv", "a,b"),
        body("shift", None),
        {"strategy": "earliest", "value": None},
        {"strategy": "earliest", "scope": {}},
        {"strategy": "earliest", "scope": {"all": "maybe"}},
        {"strategy": "earliest", "scope": {"topics": [{"topic": "orders", "partitions": [2**31]}]}},
        {**body(), "colour": "blue"},
        {"strategy": ["earliest"], "scope": {"all": True}},
        {"strategy": "earliest", "value": {"deep": [1]}, "scope": {"all": True}},
    ],
)
def test_a_request_that_makes_no_sense_is_refused(api, shop, bad):
    assert api("POST", PLANS, bad, expect=400)["message"]
    assert not ResetPlan.objects.exists()


@pytest.mark.parametrize("topic", [{"topic": "never-seen"}, {"topic": "orders", "partitions": [9]}])
def test_a_topic_or_partition_that_is_not_there_is_404(api, shop, topic):
    make(api, scope={"topics": [topic]}, expect=404)


def test_all_of_a_group_that_is_not_there_is_404(api, world):
    """A reset of a group that never was waited for ever.

    https://github.com/aklivity/zilla/issues/2532
    """
    api("POST", f"{CLUSTER}/groups/ghost/reset-plans/", body(), expect=404)


def test_it_only_tells_in_a_dry_run(api, shop):
    plan = api("POST", f"{PLANS}?dry_run=true", body())
    assert plan["id"] is None and plan["applicable"] is True and not ResetPlan.objects.exists()
    plan = make(api)
    told = api("POST", f"{PLANS}{plan['id']}/apply/?dry_run=true")
    assert told["outcome"] == "nothing" and [row["after"] for row in told["items"]] == [0, 0]
    assert offsets(shop) == {0: 4, 1: 6}
    apply(api, plan)


def test_the_same_idempotency_key_makes_one_plan(api, shop):
    one, two = (api("POST", PLANS, body(), expect=201, **{"Idempotency-Key": "k"}) for _ in range(2))
    assert one["id"] == two["id"] and ResetPlan.objects.count() == 1


def test_it_is_read_and_dropped(api, shop):
    plan = make(api)
    path = f"{PLANS}{plan['id']}/"
    assert api("GET", path)["items"] == plan["items"]
    api("DELETE", f"{path}?dry_run=true", expect=204)
    api("DELETE", path, expect=204)
    assert api("GET", path)["applicable"] is False
    api("DELETE", path, expect=409)
    apply(api, plan, expect=409)


def test_its_time_runs_out(api, shop):
    plan = make(api)
    ResetPlan.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert "time is over" in apply(api, plan, expect=409)["message"]


@pytest.mark.parametrize("path", [str(uuid.UUID(int=1)), "1", "x"])
def test_a_plan_that_is_not_there_is_404(api, shop, path):
    api("GET", f"{PLANS}{path}/", expect=404)
    api("POST", f"{PLANS}{path}/apply/", expect=404)


def test_a_plan_belongs_to_its_group(api, shop):
    plan = make(api)
    api("POST", f"{CLUSTER}/groups/other/reset-plans/{plan['id']}/apply/", expect=404)


def test_viewers_plan_nothing_and_hidden_groups_are_404(make_caller, api, shop):
    plan = make(api)
    viewer = make_caller("read")
    viewer("POST", PLANS, body(), expect=403)
    viewer("POST", f"{PLANS}{plan['id']}/apply/", expect=403)
    viewer("DELETE", f"{PLANS}{plan['id']}/", expect=403)
    assert viewer("GET", f"{PLANS}{plan['id']}/")["id"] == plan["id"]
    make_caller("admin", group_pattern="other", name="other")("POST", PLANS, body(), expect=404)


def test_a_cluster_that_is_away_is_said(api, shop):
    shop.gateway.failing = not_connected("cluster local", "refused")
    make(api, expect=503)
