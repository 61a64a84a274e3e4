"""How long Prometheus waits for /metrics of ten thousand groups.

    python -m benchmarks.scrape [--groups 10000] [--rounds 50]

Runs the product (Valkey, web process, broker) with a feed of so many groups, and asks for /metrics over HTTP as Prometheus
does. Before each scrape every log end moves, as in a cluster at work, so that no lag of the scrape before still stands. Prints
p50 and p95 in milliseconds with the claim, and the processor time of one scrape.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import requests

from benchmarks.command_line import signed_in
from benchmarks.pages import TOPICS, filled, worked_ms
from tests.support.browser import Console

CLAIM_MS = 300.0
MOVED_WITHIN_S = 1.5
"""The console reads the ends of the logs once a second."""


def scraped(console: Console, session: requests.Session, number: int) -> tuple[float, float, int]:
    """Milliseconds, processor milliseconds and bytes of one scrape."""
    for topic in range(TOPICS):
        console.feed.topic(f"topic-{topic}", (0, 1_000 + number), (0, 1_000 + number))
    time.sleep(MOVED_WITHIN_S)
    worked, began = worked_ms(), time.perf_counter()
    answer = session.get(f"{console.url}/metrics", timeout=30)
    took = (time.perf_counter() - began) * 1_000
    answer.raise_for_status()
    return took, worked_ms() - worked, len(answer.content)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=50)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Console(Path(folder), collected=True) as console:
        filled(console, given.groups, 500)
        session = signed_in(console, given.groups + 2)
        took, worked, sizes = zip(*(scraped(console, session, number) for number in range(given.rounds)), strict=True)
    parts = statistics.quantiles(took, n=100)
    print(f"/metrics of {given.groups:,} groups, {sizes[-1]:,} bytes, {given.rounds} scrapes")
    print(
        f"p50 {parts[49]:.0f} ms   p95 {parts[94]:.0f} ms ({parts[94] / CLAIM_MS:.2f} of the claim)   "
        f"{statistics.mean(worked):.0f} ms of processor time each"
    )


if __name__ == "__main__":
    main()
