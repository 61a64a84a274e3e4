"""Simulate any number of events: `python -m tests.simulation --events 1000000 --seed 7`.

Prints the states and transitions that were visited, and fails when an invariant broke or a cell of the state table was missed.
"""

from __future__ import annotations

import argparse
import random
import sys
import time

from tests.simulation.run import simulate


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=None, help="drawn and printed when it is not given")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(2**32) if options.seed is None else options.seed
    begun = time.perf_counter()
    coverage = simulate(options.events, seed)
    took_s = time.perf_counter() - begun
    print(f"{options.events} events with seed {seed} in {took_s:.1f} s\n\n{coverage.table()}\n")
    missed = coverage.missed()
    for cell in missed:
        print(f"never reached: {cell}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
