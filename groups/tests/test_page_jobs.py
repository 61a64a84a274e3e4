"""The pages of jobs."""

from __future__ import annotations

import pytest

from groups.jobs.running import jobs_run
from groups.models import Job
from groups.tests.test_pages import somebody, text_of, words

DELETE = "/clusters/local/groups-delete/"


@pytest.fixture
def client(admin_client, world):
    world.topic("orders", 10)
    for name in ("old-1", "old-2", "shop"):
        world.group(name, {("orders", 0): 1})
    world.read()
    return admin_client


def shown(response, status=200):
    assert response.status_code == status, response.content[:500]
    return words(text_of(response))


def test_it_works(client, world):
    assert "Delete empty ones" in shown(client.get("/clusters/local/groups/", {"search": "old"}))
    assert client.get("/clusters/local/groups/", {"search": "old"}).content.count(b'form="picked"') == 2
    page = shown(client.get(DELETE, {"search": "old"}))
    assert "2 groups on local match" in page and "old-1 old-2" in page
    assert not Job.objects.exists()
    response = client.post(f"{DELETE}?search=old")
    job = Job.objects.get()
    assert response["Location"] == f"/jobs/{job.pk}/"
    assert "Running 0 of 2" in shown(client.get(response["Location"]))
    jobs_run()
    page = shown(client.get(response["Location"]))
    assert "Done 2 of 2" in page and "old-1 Done Deleted with 1 committed offset; undo puts them back." in page
    assert "None." in shown(client.get(response["Location"], {"state": "failed"}))
    assert "Delete groups local Done admin" in shown(client.get("/jobs/"))
    assert sorted(world.gateway.groups) == ["shop"]


def test_check_boxes_choose_groups_and_filters_narrow_them(client, world):
    page = shown(client.get(DELETE, {"group": ["old-1", "shop"]}))
    assert "2 groups on local match" in page and "old-1 shop" in page
    assert "1 group on local match" in shown(client.get(DELETE, {"group": ["old-1", "shop"], "search": "shop"}))
    client.post(f"{DELETE}?group=old-1&group=shop")
    jobs_run()
    assert sorted(world.gateway.groups) == ["old-2"]
    assert client.get(DELETE, {"group": "~!"}).status_code == 404


def test_it_is_cancelled_once(client):
    client.post(f"{DELETE}?search=old")
    job = Job.objects.get()
    for said in ("The job is cancelled: what is done stays done.", "there is nothing to cancel"):
        assert said in shown(client.post(f"/jobs/{job.pk}/cancel/", follow=True))
    assert jobs_run() == 0


def test_a_list_without_a_filter_and_one_without_matches_delete_nothing(client):
    assert "never everything" in shown(client.get(DELETE), 400)
    assert "Nothing to delete" in shown(client.get(DELETE, {"search": "nobody"}))
    assert "there is nothing to do" in shown(client.post(f"{DELETE}?search=nobody"), 409)


def test_it_is_not_there_for_others(client):
    client.post(f"{DELETE}?search=old")
    other = somebody("bob", "operate")
    assert other.get(f"/jobs/{Job.objects.get().pk}/").status_code == 404
    assert "No job yet" in shown(other.get("/jobs/"))
