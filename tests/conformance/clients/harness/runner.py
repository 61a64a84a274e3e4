"""Plays scenarios, a few at a time, and gives a verdict on each."""

import argparse
import concurrent.futures
import fnmatch
import json
import signal
import sys
import threading
import time
import traceback
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.conformance.clients.harness.build import Builder
from tests.conformance.clients.harness.context import Context, Failure, Skipped
from tests.conformance.clients.harness.wire import Broker, BrokerError

LONGEST_REASON = 900
CONSUMER_SESSION = "group.consumer.session.timeout.ms"
KAFKAS_SESSION_S = 45.0
PASS, FAIL, SKIP = "PASS", "FAIL", "SKIP"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What became of a scenario; `reason` is empty when it passed."""

    name: str
    verdict: str
    seconds: float
    reason: str


def options(about):
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bootstrap", nargs="?", metavar="HOST:PORT", help="the broker under test (default: our own)")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="names or shell patterns of scenarios")
    parser.add_argument("--list", action="store_true", help="print the scenarios and run none")
    parser.add_argument("--json", action="store_true", help="print one JSON object per scenario")
    parser.add_argument("--work", metavar="DIR", type=Path, help="cache of built clients, and logs")
    parser.add_argument("--jobs", type=int, default=3, help="scenarios at a time (default 3)")
    parser.add_argument("--slack", type=float, default=1.0, help="stretches every upper time bound")
    parser.add_argument(
        "--consumer-session-s",
        type=float,
        help="session timeout of KIP-848 groups on that broker (default: what it reports, else 45)",
    )
    return parser


def choose(rows, patterns):
    """The scenarios that patterns name; all when there are none. Raises LookupError."""
    if not patterns:
        return list(rows.values())
    chosen = []
    for pattern in patterns:
        found = [r for r in rows.values() if fnmatch.fnmatch(r.name, pattern) or r.name.startswith(pattern + ".")]
        if not found:
            raise LookupError(f"no scenario is called {pattern}; --list shows them")
        chosen += [r for r in found if r not in chosen]
    return chosen


def show(row, verdict, as_json):
    """One line on standard output."""
    if as_json:
        print(json.dumps(asdict(verdict)), flush=True)
    else:
        print(f"{verdict.verdict} {row.name} {verdict.seconds:.1f} – {verdict.reason or row.about}", flush=True)


def log(line):
    print(line, file=sys.stderr, flush=True)


class Run:
    """One run against one broker. `work` keeps what is built, and the logs of every program."""

    def __init__(self, bootstrap, work, *, jobs=3, slack=1.0, consumer_session_s=None):
        self.work = work
        self.broker = Broker(bootstrap)
        self.jobs = jobs
        self.slack = slack
        self.consumer_session_s = consumer_session_s or self._reported_session_s()
        self._printing = threading.Lock()
        self._stopping = threading.Event()
        self._programs, self._missing, self._broken = {}, {}, {}

    def play(self, chosen, report=lambda row, verdict: None):
        """Verdicts by name. When stopped, no program of a scenario lives on."""
        needs = {client for row in chosen for client in row.needs}
        self._programs, self._missing, self._broken = Builder(self.work, log=log).programs(needs)
        pool = concurrent.futures.ThreadPoolExecutor(self.jobs)
        running = [pool.submit(self._one, row, report) for row in chosen]
        try:
            return {verdict.name: verdict for verdict in (future.result() for future in running)}
        finally:
            self._stopping.set()
            pool.shutdown(cancel_futures=True)

    def _reported_session_s(self):
        try:
            return int(self.broker.broker_settings()[CONSUMER_SESSION]) / 1000
        except (OSError, BrokerError, KeyError, ValueError, TypeError):
            return KAFKAS_SESSION_S

    def _one(self, row, report):
        began = time.monotonic()
        kind, reason = self._judge(row)
        seconds = round(time.monotonic() - began, 1)
        verdict = Verdict(name=row.name, verdict=kind, seconds=seconds, reason=reason)
        with self._printing:
            report(row, verdict)
        return verdict

    def _judge(self, row):
        for client in row.needs:
            if client in self._missing:
                return SKIP, self._missing[client]
            if client in self._broken:
                return FAIL, self._broken[client]
        ctx = self._context(row)
        try:
            row.play(ctx)
            return PASS, ""
        except Skipped as reason:
            return SKIP, str(reason)
        except (Failure, BrokerError, OSError) as reason:
            return FAIL, one_line(reason)[:LONGEST_REASON]
        except Exception:
            return FAIL, one_line(traceback.format_exc())[-LONGEST_REASON:]
        finally:
            ctx.dispose()

    def _context(self, row):
        folder = self.work / "logs" / row.name
        times = (row.limit_s, self.slack, self.consumer_session_s)
        return Context(row.name, self.broker, self._programs, folder, *times, self._stopping)


def one_line(reason):
    return " | ".join(line.strip() for line in str(reason).splitlines() if line.strip())


def stop_on_terminate():
    """SIGTERM ends a run as Ctrl-C does."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
