"""How long it takes from the moment something happens in the broker until it stands in an operator's page.

    python benchmarks/event_to_dom.py [--drawings 300] [--sockets 0] [--background-events-per-s 0]

Runs the product (broker, Valkey, web process) and a real Chromium on a group's page. A member joins and leaves that group
over the wire, eight times a second; each drawing of the page is timed from the broker's own time in the oldest event that it
brings to the moment when it is done.
`--sockets` opens further live sockets, `--background-events-per-s` makes other groups change meanwhile.
Prints p50, p95, p99 in milliseconds. Both ends read the same clock, so a millisecond is the resolution.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import websockets
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from groups.testing.feed import FeedWriter, snapshot  # noqa: E402
from kaas.consumer.connection import Connection  # noqa: E402
from tests.support.browser import Console, Visitor, chromium  # noqa: E402

GROUP = "event-to-dom"
JOIN, LEAVE = 11, 13
JOIN_VERSION, LEAVE_VERSION = 3, 0
PAUSE_S = 0.0625
WATCH = """() => {
  window.delays = [];
  const place = document.getElementById("group") ?? document.getElementById("missing");
  new MutationObserver(() => {
    const at = Date.parse(place.dataset.shown);
    if (Date.now() - at < 60_000) window.delays.push(Date.now() - at);
  }).observe(place, { attributes: true, attributeFilter: ["data-shown"] });
}"""


async def churn(port: int, turns: int) -> None:
    """A member that joins and leaves, over and over."""
    connection = await Connection.open("127.0.0.1", port)
    for _ in range(turns):
        member_id = await join(connection)
        await asyncio.sleep(PAUSE_S)
        await connection.call(LEAVE, {"group_id": GROUP, "member_id": member_id}, version=LEAVE_VERSION)
        await asyncio.sleep(PAUSE_S)
    await connection.close()


async def join(connection: Connection) -> str:
    """A JoinGroup of a new member; answers its id."""
    values: dict[str, Any] = {
        "group_id": GROUP,
        "session_timeout": 30_000,
        "rebalance_timeout": 30_000,
        "member_id": "",
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": b"\0\0\0\0\0\0\xff\xff\xff\xff"}],
    }
    answer = await connection.call(JOIN, values, version=JOIN_VERSION)
    return str(answer.member_id)


@contextmanager
def sockets(console: Console, page: Page, count: int) -> Iterator[None]:
    """Further live sockets on the list, which read what they are told."""
    cookies = "; ".join(f"{one['name']}={one['value']}" for one in page.context.cookies())
    address = f"{console.url.replace('http', 'ws')}/ws/clusters/local/groups/"

    async def read() -> None:
        headers = {"Cookie": cookies, "Origin": console.url}
        async with websockets.connect(address, additional_headers=headers, max_size=None) as socket:
            async for _ in socket:
                pass

    async def read_all() -> None:
        await asyncio.gather(*(read() for _ in range(count)), return_exceptions=True)

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    task = asyncio.run_coroutine_threadsafe(read_all(), loop)
    try:
        yield
    finally:
        task.cancel()
        asyncio.run_coroutine_threadsafe(_ended(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)
        loop.close()


async def _ended() -> None:
    """Lets everything else on this loop come to its end."""
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


@contextmanager
def background(feed: FeedWriter, per_s: int) -> Iterator[None]:
    """Other groups that change all the time."""
    ending = threading.Event()

    def write() -> None:
        number = 0
        while per_s and not ending.wait(1 / per_s):
            number += 1
            feed.group(snapshot(f"background-{number % 200}", offsets={("t", 0): number}), "offsets_committed")

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join(5)


def measure(console: Console, visitor: Visitor, given: argparse.Namespace) -> list[float]:
    """Delays in milliseconds."""
    asyncio_thread(churn(console.broker.port, 1))
    page = visitor.page(console.address(GROUP))
    page.locator('#age[data-state="live"]').wait_for()
    page.evaluate(WATCH)
    with sockets(console, page, given.sockets), background(console.feed, given.background_events_per_s):
        while len(delays := page.evaluate("window.delays")) < given.drawings:
            asyncio_thread(churn(console.broker.port, 10))
    return list(map(float, delays))


def asyncio_thread(work: Any) -> None:
    """Runs a coroutine beside Playwright, which holds the event loop of this thread."""
    thread = threading.Thread(target=asyncio.run, args=(work,))
    thread.start()
    thread.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--drawings", type=int, default=300)
    parser.add_argument("--sockets", type=int, default=0)
    parser.add_argument("--background-events-per-s", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Console(Path(folder)) as console, sync_playwright() as playwright:
        delays = measure(console, Visitor(chromium(playwright), console), given)
    parts = statistics.quantiles(delays, n=100)
    print(f"{len(delays)} drawings, {given.sockets} further sockets, {given.background_events_per_s} other events/s")
    print(
        f"event to DOM: p50 {parts[49]:.0f} ms, p95 {parts[94]:.0f} ms, p99 {parts[98]:.0f} ms, max {max(delays):.0f} ms"
    )


if __name__ == "__main__":
    main()
