"""Any number of damaged requests against a broker of ours, with its memory watched."""

from __future__ import annotations

import asyncio
import re
import time
from pathlib import Path

from tests.conformance.frames.fuzzer import fuzz
from tests.conformance.frames.mutations import Requests
from tests.support.broker import BrokerProcess

SETTINGS = {
    "auto.create.topics.enable": False,
    "group.max.session.timeout.ms": 10_000,
    "offsets.retention.check.interval.ms": 1_000,
}
"""What damaged requests happen to make goes soon, so that memory shows leaks and not their harvest."""
BATCH = 20_000
GROWTH_BYTES = 48 * 2**20


NULL_ARRAY = "'NoneType'"
"""A null for an array that may not be null: the connection ends, as it must."""


def faults(log: str) -> list[str]:
    """Errors in the log of a broker, each of them a request that was not understood as bad."""
    lines = re.findall(r"^.*level=error.*$", log, re.MULTILINE)
    return [line for line in lines if NULL_ARRAY not in line]


def run(folder: Path, count: int, seed: int) -> bool:
    """Print what becomes of so many requests; whether all is well."""
    first_bytes, done = 0, 0
    with BrokerProcess(folder / "data", SETTINGS) as broker:
        began = time.monotonic()
        while done < count:
            ran = asyncio.run(fuzz(broker.port, Requests(seed + done), min(BATCH, count - done)))
            done += min(BATCH, count - done)
            resident = broker.resident_bytes()
            first_bytes = first_bytes or resident
            rate = done / (time.monotonic() - began)
            print(f"{done:>9} requests {rate:>6.0f}/s {resident / 2**20:>6.1f} MB {dict(ran.counts)}", flush=True)
            bad = ran.problems[:5] + faults(broker.log)[:5]
            if bad or not broker.is_alive:
                print("\n".join(bad) or "the broker ended")
                return False
        grown = broker.resident_bytes() - first_bytes
        print(f"seed {seed}: memory grew by {grown / 2**20:.1f} MB after the first {BATCH} requests")
        return grown < GROWTH_BYTES
