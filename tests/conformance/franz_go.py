"""franz-go's own integration tests against a broker of ours, an Apache Kafka broker that is started here, or any other.

python -m tests.conformance.franz_go [apache|HOST:PORT] [--run 'TestGroup|TestTxn|TestPauseIssue|TestIssue']

Groups under every balancer while members come and go, exactly-once sessions, KIP-848. The tests come from
the module itself and are kept in `.cache/franz-go`. All of them pass on Apache Kafka 4.2.1. The last line says how many tests,
with the parts that some of them have, passed, failed and were skipped.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.conformance.peers import APACHE
from tests.support.apache import ApacheBroker
from tests.support.broker import ROOT, BrokerProcess

MODULE, VERSION = "github.com/twmb/franz-go", "v1.22.3"
CACHE = ROOT / ".cache" / "franz-go"
TESTS = "TestGroup|TestTxn|TestPauseIssue|TestIssue"
MODEST = {
    "KGO_TEST_RF": "1",
    "KGO_TEST_RECORDS": "5000",
    "KGO_TEST_MAX_TOPIC_PARTS": "4",
    "KGO_LOG_LEVEL": "none",
}
"""One replica, and fewer records than the tests take by themselves."""
RESULT = re.compile(r" *--- (PASS|FAIL|SKIP): ")


def sources() -> Path:
    """The module's folder, writable."""
    folder = CACHE / VERSION
    if not folder.exists():
        command = ["go", "mod", "download", "-json", f"{MODULE}@{VERSION}"]
        told = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path.home()).stdout
        fresh = CACHE / "fetching"
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.copytree(json.loads(told)["Dir"], fresh)
        for path in [fresh, *fresh.rglob("*")]:
            path.chmod(path.stat().st_mode | 0o200)
        fresh.rename(folder)
    return folder


@contextlib.contextmanager
def broker_under_test(address: str | None) -> Iterator[str]:
    """The address that was given, or a broker that lives as long as the run: Apache's when it is named, else ours."""
    if address not in (None, APACHE):
        yield address
        return
    make = BrokerProcess if address is None else ApacheBroker
    with tempfile.TemporaryDirectory(prefix="franz-go-") as folder, make(Path(folder) / "data") as broker:
        yield broker.address


def play(address: str, which: str) -> int:
    """Run them and pass on what they say; the exit status of `go test`."""
    command = ["go", "test", "-mod=mod", "./pkg/kgo", "-run", which, "-count=1", "-timeout=20m", "-v"]
    environment = os.environ | MODEST | {"KGO_SEEDS": address}
    counts: Counter[str] = Counter()
    with subprocess.Popen(command, cwd=sources(), env=environment, text=True, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        for line in running.stdout:
            if (found := RESULT.match(line)) is not None:
                counts[found[1]] += 1
            sys.stdout.write(line)
    print(f"{counts['PASS']} passed, {counts['FAIL']} failed, {counts['SKIP']} skipped")
    return running.returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bootstrap", nargs="?", metavar="apache|HOST:PORT")
    parser.add_argument("--run", default=TESTS, help="which tests, as `go test -run` takes it")
    options = parser.parse_args()
    with broker_under_test(options.bootstrap) as address:
        return play(address, options.run)


if __name__ == "__main__":
    sys.exit(main())
