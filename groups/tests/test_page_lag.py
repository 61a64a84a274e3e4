"""The page of a group's lag over time, and its panel on the group's page."""

from __future__ import annotations

import pytest
from django.test import Client

from groups.lag import sampling
from groups.lag.sampling import forget_samples, lag_sample
from groups.tests.test_pages import GROUPS, somebody, text_of, words
from groups.times import now_ms


@pytest.fixture
def sampled(db, world, monkeypatch):
    """A group that lagged ten records more than a minute ago, and lags four now."""
    forget_samples()
    for ago_s, committed in ((70, 0), (0, 6)):
        world.topic("orders", 10)
        world.group("shop", {("orders", 0): committed})
        world.read()
        at = now_ms() - ago_s * 1_000
        monkeypatch.setattr(sampling, "now_ms", lambda at=at: at)
        lag_sample("local")
    yield world
    forget_samples()


@pytest.fixture
def visit(admin_user):
    client = Client()
    client.force_login(admin_user)

    def get(path: str, status: int = 200, **query: object) -> str:
        response = client.get(path, query)
        assert response.status_code == status
        return text_of(response)

    return get


def test_it_works(visit, sampled):
    page = visit(f"{GROUPS}shop/lag/")
    assert 'aria-label="Lag over the last 15 minutes: between 4 and 10 records"' in page
    said = words(page)
    assert "Stopped Records wait, and the group has no members." in said
    assert "The oldest record that waits is" in said
    assert "Kept: every 10 s for 1 h" in said or "Kept: every 10 s for 60 min" in said
    assert "10 0 10" in said and "4 6 10" in said


def test_the_group_page_has_the_same_panel(visit, sampled):
    page = visit(f"{GROUPS}shop/")
    assert 'id="lag"' in page and "/groups/shop/lag/?back=14d" in page


def test_a_part_and_a_range_stand_in_the_address(visit, sampled):
    page = visit(f"{GROUPS}shop/lag/", topic="orders", partition=0, back="1d")
    assert "Lag over the last day: between 4 and 10 records" in page
    assert "topic=orders&partition=0&back=15m" in page.replace(
        "back=15m&topic=orders&partition=0", "topic=orders&partition=0&back=15m"
    )
    assert "No sample of this time is kept that has a number" in words(visit(f"{GROUPS}shop/lag/", topic="other"))


def test_what_makes_no_sense_is_refused(visit, sampled):
    visit(f"{GROUPS}shop/lag/", 400, back="2d")
    visit(f"{GROUPS}shop/lag/", 400, partition=0)


def test_without_samples_it_says_who_takes_them(visit, world):
    world.group("quiet")
    assert "Samples are taken every 10 s by the worker." in words(visit(f"{GROUPS}quiet/lag/"))
    assert "This process has not read the group yet." in words(visit(f"{GROUPS}quiet/lag/"))


def test_it_is_not_there_for_eyes_that_may_not_see_the_group(sampled, db):
    assert somebody("ann", "read", "team-*").get(f"{GROUPS}shop/lag/").status_code == 404
