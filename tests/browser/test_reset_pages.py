"""Resets in a browser against the real broker: plan, apply, read back, undo, delete; with scripts and without."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from playwright.sync_api import Page, expect

from tests.support.browser import Console, Visitor, new_id, violations
from tests.support.waiting import until


@pytest.fixture(scope="module")
def admin(console: Console) -> AdminClient:
    """Kafka's own view of the broker."""
    return AdminClient({"bootstrap.servers": console.broker.address, "log_level": 0})


@pytest.fixture(scope="module")
def topic(console: Console, admin: AdminClient) -> str:
    """A topic of the broker with ten records in each of its two partitions."""
    name = new_id("topic")
    admin.create_topics([NewTopic(name, 2, 1)])[name].result(30)
    producer = Producer({"bootstrap.servers": console.broker.address, "log_level": 0})
    for partition in (0, 1):
        for number in range(10):
            producer.produce(name, str(number), partition=partition)
    assert producer.flush(30) == 0
    return name


@pytest.fixture
def group(console: Console, admin: AdminClient, topic: str) -> str:
    """A group without members that committed 4 and 6."""
    name = new_id()
    offsets = [TopicPartition(topic, 0, 4), TopicPartition(topic, 1, 6)]
    admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(name, offsets)])[name].result(30)
    until(lambda: console.redis.hexists("kaas:local:groups", name))
    return name


def committed(admin: AdminClient, group_id: str) -> list[int]:
    """What is committed, by partition."""
    found = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group_id)])[group_id].result(30)
    return [one.offset for one in sorted(found.topic_partitions, key=lambda one: one.partition)]


def table(page: Page) -> list[str]:
    rows = page.locator("main tbody tr").all_inner_texts()
    return [re.sub(r"\s+", " ", row) for row in rows]


def test_a_reset_goes_from_the_plan_to_the_read_back_and_is_undone(
    visitor: Visitor, console: Console, admin: AdminClient, topic: str, group: str
) -> None:
    page = visitor.page(console.address(group))
    page.get_by_role("link", name="Reset offsets").click()
    page.get_by_label("By so many records").check()
    page.locator("#value_shift").fill("-3")
    page.get_by_role("button", name="Make the plan").click()
    expect(page.get_by_role("button", name="Apply the plan")).to_be_visible()
    assert [row.split("\t")[0] for row in table(page)] == [f"{topic} 0 4 → 1 – 3 ", f"{topic} 1 6 → 3 – 3 "]
    expect(page.locator("#command")).to_contain_text("--shift-by -3 --all-topics --execute")
    assert committed(admin, group) == [4, 6]

    page.get_by_role("button", name="Apply the plan").click()
    dialog = page.get_by_role("dialog", name="Apply this plan?")
    expect(dialog).to_contain_text("2 offsets")
    dialog.get_by_role("button", name="Apply").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("every partition reads back as asked")
    assert committed(admin, group) == [1, 3]

    page.get_by_role("link", name="Undo").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Put back what was there?")
    assert not violations(page)
    page.get_by_role("button", name="Put them back").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("every partition reads back as asked")
    assert committed(admin, group) == [4, 6]


