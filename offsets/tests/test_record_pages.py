"""The page of records, without a browser."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.test import Client

from groups.testing.pages import words

RECORDS = "/clusters/local/groups/shop/records/"


@pytest.fixture
def shop(world):
    """A group that committed 4 of ten, and one of which nothing is known."""
    world.topic("orders", 10, 10)
    world.topic("bills", 5)
    world.group("shop", {("orders", 0): 4, ("bills", 0): 5})
    world.group("blank")
    world.read()
    return world


@pytest.fixture
def client(admin_client):
    return admin_client


def test_it_works(client, shop):
    page = words(client.get(f"{RECORDS}?topic=orders&partition=0&around=5"))
    assert "Records of orders 0" in page
    assert "3 , done" in page and "4 , to come" in page and '{"n": 3} json, 8' in page
    done, _, to_come = page.partition("committed 4: what stands above is done")
    assert '{"n": 3}' in done and '{"n": 4}' in to_come


def test_without_a_question_it_shows_the_first_partition(client, shop):
    assert "Records of bills 0" in words(client.get(RECORDS))
    assert "Records of orders 0" in words(client.get(f"{RECORDS}?topic=orders"))


def test_far_behind_the_commit_no_line_says_what_comes_next(client, shop):
    line = "what stands below comes next"
    assert line not in words(client.get(f"{RECORDS}?topic=orders&partition=0&offset=8&around=2"))
    assert line in words(client.get(f"{RECORDS}?topic=orders&partition=0&offset=5&around=2"))


def test_where_all_is_done_the_line_stands_at_the_end(client, shop):
    page = words(client.get(f"{RECORDS}?topic=bills&partition=0"))
    assert "committed 5: what stands above is done Oldest first" in page


def test_one_goes_on_to_older_and_newer_records(client, shop):
    page = client.get(f"{RECORDS}?topic=orders&partition=0&around=1").content.decode()
    assert 'rel="prev" href="?topic=orders&amp;partition=0&amp;around=1&amp;offset=2"' in page
    assert 'rel="next" href="?topic=orders&amp;partition=0&amp;around=1&amp;offset=6"' in page
    whole = client.get(f"{RECORDS}?topic=orders&partition=0&around=20").content.decode()
    assert 'rel="prev"' not in whole and 'rel="next"' not in whole


@pytest.mark.parametrize("query", ["at=noon", "offset=x", "at=2026-01-01T00:00:00Z&offset=1", "around=9999"])
def test_a_question_that_makes_no_sense_is_answered_where_it_was_asked(client, shop, query):
    answer = client.get(f"{RECORDS}?topic=orders&partition=0&{query}")
    assert answer.status_code == 400 and 'role="alert"' in answer.content.decode()


def test_a_partition_that_is_not_the_groups_is_not_shown(client, shop):
    answer = client.get(f"{RECORDS}?topic=orders&partition=1")
    assert answer.status_code == 404 and "There is no partition 1" in words(answer)


def test_a_search_without_a_find_says_how_far_it_looked(client, shop):
    assert "looks at 500 records on each side" in words(client.get(f"{RECORDS}?topic=orders&search=nowhere"))


def test_a_group_without_partitions_has_no_records(client, shop):
    assert "No partition to look into" in words(client.get("/clusters/local/groups/blank/records/"))


def test_hostile_records_are_only_text(client, shop):
    log = shop.gateway.logs["orders", 0]
    hostile = "<script>alert(1)</script>\u202e\x07\nend".encode()
    log.records[3] = replace(log.records[3], key=hostile, value=hostile * 1_000, headers=(("<b>", hostile),))
    text = client.get(f"{RECORDS}?topic=orders&partition=0").content.decode()
    assert "<script>alert" not in text and "<b>" not in text.replace('<b class="id">', "")
    assert "the beginning" in text and len(text) < 100_000


def test_strangers_sign_in_first(shop):
    assert Client().get(RECORDS).status_code == 302


def test_what_is_gone_is_said_and_leads_to_the_earliest_record(client, shop):
    shop.topic("orders", 3, start=12)
    response = client.get(f"{RECORDS}?topic=orders&partition=0&offset=7&around=5")
    page = words(response)
    assert "Offset 7 is gone" in page and "begins at 12 and ends at 15 now. To the earliest record" in page
    assert b'href="?topic=orders&amp;partition=0&amp;around=5&amp;offset=12"' in response.content
