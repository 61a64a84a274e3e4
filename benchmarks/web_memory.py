"""Resident memory of the web process: idle, with fifty thousand groups in its index, and with a thousand live sockets besides.

    python -m benchmarks.web_memory [--groups 50000] [--sockets 1000]

Runs the product (Valkey, web process, broker) with a feed of so many groups, each with members and offsets. Half of the sockets
follow the list, half one group each. Prints megabytes after each step, and what the process keeps when the sockets have gone.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import websockets
from playwright.sync_api import sync_playwright

from benchmarks.pages import filled
from benchmarks.peers import allow_many_files
from groups.keys import key_of
from tests.support.browser import Console, Visitor, chromium

MB = 2**20
AT_ONCE = 50
READ_S = 10.0
"""How long the sockets follow what they are told before the memory is read."""


def resident_mb(console: Console) -> float:
    return float(psutil.Process(console.web_pid).memory_info().rss) / MB


def cookies_of(console: Console, groups: int) -> str:
    """Signs in, and waits until the index holds every group."""
    with sync_playwright() as playwright:
        visitor = Visitor(chromium(playwright), console)
        page = visitor.page("/clusters/local/groups/")
        page.locator("[data-total]", has_text=f"{groups:,}").first.wait_for(timeout=120_000)
        return "; ".join(f"{one['name']}={one['value']}" for one in page.context.cookies())


@contextlib.asynccontextmanager
async def followers(console: Console, cookies: str, count: int) -> AsyncIterator[None]:
    """Live sockets that read all that they are told."""
    root = console.url.replace("http", "ws") + "/ws/clusters/local/groups/"
    headers = {"Cookie": cookies, "Origin": console.url}
    async with contextlib.AsyncExitStack() as stack:

        async def follow(number: int) -> asyncio.Task[None]:
            address = root if number % 2 else f"{root}{key_of('three')}/"
            socket = await stack.enter_async_context(
                websockets.connect(address, additional_headers=headers, max_size=None, open_timeout=60)
            )
            return asyncio.ensure_future(drain(socket))

        tasks: list[asyncio.Task[None]] = []
        for start in range(0, count, AT_ONCE):
            some = range(start, min(start + AT_ONCE, count))
            tasks += await asyncio.gather(*(follow(number) for number in some))
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()


async def drain(socket: websockets.ClientConnection) -> None:
    async for _ in socket:
        continue


async def measure(console: Console, cookies: str, given: argparse.Namespace) -> None:
    print(f"{given.groups:,} groups                  {resident_mb(console):8.1f} MB", flush=True)
    async with followers(console, cookies, given.sockets):
        await asyncio.sleep(READ_S)
        print(f"and {given.sockets:,} live sockets        {resident_mb(console):8.1f} MB", flush=True)
    await asyncio.sleep(1)
    print(f"when they have gone            {resident_mb(console):8.1f} MB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, default=50_000)
    parser.add_argument("--sockets", type=int, default=1_000)
    given = parser.parse_args()
    allow_many_files()
    with tempfile.TemporaryDirectory() as folder, Console(Path(folder), collected=True) as console:
        print(f"idle                           {resident_mb(console):8.1f} MB", flush=True)
        filled(console, given.groups, 500)
        cookies = cookies_of(console, given.groups + 2)
        asyncio.run(measure(console, cookies, given))


if __name__ == "__main__":
    main()