STRATEGIES = {
    "The log's start": ("", [0, 0], "--to-earliest"),
    "The log's end": ("", [10, 10], "--to-latest"),
    "A moment": ("2001-01-01T00:00:00+02:00", [0, 0], "--to-datetime"),
    "So long ago": ("PT1H", [0, 0], "--by-duration PT1H"),
    "One offset": ("3", [3, 3], "--to-offset 3"),
    "By so many records": ("2", [6, 8], "--shift-by 2"),
    "Where they are": ("", [4, 6], "--to-current"),
    "Where another group is": ("{other}", [1, 2], "--from-file"),
    "Lines of topic, partition, offset": ("{topic},0,9\n{topic},1,5", [9, 5], "--from-file"),
}
"""Strategy to what is asked of it, where the offsets are then, and the words of Kafka's own tool."""


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_takes_the_offsets_where_it_says(
    visitor: Visitor, console: Console, admin: AdminClient, topic: str, group: str, strategy: str
) -> None:
    value, expected, words = STRATEGIES[strategy]
    other = ConsumerGroupTopicPartitions(new_id("other"), [TopicPartition(topic, 0, 1), TopicPartition(topic, 1, 2)])
    admin.alter_consumer_group_offsets([other])[other.group_id].result(30)
    page = visitor.page(console.address(group, "reset/"))
    page.get_by_label(strategy).check()
    if value:
        field = (
            page.locator(".strategy", has=page.get_by_label(strategy)).locator(".value").get_by_role("textbox").first
        )
        field.fill(value.format(other=other.group_id, topic=topic))
    page.get_by_role("button", name="Make the plan").click()
    expect(page.locator("#command")).to_contain_text(words)
    page.get_by_role("button", name="Apply the plan").click()
    page.get_by_role("dialog").get_by_role("button", name="Apply").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("every partition reads back as asked")
    assert committed(admin, group) == expected


def test_everything_works_without_scripts(
    visitor: Visitor, console: Console, admin: AdminClient, topic: str, group: str
) -> None:
    page = visitor.page(console.address(group), java_script_enabled=False)
    expect(page.locator("#phase")).to_contain_text("Nobody is in the group.")
    page.get_by_role("link", name="Reset offsets").click()
    page.get_by_label("The log's end").check()
    page.get_by_label("These topics").check()
    page.get_by_role("checkbox", name=topic).check()
    page.get_by_label(f"Partitions of {topic}").fill("1")
    page.get_by_role("button", name="Make the plan").click()
    page.get_by_role("button", name="Apply the plan").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("every partition reads back as asked")
    assert committed(admin, group) == [4, 10]
    page.get_by_role("link", name="To the group").click()
    page.get_by_role("link", name="Delete group").click()
    page.get_by_role("button", name="Delete the group").click()
    expect(page.get_by_role("status")).to_contain_text(f"The group {group} is deleted.")
    assert committed(admin, group) == []


def test_deleting_asks_in_a_dialog_that_says_what_is_lost(
    visitor: Visitor, console: Console, admin: AdminClient, topic: str, group: str
) -> None:
    page = visitor.page(console.address(group))
    page.get_by_role("link", name="Delete group").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("2 partitions")
    dialog.get_by_role("link", name="Keep it").click()
    expect(dialog).to_have_count(0)
    assert committed(admin, group) == [4, 6]
    page.get_by_role("link", name="Delete offsets").click()
    page.get_by_role("checkbox", name=topic).check()
    page.get_by_label(f"Partitions of {topic}").fill("0")
    page.get_by_role("button", name="Delete the offsets").click()
    expect(page.get_by_role("status").first).to_contain_text("1 committed offsets are deleted.")
    assert committed(admin, group) == [6]


def test_a_moment_is_picked_in_ones_zone_and_read_back_in_utc(visitor: Visitor, console: Console, group: str) -> None:
    """The picker and the page meant different zones and named none.

    https://github.com/tchiotludo/akhq/issues/1400
    https://github.com/kafbat/kafka-ui/issues/435
    https://github.com/kafbat/kafka-ui/issues/1230
    """
    page = visitor.page(console.address(group, "reset/"), timezone_id="Asia/Kolkata")
    page.get_by_label("A moment").check()
    page.locator("#moment").fill("2026-01-01T05:30:00")
    expect(page.locator("#value_timestamp")).to_have_value("2026-01-01T05:30:00+05:30")
    expect(page.locator("[data-moment-said]")).to_contain_text("2026-01-01 00:00:00 UTC")
    page.locator("#value_timestamp").fill("2026-01-01T05:30:00")
    expect(page.locator("[data-moment-said]")).to_contain_text("The zone is missing")


