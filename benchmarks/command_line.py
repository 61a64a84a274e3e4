"""Every group with its lag: Kafka's own command against the console's list and export, on the same broker.

    python -m benchmarks.command_line [--groups 10404] [--rounds 3]

`kafka-consumer-groups --describe --all-groups` asks the broker for every group and every log end; the console answers from its
feed. Prints medians in seconds, the size of what came back, and how often the console's way fits into the command's time.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import requests
from playwright.sync_api import sync_playwright

from benchmarks import load, peers
from benchmarks.listing import make, names
from tests.support.apache import java
from tests.support.browser import Console, Visitor, chromium

COMMAND = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
LIST = "/api/v1/clusters/local/groups/"


def described(console: Console) -> int:
    """Kafka's command; characters that it printed."""
    command = java(COMMAND, "--bootstrap-server", console.broker.address, "--describe", "--all-groups")
    done = subprocess.run([*command, "--timeout", "60000"], capture_output=True, text=True, check=True)
    return len(done.stdout)


def timed(ask: Callable[[], int], rounds: int) -> tuple[float, int]:
    """Median seconds, and the size of the last answer."""
    took, size = [], 0
    for _ in range(rounds):
        began = time.perf_counter()
        size = ask()
        took.append(time.perf_counter() - began)
    return statistics.median(took), size


def signed_in(console: Console, groups: int) -> requests.Session:
    """A session of the console, once its list holds every group."""
    session = requests.Session()
    with sync_playwright() as playwright:
        page = Visitor(chromium(playwright), console).page("/clusters/local/groups/")
        page.locator("[data-total]", has_text=f"{groups:,}").first.wait_for(timeout=120_000)
        session.cookies.update({one["name"]: one["value"] for one in page.context.cookies()})
    return session


def main() -> None:
    chosen = peers.options(__doc__, groups=10_404)
    with tempfile.TemporaryDirectory() as folder, Console(Path(folder), collected=True) as console:
        asyncio.run(load.prepare(console.broker.address))
        asyncio.run(make(console.broker.address, names(chosen.groups)))
        session = signed_in(console, chosen.groups)

        def answer(path: str) -> int:
            told = session.get(console.url + path, timeout=120)
            told.raise_for_status()
            return len(told.content)

        command_s, size = timed(lambda: described(console), chosen.rounds)
        print(f"{'kafka-consumer-groups --describe --all-groups':<48} {command_s:8.3f} s {size:>12,} B", flush=True)
        ways = {
            "one page of the list": f"{LIST}?page_size=50",
            "every group with its partitions as CSV": f"{LIST}?format=csv",
        }
        for what, path in ways.items():
            took_s, size = timed(lambda path=path: answer(path), chosen.rounds)  # type: ignore[misc]
            print(f"{what:<48} {took_s:8.3f} s {size:>12,} B   {command_s / took_s:,.0f} times", flush=True)
        console.broker.kill()  # in order it would write a file for every group first


if __name__ == "__main__":
    main()
