"""The same random sequences of requests to a real Apache Kafka broker and to ours; every difference is told.

python -m tests.conformance.differential [--sequences N] [--seed S] [--kind classic|consumers]

S is the seed of the first sequence. Without a kind half of the sequences are about classic groups, half about consumer groups.
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.conformance.differential.fuzzer import compare
from tests.conformance.differential.player import CLASSIC, CONSUMERS
from tests.conformance.peers import AS_APACHE
from tests.support.apache import ApacheBroker
from tests.support.broker import BrokerProcess

KINDS = {"classic": CLASSIC, "consumers": CONSUMERS}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sequences", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=random.randrange(2**31))
    parser.add_argument("--kind", choices=KINDS)
    options = parser.parse_args()
    kinds = list(KINDS.values()) if options.kind is None else [KINDS[options.kind]]
    seeds = range(options.seed, options.seed + options.sequences // len(kinds))
    print(f"seeds {seeds.start} to {seeds.stop - 1}", flush=True)
    with tempfile.TemporaryDirectory(prefix="differential-") as folder:
        place = Path(folder)
        with ApacheBroker(place / "apache") as apache, BrokerProcess(place / "ours", AS_APACHE) as ours:
            began = time.monotonic()
            reports = [asyncio.run(compare(apache.address, ours.address, seeds, kind)) for kind in kinds]
            for report in reports:
                print(report)
            print(f"in {time.monotonic() - began:.0f} s")
    return 1 if any(report.differences for report in reports) else 0


if __name__ == "__main__":
    sys.exit(main())
