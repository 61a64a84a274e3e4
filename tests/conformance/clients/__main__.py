"""Real Kafka clients and Apache's own tools against a broker, and what they see.

python -m tests.conformance.clients                       all scenarios, against a broker of ours
python -m tests.conformance.clients 127.0.0.1:9092        against any broker
python -m tests.conformance.clients --list                the scenarios, one line each
python -m tests.conformance.clients --only split.java 'keep.*'

One line per scenario; the exit status is 1 if any failed. What is built (once) and what each program said is kept in
`.cache/clients`. A missing toolchain means SKIP with the reason: Python with venv, Go, Node with npm, Java with Maven.
KIP-848 sessions are the broker's; scenarios that wait for their end are skipped where they last over 15 s.
"""

import contextlib
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.conformance.clients.harness import runner
from tests.conformance.clients.harness.scenarios.table import TABLE
from tests.conformance.clients.peer import CACHE, our_broker


@contextlib.contextmanager
def broker_under_test(bootstrap):
    """The address that was given, or a broker of ours that lives as long as the run."""
    if bootstrap:
        yield bootstrap
        return
    with tempfile.TemporaryDirectory(prefix="clients-") as folder, our_broker(Path(folder) / "data") as broker:
        yield broker.address


def main(argv=None):
    args = runner.options(__doc__).parse_args(argv)
    try:
        chosen = runner.choose(TABLE.rows, args.only)
    except LookupError as problem:
        raise SystemExit(str(problem)) from None
    if args.list:
        for row in chosen:
            print(f"{row.name:34} {row.about}")
        return 0
    runner.stop_on_terminate()
    began = time.monotonic()
    with broker_under_test(args.bootstrap) as bootstrap:
        run = runner.Run(
            bootstrap,
            args.work or CACHE,
            jobs=args.jobs,
            slack=args.slack,
            consumer_session_s=args.consumer_session_s,
        )
        verdicts = run.play(chosen, lambda row, verdict: runner.show(row, verdict, args.json))
    counts = Counter(verdict.verdict for verdict in verdicts.values())
    told = f"{counts['PASS']} passed, {counts['FAIL']} failed, {counts['SKIP']} skipped"
    print(f"{told} in {time.monotonic() - began:.0f} s", file=sys.stderr)
    return 1 if counts["FAIL"] else 0


if __name__ == "__main__":
    sys.exit(main())
