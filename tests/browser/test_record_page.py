"""Records around a commit in a browser against the real broker: read, go on, jump, search; hostile bytes are only text."""

from __future__ import annotations

import re

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from playwright.sync_api import Page, expect

from tests.support.browser import NARROW, Console, Visitor, new_id, violations
from tests.support.waiting import until

HOSTILE = b"<img src=x onerror=\"document.title='lost'\">\x00\xe2\x80\xae"
RECORDS = 40
FIRST_AT_MS = 1_767_225_600_000  # 2026-01-01T00:00:00Z


@pytest.fixture(scope="module")
def group(console: Console) -> str:
    """A group that committed 20 of forty records, a minute apart; number 22 is hostile and long."""
    name, topic = new_id(), new_id("topic")
    admin = AdminClient({"bootstrap.servers": console.broker.address, "log_level": 0})
    kept = {"retention.ms": "-1"}  # records of a fixed day are old at once
    admin.create_topics([NewTopic(topic, 2, 1, config=kept)])[topic].result(30)
    producer = Producer({"bootstrap.servers": console.broker.address, "log_level": 0})
    for number in range(RECORDS):
        value = HOSTILE * 5_000 if number == 22 else b'{"number": %d}' % number
        headers = [("trace", HOSTILE)] if number == 22 else []
        at = FIRST_AT_MS + number * 60_000
        producer.produce(topic, value, f"key-{number}", partition=0, timestamp=at, headers=headers)
    assert producer.flush(30) == 0
    offsets = [TopicPartition(topic, 0, 20), TopicPartition(topic, 1, 0)]
    admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(name, offsets)])[name].result(30)
    until(lambda: console.redis.hexists("kaas:local:groups", name))
    return name


def numbers(page: Page) -> list[int]:
    return [
        int(found) for found in page.locator("tr[data-key]").evaluate_all("rows => rows.map((row) => row.dataset.key)")
    ]


def test_a_commit_leads_to_the_records_around_it(visitor: Visitor, console: Console, group: str) -> None:
    page = visitor.page(console.address(group))
    page.locator('#offsets [data-cell="committed"] a').first.click()
    expect(page.locator("tr[data-key]")).to_have_count(10)
    assert numbers(page) == list(range(15, 25))
    before = page.locator("tr.border").evaluate("row => row.previousElementSibling.dataset.key")
    assert before == "19" and "committed 20" in page.locator("tr.border").inner_text()
    page.get_by_role("link", name="Newer").click()
    expect(page.locator("tr[data-key]").first).to_have_attribute("data-key", "25")
    assert numbers(page) == list(range(25, 35)) and page.url.endswith("offset=30")
    page.get_by_role("link", name="At the commit").click()
    expect(page.locator("tr[data-key]").first).to_have_attribute("data-key", "15")
    assert numbers(page) == list(range(15, 25))


def test_one_jumps_by_time_and_by_offset_and_filters(visitor: Visitor, console: Console, group: str) -> None:
    page = visitor.page(console.address(group, "records/"))
    page.get_by_label("or at time").fill("2026-01-01T01:30:00+01:00")
    page.get_by_label("or at time").press("Enter")
    expect(page.locator("tr[data-key]").first).to_have_attribute("data-key", "25")
    page.get_by_label("At offset").fill("3")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("tr[data-key]").first).to_have_attribute("data-key", "0")
    assert "at=" not in page.url
    page.get_by_label("Holding").fill("KEY-3")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("tr[data-key]")).to_have_count(5)
    assert numbers(page) == [3, 30, 31, 32, 33]


def test_a_choice_shows_at_once(visitor: Visitor, console: Console, group: str) -> None:
    page = visitor.page(console.address(group, "records/"))
    page.get_by_label("Bytes as").select_option("hex")
    expect(page.locator("pre").first).to_have_text(re.compile("^[0-9a-f]+$"))
    page.get_by_label("Partition").select_option("1")
    expect(page.locator(".empty")).to_contain_text("There is no record here")


def test_hostile_records_are_only_text(visitor: Visitor, console: Console, group: str) -> None:
    page = visitor.page(console.address(group, "records/"))
    row = page.locator('tr[data-key="22"]')
    expect(row.locator(".value .about")).to_have_text(re.compile("^hex, .* the beginning$"))
    page.get_by_label("Bytes as").select_option("text")
    expect(row.locator(".value pre")).to_contain_text("<img src=x onerror=")
    expect(row.locator(".headers pre")).to_contain_text("⟨0000⟩⟨202E⟩")
    expect(page).not_to_have_title("lost")


@pytest.mark.parametrize("shade", ["light", "dark"])
def test_it_is_accessible_and_fits_a_narrow_screen(visitor: Visitor, console: Console, group: str, shade: str) -> None:
    page = visitor.page(console.address(group, "records/?around=5"), viewport=NARROW, color_scheme=shade)
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    assert not violations(page)
