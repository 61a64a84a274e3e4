"""groups.jobs: planning, running, cancelling; /api/v1/jobs/ and …/jobs/ of a cluster."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from groups.choices import ItemState, JobState
from groups.jobs import kinds as registry
from groups.jobs import running
from groups.jobs.running import jobs_run
from groups.models import AuditRow, Job, JobItem, RoleBinding
from groups.problems import not_connected
from groups.testing.feed import member_view
from groups.testing.fixtures import CLUSTER

PLAN = f"{CLUSTER}/jobs/"
JOBS = "/api/v1/jobs/"
DELETE_OLD = {"kind": "groups_delete", "filter": {"search": "old-"}}


@pytest.fixture
def groups(db, world):
    """Four empty groups of old, one of them in use, and one that is none of them."""
    world.topic("orders", 10)
    for number in range(3):
        world.group(f"old-{number}", {("orders", 0): number})
    world.group("old-in-use", {("orders", 0): 1}, members=[member_view("one-1", {"orders": [0]})])
    world.group("shop", {("orders", 0): 1})
    world.read()
    return world


def planned(api, **more):
    return api("POST", PLAN, {**DELETE_OLD, **more}, 201)


def started(api, **more):
    job = planned(api, **more)
    return api("POST", f"{JOBS}{job['id']}/start/", {}, 202)


def items(api, job, query=""):
    return [(row["group_id"], row["state"]) for row in api("GET", f"{JOBS}{job['id']}/items/{query}")["items"]]


def test_it_works(api, groups):
    plan = planned(api)
    assert (plan["state"], plan["total"], plan["group_ids"]) == ("planned", 3, ["old-0", "old-1", "old-2"])
    assert jobs_run() == 0 and len(groups.gateway.groups) == 5
    job = api("POST", f"{JOBS}{plan['id']}/start/", {}, 202)
    assert (job["state"], job["waiting"]) == ("running", 3)
    assert jobs_run() == 3
    job = api("GET", f"{JOBS}{plan['id']}/")
    assert (job["state"], job["done"], job["failed"], job["waiting"]) == ("done", 3, 0, 0)
    assert sorted(groups.gateway.groups) == ["old-in-use", "shop"]
    (first, *_) = api("GET", f"{JOBS}{plan['id']}/items/")["items"]
    assert first["message"] == "Deleted with 1 committed offset; undo puts them back."
    actions = [row.action for row in AuditRow.objects.order_by("pk")]
    assert actions[-5:] == ["job_start", "group_delete", "group_delete", "group_delete", "job_end"]
    assert api("GET", JOBS)["items"][0]["label"] == "Delete groups"


def test_a_dry_run_plans_and_keeps_nothing(api, groups):
    assert api("POST", f"{PLAN}?dry_run=true", DELETE_OLD)["total"] == 3
    assert not Job.objects.exists()


def test_groups_are_named_and_what_is_left_out_is_counted(api, groups):
    body = {"kind": "groups_delete", "filter": {"group_ids": ["old-0", "old-in-use", "nobody"]}}
    plan = api("POST", PLAN, body, 201)
    assert (plan["group_ids"], plan["left_out"]) == (["old-0"], 1)
    none = api("POST", PLAN, {"kind": "groups_delete", "filter": {"group_ids": []}}, 201)
    assert (none["total"], none["left_out"]) == (0, 0)


def test_a_filter_that_asks_nothing_means_nothing(api, groups):
    told = api("POST", PLAN, {"kind": "groups_delete", "filter": {}}, 400)
    assert "never everything" in told["message"]


@pytest.mark.parametrize(
    "body",
    [
        {"kind": "boredom", "filter": {"search": "x"}},
        {"kind": "groups_delete"},
        {"kind": "groups_delete", "filter": {"colour": "red"}},
        {"kind": "groups_delete", "filter": {"regex": "("}},
        {"kind": "groups_delete", "filter": {"state": ["Bored"]}},
    ],
)
def test_what_makes_no_sense_is_refused(api, groups, body):
    api("POST", PLAN, body, 400)
    assert not Job.objects.exists()


def test_what_changed_since_the_plan_fails_alone(api, groups):
    job = started(api)
    groups.group("old-1", {("orders", 0): 1}, members=[member_view("one-1", {"orders": [0]})])
    groups.feed.gone("old-2")
    del groups.gateway.groups["old-2"]
    assert jobs_run() == 3
    assert items(api, job) == [("old-0", "done"), ("old-1", "failed"), ("old-2", "done")]
    told = api("GET", f"{JOBS}{job['id']}/items/?state=failed")["items"][0]["message"]
    assert told.startswith("The group is Stable with 1 live member")
    assert api("GET", f"{JOBS}{job['id']}/")["state"] == "partly"


def test_a_cluster_that_is_away_is_told_per_group(api, groups):
    job = started(api)
    groups.gateway.failing = not_connected("cluster local", "it is away")
    jobs_run()
    assert {state for _, state in items(api, job)} == {"failed"}


def test_a_cancelled_job_stops_before_its_next_item(api, groups, monkeypatch):
    job = started(api)
    act = registry.kinds["groups_delete"].act

    def cancels_itself(item):
        api("DELETE", f"{JOBS}{job['id']}/")
        return act(item)

    kind = registry.JobKind(label="x", checked=dict, fits=registry.is_empty, act=cancels_itself)
    monkeypatch.setitem(registry.kinds, "groups_delete", kind)
    assert jobs_run() == 1 and jobs_run() == 0
    assert items(api, job) == [("old-0", "done"), ("old-1", "waiting"), ("old-2", "waiting")]
    assert api("GET", f"{JOBS}{job['id']}/")["state"] == "cancelled"
    api("DELETE", f"{JOBS}{job['id']}/", expect=409)
    api("POST", f"{JOBS}{job['id']}/start/", {}, 409)


def test_a_job_whose_worker_died_goes_on_after_its_lease(api, groups, monkeypatch):
    job = started(api)

    class Died(BaseException):
        pass

    with monkeypatch.context() as dying:
        kind = registry.JobKind(
            label="x", checked=dict, fits=registry.is_empty, act=lambda item: (_ for _ in ()).throw(Died())
        )
        dying.setitem(registry.kinds, "groups_delete", kind)
        with pytest.raises(Died):
            jobs_run()
    assert jobs_run() == 0, "the lease lasts"
    Job.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assert jobs_run() == 3
    assert api("GET", f"{JOBS}{job['id']}/")["state"] == "done"


def test_a_twin_finds_the_job_taken(api, groups):
    started(api)
    stale = Job.objects.get()
    assert running._claim(stale) and not running._claim(stale)
    assert jobs_run() == 0


def test_a_step_is_small_and_the_next_one_goes_on(api, groups, monkeypatch):
    job = started(api)
    monkeypatch.setattr(running, "STEP_S", -1.0)
    assert jobs_run() == 0 and api("GET", f"{JOBS}{job['id']}/")["state"] == "running"
    monkeypatch.setattr(running, "STEP_S", 5.0)
    assert jobs_run() == 3


def test_a_fault_in_one_item_ends_only_that(api, groups, monkeypatch):
    kind = registry.JobKind(label="x", checked=dict, fits=registry.is_empty, act=lambda item: 1 // 0)
    job = started(api)
    monkeypatch.setitem(registry.kinds, "groups_delete", kind)
    assert jobs_run() == 3
    assert {state for _, state in items(api, job)} == {ItemState.FAILED}
    assert "did not expect" in JobItem.objects.first().message


def test_a_kind_of_another_release_waits_for_a_worker_that_knows_it(api, groups):
    job = started(api)
    Job.objects.update(kind="boredom")
    assert jobs_run() == 0 and api("GET", f"{JOBS}{job['id']}/")["label"] == "boredom"
    assert api("DELETE", f"{JOBS}{job['id']}/")["state"] == "cancelled"


def test_a_job_is_its_makers_and_works_with_the_rights_of_the_moment(api, groups, make_caller):
    caller = make_caller("operate", group_pattern="old-[01]", name="ann")
    job = started(caller)
    assert job["total"] == 2
    stranger = make_caller("operate", name="bob")
    stranger("GET", f"{JOBS}{job['id']}/", expect=404)
    stranger("DELETE", f"{JOBS}{job['id']}/", expect=404)
    assert stranger("GET", JOBS)["total"] == 0 and api("GET", JOBS)["total"] == 1
    RoleBinding.objects.filter(user__username="ann").delete()
    assert jobs_run() == 2
    assert {state for _, state in items(api, job)} == {"failed"} and "old-0" in groups.gateway.groups


def test_who_may_only_read_plans_nothing(groups, make_caller):
    reader = make_caller("read")
    job = planned(reader)
    assert job["total"] == 0
    assert "nothing to do" in reader("POST", f"{JOBS}{job['id']}/start/", {}, 409)["message"]


def test_a_job_has_so_many_items_at_most(api, groups, monkeypatch):
    from groups.jobs import services

    monkeypatch.setattr(services, "ITEMS_AT_MOST", 2)
    assert "narrow the filter" in api("POST", PLAN, DELETE_OLD, 400)["message"]


def test_a_key_plans_once_and_dry_runs_start_and_cancel_nothing(api, groups):
    key = {"Idempotency-Key": "k"}
    job = api("POST", PLAN, DELETE_OLD, 201, **key)
    assert api("POST", PLAN, DELETE_OLD, 201, **key)["id"] == job["id"] and Job.objects.count() == 1
    api("POST", f"{JOBS}{job['id']}/start/?dry_run=true", {})
    api("DELETE", f"{JOBS}{job['id']}/?dry_run=true")
    assert Job.objects.get().state == JobState.PLANNED
