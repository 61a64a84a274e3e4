"""What a scenario works with: fresh topics and groups, client programs, and waits with a deadline."""

import time
import uuid
from pathlib import Path

from tests.conformance.clients.harness.process import Worker, overlaps

LOOK_AGAIN_S = 0.02


class Failure(Exception):
    """The property does not hold; the message says what was seen instead."""


class Skipped(Exception):
    """The scenario cannot be judged here; the message says why."""


class Context:
    def __init__(self, scenario, broker, programs, folder, limit_s, slack, consumer_session_s, stopping):
        self.broker = broker
        self.bootstrap = "{}:{}".format(*broker.bootstrap)
        self.consumer_session_s = consumer_session_s
        self._programs = programs
        self._folder = Path(folder)
        self._slack = slack
        self._deadline = time.monotonic() + limit_s * slack
        self._stopping = stopping
        self._workers = []
        self._tag = f"{scenario}-{uuid.uuid4().hex[:8]}"
        self._names = {}
        self._folder.mkdir(parents=True, exist_ok=True)

    # names

    def fresh(self, kind):
        """A name that nothing on the broker has yet."""
        self._names[kind] = number = self._names.get(kind, 0) + 1
        return f"{self._tag}-{kind}{number}"

    def topic(self, partitions):
        name = self.fresh("t")
        self.broker.create_topic(name, partitions)
        return name

    def group(self):
        return self.fresh("g")

    def file(self, name, text):
        """Writes a file for a program to read; returns its path."""
        path = self._folder / name
        path.write_text(text)
        return path

    # programs

    def start(self, client, command, *words, **options):
        """Starts a worker, or one of Apache's tools; options become --long-options."""
        argv = [*self._programs[client], command, *map(str, words)]
        if client not in ("tool", "tools"):
            argv += ["--bootstrap", self.bootstrap]
        for name, value in options.items():
            if value is not None and value != "":
                argv += ["--" + name.strip("_").replace("_", "-"), str(value)]
        name = f"{client}#{len(self._workers)}"
        worker = Worker(name, argv, self._folder / f"{len(self._workers)}-{client}.log")
        self._workers.append(worker)
        return worker

    def run(self, client, command, *words, timeout_s=40, **options):
        """Starts a program and waits for it to end well."""
        return self.finish(self.start(client, command, *words, **options), timeout_s)

    def finish(self, worker, timeout_s=40):
        self.until(lambda: worker.ended_t is not None, timeout_s, f"{worker.name} to end")
        if worker.exit_code != 0:
            raise Failure(f"{worker.name} ended with {worker.exit_code}: {self._words(worker)}")
        return worker

    def close(self, worker, timeout_s=15):
        """Graceful end: the worker leaves its group and says so. Returns the seconds it took."""
        since = time.monotonic()
        worker.terminate()
        self.finish(worker, timeout_s)
        if not worker.last("closed"):
            raise Failure(f"{worker.name} ended without closing its client")
        return time.monotonic() - since

    def produce(self, client, topic, count, start=0, **options):
        worker = self.run(client, "produce", topic=topic, count=count, start=start, **options)
        done = worker.last("produced")
        if not done or done["failed"]:
            raise Failure(f"{worker.name} could not produce: {self._words(worker)}")
        return worker

    # waiting and judging

    def until(self, condition, timeout_s, what):
        """Waits for a condition on events. Returns the seconds it took."""
        began = time.monotonic()
        deadline = min(began + timeout_s * self._slack, self._deadline)
        while not condition():
            broken = next((w for w in self._workers if w.broke), None)
            if broken:
                raise Failure(f"while waiting for {what}, {self._words(broken)}")
            if time.monotonic() > deadline:
                raise Failure(f"waited {time.monotonic() - began:.1f} s for {what}; {self._state()}")
            self._pause(LOOK_AGAIN_S)
        return time.monotonic() - began

    def _pause(self, seconds):
        if self._stopping.wait(seconds):
            raise Failure("the run was stopped")

    def quiet(self, seconds, *workers):
        """Waits and requires that none of the workers gets another record."""
        before = [len(w.records) for w in workers]
        self._pause(seconds)
        for worker, count in zip(workers, before, strict=True):
            extra = worker.records[count:]
            self.check(not extra, f"{worker.name} got {len(extra)} records more than it should: {extra[:2]}")

    def check(self, holds, message):
        if not holds:
            raise Failure(message)

    def equal(self, what, seen, expected):
        if seen != expected:
            raise Failure(f"{what}: {brief(seen)} instead of {brief(expected)}")

    def within(self, what, seconds, low, high):
        """Requires low <= seconds <= high, the upper bound stretched by --slack."""
        if not low <= seconds <= high * self._slack:
            raise Failure(f"{what} took {seconds:.1f} s, not between {low} and {high} s")

    def exclusive(self, *workers):
        """Requires that no partition ever had two owners at once."""
        found = overlaps(workers or self._workers)
        self.check(not found, f"two owners at once (partition, first, second, seconds): {found[:3]}")

    def no_trouble(self, *workers):
        for worker in workers or self._workers:
            bad = [e for e in worker.events if e["event"] in ("error", "commit-failed", "lost")]
            self.check(not bad, f"{worker.name} reported {bad[:2]}")

    def _state(self):
        return "; ".join(self._words(w) for w in self._workers[-4:])

    def _words(self, worker):
        state = "running" if worker.alive else f"ended with {worker.exit_code}"
        notable = [e for e in worker.events if e["event"] not in ("record", "committed")]
        words = f"{worker.name} {state}, owns {sorted(worker.owned)}, {len(worker.records)} records"
        if notable:
            words += f", last {notable[-1]}"
        trouble = worker.trouble()
        return words + (f", said: {trouble}" if trouble else "")

    def dispose(self):
        for worker in self._workers:
            worker.dispose()


def brief(value, size=200):
    text = repr(sorted(value) if isinstance(value, (set, frozenset)) else value)
    return text if len(text) <= size else text[:size] + "…"
