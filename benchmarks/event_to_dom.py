"""How long it takes from the moment something happens in the broker until it stands in an operator's page.

    python -m benchmarks.event_to_dom [--drawings 300] [--sockets 0] [--same-group] [--background-events-per-s 0]

Runs the product (broker, Valkey, web process) and a real Chromium on a group's page. A member joins and leaves that group
over the wire, eight times a second; each drawing of the page is timed from the broker's own time in the oldest event that it
brings to the moment when it is done.
`--sockets` opens further live sockets on the list, with `--same-group` on that very group; `--background-events-per-s` makes
other groups change meanwhile. Both run in processes of their own, on the same machine.
Prints p50, p95, p99 in milliseconds, and how much the web process worked. Both ends read the same clock, so a millisecond is
the resolution.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from benchmarks.live_load import Load, change_groups, load, read_all
from kaas.consumer.connection import Connection
from tests.support.browser import Console, Visitor, chromium
from tests.support.process import processor_s

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


def measure(console: Console, visitor: Visitor, given: argparse.Namespace) -> list[float]:
    """Delays in milliseconds."""
    asyncio_thread(churn(console.broker.port, 1))
    page = visitor.page(console.address(GROUP))
    page.locator('#age[data-state="live"]').wait_for()
    page.evaluate(WATCH)
    with ExitStack() as loads:
        meanwhile = list(further(console, page, given, loads))
        page.evaluate("window.delays.length = 0")
        worked = processor_s(console.web_pid)
        began = time.monotonic()
        while len(delays := page.evaluate("window.delays")) < given.drawings:
            asyncio_thread(churn(console.broker.port, 10))
        share = (processor_s(console.web_pid) - worked) / (time.monotonic() - began)
        for what, one in meanwhile:
            print(f"{what}: {one.per_s():,.0f} per s")
    print(f"the web process used {100 * share:.0f} % of a processor")
    return list(map(float, delays))


def further(console: Console, page: Page, given: argparse.Namespace, loads: ExitStack) -> Iterator[tuple[str, Load]]:
    """The loads that were asked for, with what they count."""
    if given.sockets:
        cookies = "; ".join(f"{one['name']}={one['value']}" for one in page.context.cookies())
        path = f"/ws/clusters/local/groups/{f'{GROUP}/' if given.same_group else ''}"
        readers = load(read_all, console.port, path, cookies, given.sockets)
        yield f"messages to {given.sockets} further sockets", loads.enter_context(readers)
    if given.background_events_per_s:
        changes = load(change_groups, console.environment["REDIS_URL"], given.background_events_per_s)
        yield "events of other groups", loads.enter_context(changes)


def asyncio_thread(work: Any) -> None:
    """Runs a coroutine beside Playwright, which holds the event loop of this thread."""
    thread = threading.Thread(target=asyncio.run, args=(work,))
    thread.start()
    thread.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--drawings", type=int, default=300)
    parser.add_argument("--sockets", type=int, default=0)
    parser.add_argument("--same-group", action="store_true")
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
