"""offsets.services.reset_many: the reset of many groups as a job."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from groups.jobs import running
from groups.jobs.running import jobs_run
from groups.models import Job
from groups.testing.fixtures import CLUSTER
from offsets.models import ResetPlan

JOBS = "/api/v1/jobs/"
SHIFT = {"strategy": "shift", "value": -1, "scope": {"all": True}}


@pytest.fixture
def groups(db, world):
    world.topic("orders", 10, 10)
    for number in (1, 2):
        world.group(f"old-{number}", {("orders", 0): 5, ("orders", 1): 6})
    world.read()
    return world


def started(api, reset):
    body = {"kind": "groups_reset", "filter": {"search": "old-"}, "params": reset}
    job = api("POST", f"{CLUSTER}/jobs/", body, 201)
    return api("POST", f"{JOBS}{job['id']}/start/", {}, 202)


def offsets(world, group_id):
    return [held.offset for _, held in sorted(world.gateway.groups[group_id].offsets.items())]


def test_it_works(api, groups):
    job = started(api, SHIFT)
    assert jobs_run() == 2
    assert offsets(groups, "old-1") == offsets(groups, "old-2") == [4, 5]
    told = api("GET", f"{JOBS}{job['id']}/items/")["items"][0]
    assert told["message"] == "2 partitions are reset and read back; undo puts back what was there."
    assert ResetPlan.objects.count() == 2


def test_a_reset_that_makes_no_sense_is_refused(api, groups):
    body = {"kind": "groups_reset", "filter": {"search": "old-"}, "params": {"strategy": "sideways"}}
    api("POST", f"{CLUSTER}/jobs/", body, 400)


def test_a_shift_is_never_done_twice(api, groups, monkeypatch):
    started(api, SHIFT)

    def dies_before_the_note(job, items):
        running._results(job, items)
        raise KeyboardInterrupt

    with monkeypatch.context() as dying:
        dying.setattr(running, "_do", dies_before_the_note)
        with pytest.raises(KeyboardInterrupt):
            jobs_run()
    assert offsets(groups, "old-1") == [4, 5]
    Job.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assert jobs_run() == 2
    assert offsets(groups, "old-1") == [4, 5]


def test_a_group_without_offsets_in_scope_is_told(api, groups):
    job = started(api, {"strategy": "earliest", "value": None, "scope": {"topics": [{"topic": "bills"}]}})
    jobs_run()
    assert {row["state"] for row in api("GET", f"{JOBS}{job['id']}/items/")["items"]} == {"failed"}
