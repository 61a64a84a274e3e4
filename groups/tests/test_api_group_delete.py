"""DELETE /api/v1/clusters/{cluster}/groups/{group}/."""

from __future__ import annotations

import pytest

from groups.clusters import Cluster
from groups.gateways import gateway_use
from groups.models import AuditRow, OffsetBackup
from groups.problems import not_connected, timed_out
from groups.testing.feed import member_view
from groups.testing.fixtures import CLUSTER
from kaas.errors import ErrorCode

GROUP = f"{CLUSTER}/groups/shop/"


@pytest.fixture
def shop(world):
    world.topic("orders", 10)
    world.group("shop", {("orders", 0): 4})
    return world


def test_it_works(api, shop):
    answer = api("DELETE", GROUP)
    assert answer == {
        "group_id": "shop",
        "deleted": True,
        "dry_run": False,
        "offsets": [{"topic": "orders", "partition": 0, "committed": 4}],
    }
    assert "shop" not in shop.gateway.groups


def test_it_leaves_an_audit_row_and_keeps_the_offsets(api, shop):
    api("DELETE", GROUP)
    row = AuditRow.objects.get(action="group_delete")
    assert (row.actor, row.cluster, row.group_id, row.outcome) == ("admin (test)", "local", "shop", "done")
    assert row.before["offsets"] and row.after == {"state": "Dead", "offsets": []}
    backup = OffsetBackup.objects.get()
    assert backup.offsets == {"orders/0": [4, -1, ""]} and not backup.void


def test_it_keeps_nothing_of_a_group_without_offsets(api, world):
    """A group without offsets could not be deleted.

    https://github.com/redpanda-data/console/issues/458
    """
    world.group("shop")
    assert api("DELETE", GROUP)["offsets"] == []
    assert not OffsetBackup.objects.exists()


def test_it_refuses_a_live_group_with_a_sentence(api, world):
    world.group("shop", members=[member_view("one-1"), member_view("two-2")])
    problem = api("DELETE", GROUP, expect=409)
    assert problem["code"] == "NON_EMPTY_GROUP" and problem["code_number"] == 68
    assert problem["message"] == "The group is Stable with 2 live members (one, two): stop them first."
    assert world.gateway.calls == [] and not AuditRow.objects.filter(action="group_delete").exists()


def test_it_says_what_the_broker_refused(api, shop):
    shop.gateway.groups["shop"].members = {"late": None}
    problem = api("DELETE", GROUP, expect=409)
    assert problem["code_number"] == 68 and "still has members" in problem["message"]
    assert AuditRow.objects.get(action="group_delete").outcome == "failed"
    assert OffsetBackup.objects.get().void


def test_it_only_tells_in_a_dry_run(api, shop):
    answer = api("DELETE", f"{GROUP}?dry_run=true")
    assert answer["deleted"] is False and answer["offsets"]
    assert "shop" in shop.gateway.groups
    assert not OffsetBackup.objects.exists() and not AuditRow.objects.filter(action="group_delete").exists()


def test_it_is_404_for_an_unknown_group(api, world):
    assert api("DELETE", GROUP, expect=404)["kind"] == "not_found"


def test_it_is_404_when_the_group_went_in_between(api, shop):
    del shop.gateway.groups["shop"]
    assert api("DELETE", GROUP, expect=404)["code_number"] == ErrorCode.GROUP_ID_NOT_FOUND


def test_it_is_denied_to_viewers_and_hidden_from_others(make_caller, shop):
    assert make_caller("read")("DELETE", GROUP, expect=403)["kind"] == "denied"
    hidden = make_caller("admin", group_pattern="team-*", name="other")
    assert hidden("DELETE", GROUP, expect=404)["kind"] == "not_found"
    assert "shop" in shop.gateway.groups


def test_it_is_refused_on_a_read_only_cluster(api, shop, settings):
    cluster = Cluster(name="local", bootstrap="127.0.0.1:1", read_only=True)
    settings.KAAS_CLUSTERS = {"local": cluster}
    gateway_use(cluster, shop.gateway)
    assert api("DELETE", GROUP, expect=403)["kind"] == "read_only"
    gateway_use(cluster, None)


@pytest.mark.parametrize(
    ("problem", "status"), [(not_connected("cluster local", "refused"), 503), (timed_out("cluster local", 10), 504)]
)
def test_it_tells_a_cluster_without_an_answer(api, shop, problem, status):
    shop.gateway.failing = problem
    answer = api("DELETE", GROUP, expect=status)
    assert answer["retriable"] is True


def test_it_acts_once_for_one_idempotency_key(api, shop):
    one = api("DELETE", GROUP, **{"Idempotency-Key": "k1"})
    two = api("DELETE", GROUP, **{"Idempotency-Key": "k1"})
    assert one == two and shop.gateway.calls.count("delete_group") == 1


def test_it_refuses_a_key_that_stood_for_something_else(api, shop):
    api("DELETE", GROUP, **{"Idempotency-Key": "k1"})
    problem = api("DELETE", f"{GROUP}?dry_run=true", expect=409, **{"Idempotency-Key": "k1"})
    assert problem["code"] == "IDEMPOTENCY_KEY_REUSED"


def test_it_frees_a_key_whose_request_failed(api, shop):
    shop.gateway.failing = not_connected("cluster local", "refused")
    api("DELETE", GROUP, expect=503, **{"Idempotency-Key": "k1"})
    shop.gateway.failing = None
    assert api("DELETE", GROUP, **{"Idempotency-Key": "k1"})["deleted"] is True


@pytest.mark.parametrize("key", ["", "x" * 256])
def test_it_refuses_a_key_that_is_none(api, shop, key):
    api("DELETE", GROUP, expect=400, **{"Idempotency-Key": key})


@pytest.mark.parametrize("query", ["dry_run=perhaps", "force=true"])
def test_it_refuses_parameters_that_make_no_sense(api, shop, query):
    api("DELETE", f"{GROUP}?{query}", expect=400)
    assert "shop" in shop.gateway.groups
