"""Lag over time in a browser: the chart of what was sampled, which goes with time and rests while somebody reads it."""

from __future__ import annotations

import re
import subprocess
import sys

from playwright.sync_api import expect

from groups.testing.feed import snapshot
from tests.support.broker import ROOT
from tests.support.browser import NARROW, Console, Visitor, new_id

SAMPLE = """
import asyncio
from groups.feeds import feed_of
from groups.lag import sampling
asyncio.run(feed_of("local").reader.load())
at = sampling.now_ms() - {ago_s} * 1_000
sampling.now_ms = lambda: at
sampling.lag_sample("local")
"""
"""What the worker does every ten seconds."""


def sample(console: Console, *, ago_s: int) -> None:
    command = [sys.executable, "manage.py", "shell", "-v0", "-c", SAMPLE.format(ago_s=ago_s)]
    subprocess.run(command, cwd=ROOT, env=console.environment, check=True)


def test_the_chart_shows_what_was_sampled(visitor: Visitor, console: Console) -> None:
    name, topic = new_id(), new_id("topic")
    console.feed.topic(topic, (0, 1_000))
    for ago_s, committed in ((30, 200), (15, 700)):
        console.feed.group(snapshot(name, offsets={(topic, 0): committed}))
        sample(console, ago_s=ago_s)
    page = visitor.page(console.address(name))
    panel = page.locator("#lag")
    chart = panel.get_by_role("img", name="Lag over the last 15 minutes: between 300 and 800 records")
    expect(chart).to_be_visible()
    expect(panel).to_contain_text("Stopped Records wait, and the group has no members.")
    expect(panel).to_contain_text("nothing is known of the shaded time")
    assert re.match(r"M\S+ \S+ L\S+ \S+$", panel.locator(".line").get_attribute("d") or "")
    panel.get_by_text("The numbers").click()
    expect(panel.locator("tbody tr").first).to_contain_text("300")

    panel.get_by_role("link", name="14 days").click()
    page.wait_for_url("**/lag/?back=14d")
    page.get_by_label("Topic").select_option(topic)
    page.get_by_role("button", name="Show").click()
    page.wait_for_url(f"**topic={topic}*")
    expect(page.locator("#lag .head")).to_contain_text(topic)


def test_the_panel_goes_with_time(visitor: Visitor, console: Console) -> None:
    name, topic = new_id(), new_id("topic")
    console.feed.topic(topic, (0, 1_000))
    console.feed.group(snapshot(name, offsets={(topic, 0): 400}))
    page = visitor.page(viewport=NARROW)
    page.clock.install()
    page.goto(console.address(name, "lag/"))
    expect(page.locator("#lag")).to_contain_text("Samples are taken every 10 s by the worker.")
    sample(console, ago_s=0)
    page.clock.run_for(10_500)
    expect(page.get_by_role("img", name=re.compile("between 600 and 600"))).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
