"""Our broker and a real Apache Kafka broker side by side, rounds that alternate between them, and the table that comes of it.

Job: both brokers for a script; medians and ratios of what it measures on each.
Rules: one machine does everything and its speed drifts, so only what was measured in one run, in turns, is compared. The first
round of each broker warms it up and does not count. Nothing is measured while a broker still works on what came before: a JVM
compiles and collects for a while, ours writes checkpoints. A ratio above 1 means that ours is better, whichever way is better.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import uvloop

from benchmarks.kfake import KfakeBroker
from tests.conformance.peers import AS_APACHE
from tests.support.apache import ApacheBroker
from tests.support.broker import BrokerProcess

REST_SHARE, REST_LOOK_S, REST_AT_MOST_S = 0.05, 0.4, 10.0
"""A broker rests when it takes less than this share of a processor."""

OURS, APACHE = "ours", "apache"
Peer = BrokerProcess | ApacheBroker | KfakeBroker
Measure = Callable[[Peer], Awaitable[float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table. `claim` is the least ratio that is claimed, null if none is."""

    what: str
    unit: str
    ours: float
    apache: float
    more_is_better: bool = True
    claim: float | None = None

    @property
    def ratio(self) -> float:
        return self.ours / self.apache if self.more_is_better else self.apache / self.ours

    def __str__(self) -> str:
        claim = (
            "" if self.claim is None else f"  (claimed {self.claim:g}{'' if self.ratio >= self.claim else ', MISSED'})"
        )
        return (
            f"{self.what:<44} {shown(self.ours):>10} {shown(self.apache):>10} {self.unit:<6} {self.ratio:>6.2f}{claim}"
        )


@dataclass(slots=True)
class Table:
    """Rows as they come, each printed at once, with the load of the machine around them."""

    title: str
    rows: list[Row] = field(default_factory=list)

    def begin(self) -> None:
        load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
        print(f"{self.title} (load average {load}; {os.cpu_count()} processors)")
        print(f"{'':<44} {OURS:>10} {APACHE:>10} {'':<6} {'ratio':>6}", flush=True)

    def add(self, row: Row) -> None:
        self.rows.append(row)
        print(row, flush=True)


def shown(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


@contextlib.contextmanager
def both(settings: Mapping[str, object] | None = None, apache_heap: str = "1g") -> Iterator[dict[str, Peer]]:
    """Both brokers, started in empty folders."""
    allow_many_files()
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder, settings = Path(name), settings or {}
        ours = BrokerProcess(folder / OURS, {**AS_APACHE, **settings})
        with ours, ApacheBroker(folder / APACHE, settings, heap=apache_heap) as apache:
            yield {OURS: ours, APACHE: apache}


def kill_ours(brokers: Mapping[str, Peer]) -> None:
    """For a broker that would write a file for every group first if it ended in order."""
    for broker in brokers.values():
        if isinstance(broker, BrokerProcess):
            broker.kill()


def allow_many_files() -> None:
    """As many connections as the machine lets this process have; what it starts inherits it."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


async def alternate(peers: Mapping[str, Peer], measure: Measure, rounds: int, warm_ups: int = 1) -> dict[str, float]:
    """The median of each broker, which take turns; who begins changes from round to round."""
    seen: dict[str, list[float]] = {name: [] for name in peers}
    for number in range(warm_ups + rounds):
        order = list(peers) if number % 2 == 0 else list(reversed(peers))
        for name in order:
            await at_rest(peers.values())
            value = await measure(peers[name])
            if number >= warm_ups:
                seen[name].append(value)
    return {name: statistics.median(values) for name, values in seen.items()}


async def at_rest(peers: Iterable[Peer]) -> None:
    """Until all of them together use next to nothing of a processor; not for ever."""
    deadline_s = time.monotonic() + REST_AT_MOST_S
    while time.monotonic() < deadline_s:
        before_s, began_s = worked_s(peers), time.monotonic()
        await asyncio.sleep(REST_LOOK_S)
        if worked_s(peers) - before_s < REST_SHARE * (time.monotonic() - began_s):
            return


def worked_s(peers: Iterable[Peer]) -> float:
    """Processor time of brokers and of what they started, in seconds."""
    return sum(peer.cpu_s() for peer in peers)


def options(about: str | None, **defaults: float) -> argparse.Namespace:
    """--rounds and what a script has besides, e.g. seconds=3.0."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in {"rounds": 5, **defaults}.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    return parser.parse_args()


def run(main: Awaitable[None]) -> None:
    uvloop.run(main)  # type: ignore[arg-type]
