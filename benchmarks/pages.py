"""Fifty thousand groups, and a group of five hundred members: how long pages take, and how much goes over the wire.

    python -m benchmarks.pages [--groups 50000] [--members 500] [--rounds 100]

Runs the product (Valkey, web process, broker) with a feed of so many groups. Asks the API for pages of the list, each with
another search, filter, sort or place, and prints p50 and p95 of the answers in milliseconds. Then opens the pages in a real
Chromium with an empty cache, and prints the first contentful paint and the bytes over the wire of everything that was loaded.
The claims beside the figures: one page of the list within 100 ms, first paint within a second and 150 kB.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import psutil
import requests
from playwright.sync_api import Page, sync_playwright

from groups.testing.feed import last_rebalance, member_view, snapshot
from tests.support.browser import Console, Visitor, chromium

PAGE_CLAIM_MS = 100.0
PAINT_CLAIM_MS = 1_000.0
WIRE_CLAIM_KB = 150.0
TOPICS = 200
QUERIES = (
    {},
    {"search": "pay"},
    {"search": "nothing-like-it"},
    {"regex": "^team-[0-4].*-7[0-9]+$"},
    {"state": "Empty"},
    {"topic": "topic-17"},
    {"min_lag": "500", "ordering": "-total_lag"},
    {"ordering": "-last_rebalance"},
    {"ordering": "state", "page": "500"},
    {"ordering": "-group_id", "page_size": "200"},
)


def filled(console: Console, groups: int, members: int) -> None:
    """Writes the feed: groups with two members and two partitions each, and one of many members."""
    dice = random.Random(1)
    for topic in range(TOPICS):
        console.feed.topic(f"topic-{topic}", (0, 1_000), (0, 1_000))
    names = ("pay", "ship", "mail", "search", "audit")
    for number in range(groups):
        name, topic = f"team-{number % 9}-{dice.choice(names)}-{number}", f"topic-{number % TOPICS}"
        crew = [member_view(f"{name}-{n}", {topic: [n]}) for n in range(2)] if number % 5 else []
        offsets = {(topic, n): dice.randrange(1_001) for n in range(2)}
        console.feed.group(snapshot(name, members=crew, offsets=offsets, last_rebalance=last_rebalance()))
    crowd = [member_view(f"crowd-{n}", {"topic-0": [n]}) for n in range(members)]
    console.feed.group(snapshot("crowd", members=crowd, offsets={("topic-0", n): 1 for n in range(members)}))
    console.feed.group(snapshot("three", members=crowd[:3], offsets={("topic-0", n): 1 for n in range(3)}))


def answers_ms(console: Console, session: requests.Session, path: str, rounds: int) -> Iterator[float]:
    """How long each answer takes, its body included."""
    for number in range(rounds):
        query = urlencode(QUERIES[number % len(QUERIES)])
        began = time.perf_counter()
        answer = session.get(f"{console.url}{path}?{query}", timeout=30)
        yield (time.perf_counter() - began) * 1_000
        answer.raise_for_status()


def asked(console: Console, session: requests.Session, what: str, path: str, rounds: int) -> None:
    """Prints how long the answers took, and how much of that the web process worked."""
    worked: Counter[int] = Counter()  # in milliseconds, by the place of what was asked
    figures, before = [], worked_ms()
    for number, took in enumerate(answers_ms(console, session, path, rounds)):
        figures.append(took)
        worked[number % len(QUERIES)] += (now := worked_ms()) - before
        before = now
    cpu, (dearest, most) = worked.total() / rounds, worked.most_common(1)[0]
    parts = statistics.quantiles(figures, n=100)
    said = f"p50 {parts[49]:6.1f} ms   p95 {parts[94]:6.1f} ms ({parts[94] / PAGE_CLAIM_MS:.2f} of the claim)"
    print(
        f"{what:<36} {said}   {cpu:.1f} ms of processor time each, {most / rounds * len(QUERIES):.0f} ms the dearest:"
    )
    print(f"    {QUERIES[dearest]}")


def worked_ms() -> float:
    """Processor time that the web process has used."""
    web = next(one for one in psutil.Process().children() if "uvicorn" in one.cmdline())
    times = web.cpu_times()
    return 1_000 * (times.user + times.system)


def painted(visitor: Visitor, path: str) -> tuple[float, float]:
    """First contentful paint in milliseconds, and kilobytes over the wire, of a page that was never open before."""
    page = visitor.page("/healthz")
    session = page.context.new_cdp_session(page)
    sizes: list[float] = []
    session.send("Network.enable")
    session.send("Network.setCacheDisabled", {"cacheDisabled": True})
    session.on("Network.loadingFinished", lambda told: sizes.append(told["encodedDataLength"]))
    page.goto(visitor.console.url + path)
    page.wait_for_load_state("load")
    return paint_ms(page), sum(sizes) / 1_000


def paint_ms(page: Page) -> float:
    """The moment of the first contentful paint after the navigation began."""
    return float(
        page.evaluate(
            """() => new Promise((done) => new PerformanceObserver((list) => {
              const paint = list.getEntriesByName("first-contentful-paint")[0];
              if (paint) done(paint.startTime);
            }).observe({ type: "paint", buffered: true }))"""
        )
    )


def browse(visitor: Visitor, what: str, path: str, rounds: int) -> None:
    found = [painted(visitor, path) for _ in range(rounds)]
    paint, wire = (statistics.median(column) for column in zip(*found, strict=True))
    visitor.leave()
    said = f"first paint {paint:6.0f} ms ({paint / PAINT_CLAIM_MS:.2f} of the claim)"
    print(f"{what:<36} {said}   {wire:6.0f} kB over the wire ({wire / WIRE_CLAIM_KB:.2f} of the claim)")


def compare(console: Console, visitor: Visitor, given: argparse.Namespace) -> None:
    """Prints every figure with its claim."""
    page = visitor.page("/clusters/local/groups/")
    page.locator("[data-total]", has_text=f"{given.groups + 2:,}").first.wait_for(timeout=60_000)
    session = requests.Session()
    session.cookies.update({one["name"]: one["value"] for one in page.context.cookies()})
    visitor.leave()
    print(f"{given.groups:,} groups, pages of {len(QUERIES)} kinds in turn, {given.rounds} answers")
    asked(console, session, "a page of the API", "/api/v1/clusters/local/groups/", given.rounds)
    asked(console, session, "the same as HTML", "/clusters/local/groups/", given.rounds)
    browse(visitor, "the list in Chromium", "/clusters/local/groups/", 5)
    browse(visitor, "a group of 3 members", "/clusters/local/groups/three/", 5)
    browse(visitor, f"a group of {given.members} members", "/clusters/local/groups/crowd/", 5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, default=50_000)
    parser.add_argument("--members", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=100)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Console(Path(folder), collected=True) as console:
        filled(console, given.groups, given.members)
        with sync_playwright() as playwright:
            compare(console, Visitor(chromium(playwright), console), given)


if __name__ == "__main__":
    main()
