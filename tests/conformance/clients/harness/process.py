"""One client program: its command line, the events it prints, and which partitions it owns.

A worker's events are JSON lines, each with the wall clock `t` of the moment it was printed, so that
the events of several workers on one machine can be put in order. Apache's tools print plain lines;
those are kept in `lines`.
"""

import contextlib
import json
import signal
import subprocess
import threading
import time
from pathlib import Path


class Worker:
    def __init__(self, name, argv, log):
        self.name = name
        self.argv = argv
        self.log = Path(log)
        self.events = []
        self.lines = []
        self.ended_t = None
        self.may_fail = False
        self._stderr = self.log.open("wb")
        self.process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        with self.log.with_suffix(".out").open("wb") as copy:
            for raw in self.process.stdout:
                copy.write(raw)
                self._hear(raw)
        self.process.wait()
        self.ended_t = self.ended_t or time.time()

    def _hear(self, raw):
        line = raw.decode(errors="replace").rstrip("\n")
        event = self._parse(line)
        if event is None:
            self.lines.append(line)
        else:
            self.events.append(event)

    @staticmethod
    def _parse(line):
        if not line.startswith("{"):
            return None
        try:
            event = json.loads(line)
        except ValueError:
            return None
        event["event"] = event.get("event") or event.get("name")
        return event if event["event"] else None

    # what it said

    def all(self, kind):
        return [event for event in self.events if event["event"] == kind]

    def last(self, kind):
        return next((event for event in reversed(self.events) if event["event"] == kind), None)

    @property
    def records(self):
        return self.all("record")

    @property
    def keys(self):
        return [event["key"] for event in self.records]

    @property
    def owned(self):
        """Partitions assigned and not revoked or lost since."""
        owned = set()
        for event in self.events:
            if event["event"] == "assigned":
                owned |= set(event["partitions"])
            elif event["event"] in ("revoked", "lost"):
                owned -= set(event["partitions"])
        return owned

    @property
    def moves(self):
        """How many times an assignment, revocation or loss was reported."""
        return sum(event["event"] in ("assigned", "revoked", "lost") for event in self.events)

    def ownership(self):
        """[(partition, from, to)] in wall-clock seconds, for the whole life of the worker."""
        spans, since = [], {}
        for event in self.events:
            if event["event"] == "assigned":
                for partition in event["partitions"]:
                    since.setdefault(partition, event["t"])
            elif event["event"] in ("revoked", "lost"):
                for partition in event["partitions"]:
                    if partition in since:
                        spans.append((partition, since.pop(partition), event["t"]))
        end = self.ended_t or time.time()
        closing = self.last("closed")
        for partition, start in since.items():
            spans.append((partition, start, min(end, closing["t"]) if closing else end))
        return spans

    @property
    def broke(self):
        """It ended badly although nobody killed it and the scenario does not allow for it."""
        return self.ended_t is not None and self.exit_code not in (0, None) and not self.may_fail

    # what is done to it

    @property
    def alive(self):
        return self.process.poll() is None

    @property
    def exit_code(self):
        return self.process.poll()

    def say(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def end_input(self):
        self.process.stdin.close()

    def terminate(self):
        """Asks it to close as a well-behaved client does."""
        self.process.send_signal(signal.SIGTERM)

    def freeze(self):
        """Stops the process where it stands: its connections stay open and nothing is sent any more."""
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def kill(self):
        """kill -9: the broker hears nothing but a closed socket. Returns the wall clock."""
        self.may_fail = True
        self.ended_t = time.time()
        self.process.kill()
        return self.ended_t

    def dispose(self):
        if self.alive:
            self.process.kill()
        self.process.wait()
        self._reader.join(2)
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                stream.close()
        self._stderr.close()

    def trouble(self, size=300):
        """The end of what it wrote to standard error, on one line."""
        with self.log.open("rb") as log:
            tail = log.read()[-4000:].decode(errors="replace")
        return " | ".join(line.strip() for line in tail.splitlines() if line.strip())[-size:]


def overlaps(workers):
    """[(partition, name, name, seconds)] for each time two workers owned one partition at once."""
    spans = [(p, start, end, w.name) for w in workers for p, start, end in w.ownership()]
    spans.sort()
    found, open_spans = [], {}
    for partition, start, end, name in spans:
        held = open_spans.get(partition)
        if held and held[1] > start and held[2] != name:
            found.append((partition, held[2], name, round(min(held[1], end) - start, 3)))
        if not held or end > held[1]:
            open_spans[partition] = (start, end, name)
    return found
