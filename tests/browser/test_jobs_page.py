"""A job in a browser: what it would do is named, it is started, and its progress is followed without a hand."""

from __future__ import annotations

import re
import subprocess
import sys

from confluent_kafka import ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from playwright.sync_api import expect

from groups.testing.feed import snapshot
from tests.support.broker import ROOT
from tests.support.browser import Console, Visitor, new_id, violations
from tests.support.waiting import until

WIDE = 1_100
"""More partitions than one commit of the page takes."""

RUN = """
from groups.jobs.running import jobs_run
jobs_run()
"""
"""What the worker does every second."""


def committed(console: Console, topic: str, *group_ids: str) -> None:
    """Groups of the real broker, without members, that committed in a topic."""
    admin = AdminClient({"bootstrap.servers": console.broker.address, "log_level": 0})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(30)
    for group_id in group_ids:
        offsets = ConsumerGroupTopicPartitions(group_id, [TopicPartition(topic, 0, 0)])
        admin.alter_consumer_group_offsets([offsets])[group_id].result(30)
    until(lambda: all(console.redis.hexists("kaas:local:groups", one) for one in group_ids))


def test_groups_are_deleted_by_a_job_that_one_can_watch(visitor: Visitor, console: Console) -> None:
    run = new_id("run")
    committed(console, new_id("topic"), f"{run}-a", f"{run}-b")
    page = visitor.page(f"/clusters/local/groups/?search={run}")
    expect(page.locator("#groups tbody tr")).to_have_count(2)
    page.get_by_role("button", name="Delete empty ones…").click()
    expect(page.get_by_text(f"{run}-a")).to_be_visible()
    page.get_by_role("button", name="Delete 2 groups").click()
    page.wait_for_url("**/jobs/*/")
    expect(page.locator("#progress")).to_contain_text("0 of 2")
    subprocess.run(
        [sys.executable, "manage.py", "shell", "-v0", "-c", RUN], cwd=ROOT, env=console.environment, check=True
    )
    expect(page.locator("#progress")).to_contain_text("2 of 2")
    expect(page.locator("#progress")).to_have_attribute("data-state", "done")
    expect(page.locator("#items")).to_contain_text("Deleted with 1 committed offset; undo puts them back.")
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)


def test_groups_that_are_chosen_by_boxes_are_planned_and_reset(visitor: Visitor, console: Console) -> None:
    run = new_id("run")
    committed(console, new_id("topic"), *(f"{run}-{name}" for name in "abc"))
    page = visitor.page("/clusters/local/groups/")
    reset = page.get_by_role("button", name="Reset")
    expect(reset).to_be_disabled()
    page.get_by_role("searchbox").fill(run)
    expect(page.locator("#groups tbody tr")).to_have_count(3)
    expect(reset).to_be_enabled()
    for name in "ac":
        page.get_by_label(f"Choose {run}-{name}").check()
    expect(reset).to_have_text("Reset 2 chosen…")
    reset.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Reset offsets of 2 groups")
    page.get_by_role("button", name="Make the plans").click()
    rows = page.locator("table.plan tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text(f"{run}-a")
    assert not violations(page)
    page.get_by_role("button", name="Start the job on 2 groups").click()
    page.wait_for_url("**/jobs/*/")
    subprocess.run(
        [sys.executable, "manage.py", "shell", "-v0", "-c", RUN], cwd=ROOT, env=console.environment, check=True
    )
    expect(page.locator("#progress")).to_have_attribute("data-state", "done")
    expect(page.locator("#items")).to_contain_text("1 partition is reset and read back")
    assert not violations(page)


def test_rows_that_are_drawn_anew_stay_chosen(visitor: Visitor, console: Console) -> None:
    run = new_id("run")
    console.feed.group(snapshot(f"{run}-a"))
    page = visitor.page(f"/clusters/local/groups/?search={run}")
    box = page.get_by_label(f"Choose {run}-a")
    box.check()
    console.feed.group(snapshot(f"{run}-b"), "group_created")
    page.keyboard.press("r")
    expect(page.locator("#groups tbody tr")).to_have_count(2)
    expect(box).to_be_checked()
    expect(page.get_by_role("button", name="Reset 1 chosen…")).to_be_enabled()


ONE_BATCH = """
from groups.jobs import running
renewals = iter([True, False])
running._renew = lambda job: next(renewals)
running.jobs_run()
"""
"""What a worker does that is interrupted after its first batch."""


def test_a_reset_of_very_many_partitions_is_cancelled_in_the_middle_and_undone(
    visitor: Visitor, console: Console
) -> None:
    name, topic = new_id(), new_id("wide")
    admin = AdminClient({"bootstrap.servers": console.broker.address, "log_level": 0})
    admin.create_topics([NewTopic(topic, WIDE, 1)])[topic].result(60)
    producer = Producer({"bootstrap.servers": console.broker.address, "log_level": 0})
    producer.produce(topic, b"one", partition=0)
    assert producer.flush(30) == 0
    offsets = ConsumerGroupTopicPartitions(name, [TopicPartition(topic, number, 0) for number in range(WIDE)])
    admin.alter_consumer_group_offsets([offsets])[name].result(60)
    until(lambda: console.redis.hexists("kaas:local:groups", name))

    page = visitor.page(console.address(name, "reset/"))
    page.get_by_label("The log's end").check()
    page.get_by_role("button", name="Make the plan").click()
    page.get_by_role("button", name="Apply the plan").click()
    page.get_by_role("button", name="Start the job").click()
    progress = page.locator("#progress")
    expect(progress).to_contain_text("0 of 1,100")
    console.manage("shell", "-v0", "-c", ONE_BATCH)
    expect(progress).to_contain_text("500 of 1,100")
    expect(page.locator("#items tbody tr").first).to_contain_text("0 became 1, which reads back.")
    page.get_by_role("button", name="Cancel").click()
    expect(progress).to_contain_text("500 of 1,100 partitions are done and read back, 600 were not touched.")
    assert not violations(page)
    page.get_by_role("link", name="Undo").click()
    expect(page.locator("#would-title")).to_contain_text("500")
    page.get_by_role("button", name="Put them back").click()
    expect(page.locator("table.plan tbody tr").first).to_contain_text(re.compile(r"1\s+→\s+0\s+0\s+Done"))
