"""python -m tests.conformance.frames [--requests N] [--seed S]: damaged requests against a broker of ours."""

import argparse
import random
import sys
import tempfile
from pathlib import Path

from tests.conformance.frames.run import run


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=random.randrange(2**31))
    options = parser.parse_args()
    print(f"seed {options.seed}")
    with tempfile.TemporaryDirectory(prefix="frames-") as folder:
        return 0 if run(Path(folder), options.requests, options.seed) else 1


if __name__ == "__main__":
    sys.exit(main())