def test_a_refusal_is_shown_where_it_was_asked(visitor: Visitor, console: Console, group: str) -> None:
    """A reset that failed said nothing.

    https://github.com/tchiotludo/akhq/issues/1807
    """
    page = visitor.page(console.address(group, "reset/"))
    page.get_by_label("So long ago").check()
    page.locator("#value_duration").fill("soon")
    page.get_by_role("button", name="Make the plan").click()
    expect(page.get_by_role("alert")).to_contain_text("is no ISO 8601 duration")
    expect(page.locator("#value_duration")).to_have_value("soon")
    page.get_by_role("button", name="PT1H").click()
    page.get_by_role("button", name="Make the plan").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("So long ago PT1H")


def test_an_armed_reset_is_applied_the_moment_the_group_empties(
    visitor: Visitor, console: Console, admin: AdminClient, topic: str, group: str
) -> None:
    settings = {"bootstrap.servers": console.broker.address, "group.id": group, "log_level": 0}
    member = Consumer({**settings, "enable.auto.commit": False})
    member.subscribe([topic])
    until(lambda: member.poll(0.1) is not None and len(member.assignment()) == 2)
    page = visitor.page(console.address(group, "reset/"))
    page.get_by_label("The log's start").check()
    page.get_by_role("button", name="Make the plan").click()
    expect(page.get_by_role("button", name="Apply the plan")).to_be_disabled()
    expect(page.get_by_role("status")).to_contain_text("stop them first")
    page.get_by_role("button", name="Arm it").click()
    expect(page.locator(".notice").filter(has_text="A reset is armed by admin")).to_be_visible()
    assert committed(admin, group) == [4, 6]
    member.close()
    until(lambda: committed(admin, group) == [0, 0])
    page.reload()
    expect(page.get_by_text("A reset is armed")).to_have_count(0)
    page.get_by_role("link", name="Undo").click()
    page.get_by_role("button", name="Put them back").click()
    until(lambda: committed(admin, group) == [4, 6])


def applied(page: Page) -> None:
    page.get_by_role("button", name="Apply the plan").click()
    page.get_by_role("dialog").get_by_role("button", name="Apply").click()


def test_of_two_operators_the_second_is_told_who_was_first(
    visitor: Visitor, console: Console, admin: AdminClient, group: str
) -> None:
    first, second = (visitor.page(console.address(group, "reset/")) for _ in range(2))
    for page, strategy in ((first, "The log's start"), (second, "The log's end")):
        page.get_by_label(strategy).check()
        page.get_by_role("button", name="Make the plan").click()
        expect(page.get_by_role("button", name="Apply the plan")).to_be_visible()
    applied(first)
    expect(first.get_by_role("heading", level=1)).to_contain_text("every partition reads back as asked")
    applied(second)
    expect(second.get_by_role("alert")).to_contain_text("went from 4 to 0: admin reset them at")
    assert committed(admin, group) == [0, 0]


def test_offsets_go_out_as_a_file_and_come_in_as_one(
    visitor: Visitor, console: Console, admin: AdminClient, topic: str, group: str, tmp_path: Path
) -> None:
    page = visitor.page(console.address(group))
    with page.expect_download() as started:
        page.locator("#offsets").get_by_role("link", name="CSV").click()
    lines = started.value.path().read_text()
    assert lines == f"{topic},0,4\n{topic},1,6\n" and started.value.suggested_filename == f"{group}.csv"
    changed = tmp_path / "offsets.csv"
    changed.write_text(lines.replace(",0,4", ",0,7"))
    page.goto(console.address(group, "reset/"))
    page.get_by_label("Lines of topic, partition, offset").check()
    page.get_by_label("or a file").set_input_files(changed)
    page.get_by_role("button", name="Make the plan").click()
    page.get_by_role("button", name="Apply the plan").click()
    page.get_by_role("dialog").get_by_role("button", name="Apply").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("every partition reads back as asked")
    assert committed(admin, group) == [7, 6]
