"""Alerts in a browser: a rule and a webhook are made by their forms, what fires appears by itself, messages tell their fate."""

from __future__ import annotations

import re
import subprocess
import sys

from playwright.sync_api import expect

from groups.testing.feed import snapshot
from tests.support.broker import ROOT
from tests.support.browser import NARROW, Console, Visitor, new_id

EVALUATE = """
import asyncio
from groups.alerts.evaluation import alerts_evaluate
from groups.alerts.outbox import deliveries_send
from groups.alerts.targets import Answer
from groups.feeds import feed_of
asyncio.run(feed_of("local").reader.load())
alerts_evaluate("local")
deliveries_send(lambda *_: Answer(status=500, error="It answered 500."))
"""
"""What the worker does every few seconds; the other side refuses."""


def evaluate(console: Console) -> None:
    command = [sys.executable, "manage.py", "shell", "-v0", "-c", EVALUATE]
    subprocess.run(command, cwd=ROOT, env=console.environment, check=True)


def test_what_fires_appears_by_itself(visitor: Visitor, console: Console) -> None:
    name = new_id()
    console.feed.group(snapshot(name))
    page = visitor.page("/alerts/")
    page.get_by_text("Make a webhook").click()
    page.locator("#hook-name").fill(f"pager {name}")
    page.locator("#hook-url").fill("https://example.org/alerts")
    page.locator("#hook-secret").fill("0123456789abcdef")
    page.get_by_role("button", name="Make the webhook").click()
    expect(page.get_by_text("send it a test message")).to_be_visible()

    if not page.locator("#rule-name").is_visible():
        page.get_by_text("Make a rule").click()
    page.locator("#rule-name").fill(f"empty {name}")
    page.locator("#rule-kind").select_option("no_members")
    expect(page.locator("#rule-threshold")).to_be_hidden()
    page.locator("#rule-for").fill("0")
    page.locator("#rule-groups").fill(name)
    page.locator("#rule-webhook").select_option(label=f"pager {name}")
    page.get_by_role("button", name="Make the rule").click()
    expect(page.locator("#rules")).to_contain_text(f"empty {name}")

    evaluate(console)
    row = page.locator("#alerts tr", has_text=name)
    expect(row).to_contain_text("The group is Empty and has no members.")
    expect(row).to_contain_text("Firing")
    sent = page.locator("#deliveries tr", has_text=name)
    expect(sent).to_contain_text(re.compile(r"Waiting\s+firing.*It answered 500\.", re.DOTALL))
    row.get_by_role("link", name=name).click()
    page.wait_for_url(f"**/{name}/")


def test_the_form_asks_for_what_the_kind_needs(visitor: Visitor) -> None:
    page = visitor.page("/alerts/", viewport=NARROW)
    if not page.locator("#rule-name").is_visible():
        page.get_by_text("Make a rule").click()
    expect(page.locator("#rule-threshold")).to_be_visible()
    expect(page.get_by_role("group", name="Lag statuses")).to_be_hidden()
    page.locator("#rule-kind").select_option("lag_status")
    expect(page.get_by_role("group", name="Lag statuses")).to_be_visible()
    page.locator("#rule-name").fill("nothing chosen")
    page.get_by_role("button", name="Make the rule").click()
    expect(page.get_by_role("alert")).to_contain_text("at least one lag status")
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
