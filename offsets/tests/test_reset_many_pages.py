"""The pages that reset many groups: choose, plan each, start the job."""

from __future__ import annotations

import pytest

from groups.jobs.running import jobs_run
from groups.models import Job
from groups.problems import not_connected
from groups.testing.feed import member_view
from groups.testing.pages import words
from groups.tests.test_pages import somebody
from offsets.models import ResetPlan
from offsets.views import resets_many

RESET = "/clusters/local/groups-reset/"
EARLIEST = {"strategy": "earliest", "scope": "all"}


@pytest.fixture
def groups(world):
    world.topic("orders", 10, 10)
    world.topic("bills", 5)
    for number in (1, 2):
        world.group(f"old-{number}", {("orders", 0): 5, ("orders", 1): 6})
    world.group("old-live", {("orders", 0): 5}, members=[member_view("one-1", {"orders": [0]})])
    world.read()
    return world


@pytest.fixture
def client(admin_client):
    return admin_client


def offsets(world, group_id):
    return [held.offset for _, held in sorted(world.gateway.groups[group_id].offsets.items())]


def planned(client, query="?search=old", **form):
    response = client.post(f"{RESET}{query}", {**EARLIEST, **form})
    assert response.status_code == 302, words(response)
    return response["Location"]


def test_it_works(client, groups):
    page = words(client.get(f"{RESET}?search=old"))
    assert "Reset offsets of 2 groups" in page and "old-1 old-2" in page and "1 more match and is left alone" in page
    assert not Job.objects.exists()
    plan = planned(client)
    page = words(client.get(plan))
    assert "Plan for 2 groups: The log's start" in page and "old-1 2 2 0 11" in page and "orders 1: 6 → 0" in page
    assert offsets(groups, "old-1") == [5, 6] and jobs_run() == 0 and not ResetPlan.objects.exists()
    started = client.post(plan, {"act": "start"})
    assert started["Location"] == f"/jobs/{Job.objects.get().pk}/"
    assert jobs_run() == 2 and offsets(groups, "old-1") == offsets(groups, "old-2") == [0, 0]
    assert client.get(plan)["Location"] == started["Location"]


def test_check_boxes_choose(client, groups):
    plan = planned(client, "?group=old-2&group=old-live")
    client.post(plan, {"act": "start"})
    jobs_run()
    assert offsets(groups, "old-1") == [5, 6] and offsets(groups, "old-2") == [0, 0]


def test_topics_of_the_groups_are_offered_and_narrow_the_reset(client, groups):
    assert "orders 3 groups" in words(client.get(f"{RESET}?search=old"))
    plan = planned(client, scope="topics", topic="orders", **{"partitions:orders": "1"})
    assert "old-1 1 1 0 6" in words(client.get(plan))


def test_a_plan_is_dropped(client, groups):
    plan = planned(client)
    assert "See its plans, start it" in words(client.get(f"/jobs/{Job.objects.get().pk}/"))
    assert client.post(plan, {"act": "drop"})["Location"] == "/clusters/local/groups/"
    assert Job.objects.get().state == "cancelled" and client.post(plan, {"act": "start"}).status_code == 302
    assert Job.objects.get().state == "cancelled"


def test_a_group_that_cannot_be_planned_says_why_beside_the_others(client, groups):
    plan = planned(client, scope="topics", topic="bills", other_topic="nowhere")
    page = words(client.get(plan))
    assert "left alone There is no topic nowhere." in page


def test_a_cluster_that_is_away_is_said_once(client, groups):
    plan = planned(client)
    groups.gateway.failing = not_connected("cluster local", "it is away")
    assert client.get(plan).status_code == 503
    assert groups.gateway.calls.count("offsets") == 1


def test_one_page_plans_so_many_groups(client, groups, monkeypatch):
    monkeypatch.setattr(resets_many, "GROUPS_PLANNED", 1)
    plan = planned(client)
    page = words(client.get(plan, {"page": 2}))
    assert "old-2" in page and "old-1" not in page and "page 2 of 2" in page


def test_what_makes_no_sense_is_said_on_the_form(client, groups):
    response = client.post(f"{RESET}?search=old", {"strategy": "shift", "value_shift": "far", "scope": "all"})
    assert response.status_code == 400 and "is not a whole number" in words(response)
    assert "never everything" in words(client.get(RESET))
    assert "Nothing to reset" in words(client.get(f"{RESET}?search=nobody"))
    assert "has members or may not be reset" in words(client.get(f"{RESET}?search=old-live"))


def test_it_is_its_makers_and_on_its_cluster(client, groups):
    plan = planned(client)
    assert somebody("bob", "operate").get(plan).status_code == 404
    assert client.get(plan.replace("/local/", "/elsewhere/")).status_code == 404
    deletion = client.post("/clusters/local/groups-delete/?search=old")["Location"]
    assert client.get(f"{RESET}{deletion.split('/')[-2]}/").status_code == 404
