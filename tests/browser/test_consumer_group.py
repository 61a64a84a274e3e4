"""A consumer group (KIP-848) in a browser: members that give up, wait and take over; real ones, one of which is removed."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from playwright.sync_api import Page, expect

from groups.testing.feed import consumer_group, consumer_member, member_view, rebalance_record, snapshot
from groups.times import now_ms
from kaas.feed.types import RebalanceView, WaitingFor
from kaasadmin.demo.member import Member, Role
from tests.browser.test_group_page import lane, opened
from tests.support.browser import NARROW, Console, Visitor, new_id, violations
from tests.tour import HISTORY


def reconciling(holder: str) -> RebalanceView:
    now = now_ms()
    wait = WaitingFor(member_id=holder, client_id=None, timer="revocation", since=now, deadline_at=now + 300_000)
    return RebalanceView(
        started_at=now,
        cause="member_joined",
        member_id="two-1",
        detail={"client_id": "two"},
        also=[],
        phase="reconciling",
        phase_since=now,
        phases=[],
        waiting_for=[wait],
        waiting_count=1,
        generation_before=5,
        members_before=1,
    )


def cell(page: Page, member_id: str, name: str):
    return page.locator(f'#members tr[data-key="{member_id}"] [data-cell="{name}"]')


def test_a_classic_group_becomes_one_of_consumers_under_the_readers_eyes(visitor: Visitor, console: Console) -> None:
    name = new_id()
    console.feed.group(snapshot(name, members=[member_view("one-1", {"orders": [0, 1]})], generation=4))
    page = opened(visitor, console, name)
    expect(page.get_by_text("Generation", exact=True).first).to_be_visible()
    expect(page.get_by_text("Group epoch")).to_be_hidden()
    console.feed.group(consumer_group(name, member_view("one-1", {"orders": [0, 1]}, epoch=6)))
    expect(page.locator('[data-fact="group_epoch"]')).to_have_text("6")
    expect(page.locator('[data-fact="type"]')).to_have_text("consumer")
    expect(page.locator('[data-fact="protocol_label"]')).to_have_text("Assignor")
    expect(page.locator('[data-fact="mixed"]')).to_have_text("1 of 1 members on the classic protocol")
    expect(page.locator('.facts [data-of="other"]')).to_be_hidden()
    expect(cell(page, "one-1", "member")).to_contain_text("classic")
    expect(cell(page, "one-1", "state")).to_contain_text("epoch 6")


def test_members_that_give_up_and_wait_are_seen_until_all_have_theirs(visitor: Visitor, console: Console) -> None:
    name = new_id()
    console.feed.group(consumer_group(name, consumer_member("one-1", {"orders": [0, 1]}, epoch=5), group_epoch=5))
    page = opened(visitor, console, name)
    giver = consumer_member("one-1", {"orders": [0]}, revoking={"orders": [1]}, state="revoking", epoch=5)
    taker = consumer_member("two-1", {}, target={"orders": [1]}, state="waiting", subscription_regex="ord.*")
    console.feed.group(consumer_group(name, giver, taker, state="Reconciling", rebalance=reconciling("one-1")))
    expect(page.locator("#phase")).to_contain_text("Waiting for 1 of 2 one has not given up orders 1")
    expect(page.locator("#phase")).to_contain_text("Began because: two joined.")
    expect(cell(page, "one-1", "assignment")).to_have_text("orders 0gives up orders 1")
    expect(cell(page, "one-1", "state")).to_contain_text("epoch 5 of 6")
    expect(cell(page, "two-1", "assignment")).to_have_text("nonewaits for orders 1 from one")
    expect(cell(page, "two-1", "subscription")).to_contain_text("ord.*")
    expect(lane(page, "one-1")).to_contain_text("gives up orders 1")
    expect(lane(page, "one-1").locator("rect").last).to_have_class("seg-revoking")
    expect(lane(page, "two-1").locator("rect")).to_have_class(["seg-waiting"])

    both = [consumer_member("one-1", {"orders": [0]}), consumer_member("two-1", {"orders": [1]})]
    console.feed.group(consumer_group(name, *both), "rebalance_completed", rebalance=rebalance_record(kind="consumer"))
    expect(page.locator("#moved")).to_contain_text("1 moved, 1 kept in epoch 2")
    expect(page.locator(".generation-label")).to_have_text([re.compile("epoch 2|2")])
    expect(cell(page, "two-1", "assignment")).to_have_text("orders 1")
    expect(lane(page, "two-1")).to_contain_text("orders 1")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [None, NARROW], ids=["wide", "narrow"])
def test_it_can_be_read_by_everybody(visitor: Visitor, console: Console, scheme: str, viewport) -> None:
    name = new_id()
    giver = consumer_member("one-1", {"orders": [0]}, revoking={"orders": [1]}, state="revoking", epoch=5)
    away = consumer_member("two-1", {}, target={"orders": [1]}, state="away", epoch=-2, instance_id="pod-2")
    console.feed.group(consumer_group(name, giver, away, state="Reconciling", rebalance=reconciling("one-1")))
    page = opened(visitor, console, name, color_scheme=scheme, **({"viewport": viewport} if viewport else {}))
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.fixture
def topic(console: Console) -> str:
    """A topic with two partitions and ten records."""
    name = new_id("topic")
    servers = {"bootstrap.servers": console.broker.address, "log_level": 0}
    admin = AdminClient(servers)
    admin.create_topics([NewTopic(name, 2, 1)])[name].result(30)
    producer = Producer(servers)
    for number in range(10):
        producer.produce(name, str(number), partition=number % 2)
    assert producer.flush(30) == 0
    return name


@pytest.fixture
def shop(console: Console, topic: str) -> Iterator[tuple[str, list[Member]]]:
    """A group of two real members under KIP-848."""
    name = new_id()
    running = [
        Member(console.broker.address, Role(group=name, protocol="consumer", topics=(topic,), client_id=f"shop-{n}"))
        for n in (1, 2)
    ]
    yield name, running
    for member in running:
        member.stop()


def test_real_members_are_seen_removed_and_their_group_is_reset_when_they_are_gone(
    visitor: Visitor, console: Console, topic: str, shop: tuple[str, list[Member]]
) -> None:
    name, running = shop
    page = visitor.page(console.address(name))
    expect(page.locator("#members tbody tr")).to_have_count(2)
    expect(page.locator('[data-fact="state"]')).to_have_text("Stable")
    expect(page.locator('[data-fact="type"]')).to_have_text("consumer")
    expect(page.locator("#members tbody")).to_contain_text(f"{topic} 0")
    expect(page.locator("#members tbody")).to_contain_text(f"{topic} 1")
    expect(page.get_by_role("link", name="Reset offsets")).to_have_attribute("aria-disabled", "true")

    page.locator("#members tr", has_text="shop-1").locator("[data-remove]").click()
    page.get_by_role("dialog").get_by_label("Reason").fill("stuck")
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(page.get_by_text("shop-1 is removed; the group rebalances without it.")).to_be_visible()
    expect(page.locator("#members tbody")).to_contain_text("shop-1")  # its client comes back by itself
    expect(page.locator('[data-fact="state"]')).to_have_text("Stable")
    console.manage("shell", "-c", HISTORY)
    page.goto(console.address(name, "rebalances/"))
    expect(page.locator("main")).to_contain_text("shop-1 was removed by an operator: stuck (by admin).")

    page.goto(console.address(name))
    for member in running:
        member.stop()
    expect(page.locator('[data-fact="state"]')).to_have_text("Empty")
    page.goto(console.address(name, "reset/"))
    page.get_by_role("button", name="Make the plan").click()
    page.get_by_role("button", name="Apply the plan").click()
    page.get_by_role("dialog").get_by_role("button", name="Apply").click()
    page.get_by_text("every partition reads back as asked").wait_for()
    admin = AdminClient({"bootstrap.servers": console.broker.address, "log_level": 0})
    found = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(name)])[name].result(30)
    assert {one.offset for one in found.topic_partitions} == {0}
