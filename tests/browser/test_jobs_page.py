"""A job in a browser: what it would do is named, it is started, and its progress is followed without a hand."""

from __future__ import annotations

import subprocess
import sys

from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from playwright.sync_api import expect

from tests.support.broker import ROOT
from tests.support.browser import Console, Visitor, new_id
from tests.support.waiting import until

RUN = """
from groups.jobs.running import jobs_run
jobs_run()
"""
"""What the worker does every second."""


def committed(console: Console, topic: str, *group_ids: str) -> None:
    """Groups of the real broker, without members, that committed in a topic."""
    admin = AdminClient({"bootstrap.servers": console.broker.address, "log_level": 0})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(10)
    for group_id in group_ids:
        offsets = ConsumerGroupTopicPartitions(group_id, [TopicPartition(topic, 0, 0)])
        admin.alter_consumer_group_offsets([offsets])[group_id].result(10)
    until(lambda: all(console.redis.hexists("kaas:local:groups", one) for one in group_ids))


def test_groups_are_deleted_by_a_job_that_one_can_watch(visitor: Visitor, console: Console) -> None:
    run = new_id("run")
    committed(console, new_id("topic"), f"{run}-a", f"{run}-b")
    page = visitor.page(f"/clusters/local/groups/?search={run}")
    expect(page.locator("#groups tbody tr")).to_have_count(2)
    page.get_by_role("link", name="Delete empty ones…").click()
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
