"""offsets.services.plan_job and …/reset-plans/{id}/job/: a plan of many partitions applied as a job."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from groups.gateway import Committed
from groups.jobs import running
from groups.jobs.kinds import partition_kinds
from groups.jobs.running import jobs_run
from groups.models import AuditRow, Job, OffsetBackup, RoleBinding
from groups.problems import not_connected
from groups.testing.feed import member_view
from groups.testing.fixtures import CLUSTER
from groups.tests.test_pages import text_of, words
from kaas.errors import ErrorCode
from offsets.services import plan_job, undo

GROUP = f"{CLUSTER}/groups/wide/"
PLANS = f"{GROUP}reset-plans/"
JOBS = "/api/v1/jobs/"
COUNT = 12
BATCH = 5
EARLIEST = {"strategy": "earliest", "value": None, "scope": {"all": True}}


@pytest.fixture
def wide(db, world, monkeypatch):
    """A group with twelve partitions, which a job takes five at a time."""
    kind = partition_kinds[plan_job.KIND]
    small = type(kind)(label=kind.label, batch=BATCH, do=kind.do, over=kind.over)
    monkeypatch.setitem(partition_kinds, plan_job.KIND, small)
    world.topic("orders", *[10] * COUNT)
    world.group("wide", {("orders", number): 4 for number in range(COUNT)})
    world.read()
    return world


def planned(api):
    return api("POST", PLANS, EARLIEST, 201)


def begun(api, plan=None):
    return api("POST", f"{PLANS}{(plan or planned(api))['id']}/job/", {}, 202)


def one_batch(monkeypatch):
    """Lets the worker do one batch and no more."""
    with monkeypatch.context() as hurried:
        renewals = iter([True, False])
        hurried.setattr(running, "_renew", lambda job: next(renewals))
        return jobs_run()


def offsets(world):
    return [held.offset for _, held in sorted(world.gateway.groups["wide"].offsets.items())]


def items(api, job, query=""):
    return api("GET", f"{JOBS}{job['id']}/items/{query}")["items"]


def test_it_works(api, wide):
    plan = planned(api)
    answer = begun(api, plan)
    job = answer["job"]
    assert answer["partitions"] == job["total"] == job["waiting"] == COUNT and job["unit"] == "partition"
    assert (job["state"], job["params"]) == ("running", {"plan": plan["id"], "group_id": "wide"})
    assert api("GET", f"{PLANS}{plan['id']}/")["status"] == "applying"
    assert jobs_run() == COUNT and offsets(wide) == [0] * COUNT
    job = api("GET", f"{JOBS}{job['id']}/")
    assert (job["state"], job["done"], job["failed"]) == ("done", COUNT, 0)
    assert items(api, job)[3] == {
        "number": 4,
        "group_id": "wide",
        "key": "wide",
        "topic": "orders",
        "partition": 3,
        "state": "done",
        "message": "4 became 0, which reads back.",
    }
    assert api("GET", f"{PLANS}{plan['id']}/")["status"] == "applied"
    assert AuditRow.objects.filter(action="offsets_reset", outcome="done").count() == 3
    assert [row.group_id for row in AuditRow.objects.filter(action__startswith="job_")] == ["wide", "wide"]


def test_progress_is_seen_between_batches_and_cancel_stops_there(api, wide, monkeypatch):
    plan = planned(api)
    job = begun(api, plan)["job"]
    assert one_batch(monkeypatch) == BATCH
    assert api("GET", f"{JOBS}{job['id']}/")["done"] == BATCH
    job = api("DELETE", f"{JOBS}{job['id']}/")
    assert (job["state"], job["done"], job["waiting"]) == ("cancelled", BATCH, COUNT - BATCH)
    assert jobs_run() == 0 and offsets(wide) == [0] * BATCH + [4] * (COUNT - BATCH)
    plan = api("GET", f"{PLANS}{plan['id']}/")
    assert plan["status"] == "cancelled" and "says what was written" in plan["reason"]


def test_one_undo_puts_back_what_was_done_and_nothing_else(api, wide, monkeypatch):
    job = begun(api)["job"]
    one_batch(monkeypatch)
    one_batch(monkeypatch)
    api("DELETE", f"{JOBS}{job['id']}/")
    undone = api("POST", f"{GROUP}undo/", {})
    assert [item["partition"] for item in undone["items"]] == list(range(2 * BATCH))
    assert offsets(wide) == [4] * COUNT
    api("POST", f"{GROUP}undo/", {}, 404)


def test_what_is_undone_in_the_middle_is_not_kept_twice(api, wide, monkeypatch):
    begun(api)
    one_batch(monkeypatch)
    api("POST", f"{GROUP}undo/", {})
    jobs_run()
    assert offsets(wide) == [4] * BATCH + [0] * (COUNT - BATCH)
    assert [len(backup.offsets) for backup in OffsetBackup.objects.all()] == [COUNT - BATCH, BATCH]


def test_what_a_batch_writes_until_undo_claims_it_is_put_back_too(api, wide, monkeypatch):
    begun(api)
    one_batch(monkeypatch)
    claim = undo.backup_claim

    def claims_late(backup):
        one_batch(monkeypatch)
        return claim(backup)

    monkeypatch.setattr(undo, "backup_claim", claims_late)
    assert len(api("POST", f"{GROUP}undo/", {})["items"]) == 2 * BATCH
    assert offsets(wide) == [4] * COUNT


def test_a_worker_that_dies_after_the_write_is_found_out(api, wide, monkeypatch):
    job = begun(api)["job"]

    class Died(BaseException):
        pass

    def dies_before_the_note(*_):
        raise Died

    with monkeypatch.context() as dying:
        dying.setattr(running.JobItem.objects, "bulk_update", dies_before_the_note)
        with pytest.raises(Died):
            jobs_run()
    assert offsets(wide)[:BATCH] == [0] * BATCH
    Job.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assert jobs_run() == COUNT and offsets(wide) == [0] * COUNT
    assert "It is at 0 already" in items(api, job)[0]["message"]
    assert len(api("POST", f"{GROUP}undo/", {})["items"]) == COUNT


def test_a_partition_that_moved_meanwhile_is_left_alone(api, wide, monkeypatch):
    job = begun(api)["job"]
    wide.gateway.groups["wide"].offsets["orders", 7] = Committed(offset=6)
    jobs_run()
    assert offsets(wide)[7] == 6
    (failed,) = items(api, job, "?state=failed")
    assert failed["partition"] == 7 and "went from 4 to 6: it was left alone" in failed["message"]
    assert api("GET", f"{JOBS}{job['id']}/")["state"] == "partly"


def test_one_partition_that_is_refused_fails_alone_and_a_batch_of_them_keeps_nothing(api, wide):
    refused = [0, *range(BATCH, 2 * BATCH)]
    job = begun(api)["job"]
    wide.gateway.codes = {("orders", number): ErrorCode.INVALID_COMMIT_OFFSET_SIZE for number in refused}
    jobs_run()
    assert [item["partition"] for item in items(api, job, "?state=failed")] == refused
    (backup,) = OffsetBackup.objects.all()
    assert len(backup.offsets) == COUNT - BATCH


def test_a_group_that_got_members_fails_the_rest(api, wide, monkeypatch):
    job = begun(api)["job"]
    one_batch(monkeypatch)
    wide.group("wide", {("orders", 0): 0}, members=[member_view("one-1", {"orders": [0]})])
    jobs_run()
    failed = items(api, job, "?state=failed")
    assert len(failed) == COUNT - BATCH and failed[0]["message"].startswith("The group is Stable with 1 live member")


def test_a_cluster_that_is_away_and_a_right_that_is_gone_are_told(api, wide, make_caller, monkeypatch):
    caller = make_caller("operate", name="ann")
    job = begun(caller)["job"]
    wide.gateway.failing = not_connected("cluster local", "it is away")
    one_batch(monkeypatch)
    wide.gateway.failing = None
    RoleBinding.objects.filter(user__username="ann").delete()
    jobs_run()
    assert api("GET", f"{JOBS}{job['id']}/")["failed"] == COUNT and offsets(wide) == [4] * COUNT


def test_a_plan_that_is_out_of_date_begins_nothing_and_stays_planned(api, wide):
    plan = planned(api)
    wide.gateway.groups["wide"].offsets["orders", 2] = Committed(offset=6)
    assert "Plan again" in api("POST", f"{PLANS}{plan['id']}/job/", {}, 409)["message"]
    assert not Job.objects.exists() and api("GET", f"{PLANS}{plan['id']}/")["status"] == "planned"


def test_a_dry_run_begins_nothing_and_a_key_begins_once(api, wide):
    plan = planned(api)
    path = f"{PLANS}{plan['id']}/job/"
    assert api("POST", f"{path}?dry_run=true", {}) == {"id": plan["id"], "partitions": COUNT, "job": None}
    one, two = (api("POST", path, {}, 202, **{"Idempotency-Key": "k"}) for _ in range(2))
    assert one == two and Job.objects.count() == 1
    api("POST", path, {}, 409)
    api("POST", f"{PLANS}{plan['id']}/apply/", {}, 409)


def test_who_may_only_read_begins_nothing(api, wide, make_caller):
    plan = planned(api)
    make_caller("read", name="reader")("POST", f"{PLANS}{plan['id']}/job/", {}, 403)


@pytest.fixture
def browser(admin_user):
    client = Client()
    client.force_login(admin_user)
    return client


def shown(response):
    assert response.status_code == 200, response.content[:500]
    return words(text_of(response))


def test_the_page_applies_a_long_plan_as_a_job(browser, wide, settings, monkeypatch):
    settings.KAAS_JOB_PARTITIONS = COUNT - 1
    page = browser.post("/clusters/local/groups/wide/reset/", {"strategy": "earliest", "scope": "all"})
    assert "Start the job" in shown(browser.get(page["Location"]))
    job = browser.post(page["Location"], {"act": "apply"})["Location"]
    assert job == f"/jobs/{Job.objects.get().pk}/"
    one_batch(monkeypatch)
    assert f"Running {BATCH} of {COUNT}" in shown(browser.get(job))
    browser.post(f"{job}cancel/")
    text = shown(browser.get(job))
    assert f"{BATCH} of {COUNT} partitions are done and read back, {COUNT - BATCH} were not touched." in text
    assert "Undo puts back what was there." in text and "orders 0 Done 4 became 0, which reads back." in text
    assert "orders 11 Not done" in text
    assert "Reset offsets of a group local" in shown(browser.get("/jobs/"))


def test_the_page_applies_a_short_plan_at_once(browser, wide, settings):
    settings.KAAS_JOB_PARTITIONS = COUNT
    page = browser.post("/clusters/local/groups/wide/reset/", {"strategy": "earliest", "scope": "all"})["Location"]
    assert "Start the job" not in shown(browser.get(page))
    assert "every partition reads back as asked" in shown(browser.post(page, {"act": "apply"}))
    assert not Job.objects.exists()


def test_a_plan_of_very_many_partitions_shows_the_first_and_names_the_file(browser, wide, monkeypatch):
    from offsets.views import resets

    monkeypatch.setattr(resets, "PLAN_ROWS", 3)
    page = browser.post("/clusters/local/groups/wide/reset/", {"strategy": "earliest", "scope": "all"})["Location"]
    text = shown(browser.get(page))
    assert f"The first 3 of {COUNT} partitions. offsets.csv has all that are written." in text
