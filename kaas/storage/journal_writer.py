"""The one thread that writes the journal: group commit.

Job: take all entries that wait, write and flush them at once, report how far it got.
Rules: entries are written in the order in which they were given. They are given many at a time, so that the thread is woken
once for all of them. While a flush runs, later ones gather for the next one, so the busier the broker, the more entries share a
flush. Nothing is retried: a batch that fails is reported as failed.
Must not know: asyncio; `report` is called from this thread, and the event loop is woken by whoever passed it in.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass

from kaas.storage.journal import Journal


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of the entries from `first` to `last` (sequence numbers). `file` is where they are, if `error` is
    null.
    """

    first: int
    last: int
    file: int
    error: OSError | None = None


class JournalWriter:
    """Owns a Journal. `write` may be called from one thread only, the one that the event loop runs in."""

    def __init__(self, journal: Journal, report: Callable[[Outcome], None]) -> None:
        self._journal = journal
        self._report = report
        self._written = 0
        self._rounds: queue.SimpleQueue[tuple[list[bytes], int] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)
        self._thread.start()

    def write(self, entries: list[bytes], last: int) -> None:
        """Have entries written; `last` is the sequence number of the last of them, which come one by one."""
        self._rounds.put((entries, last))

    def stop(self) -> None:
        """Write what was given, then end. Blocks until that is done."""
        self._rounds.put(None)
        self._thread.join()
        self._journal.close()

    def _run(self) -> None:
        stopping = False
        while not stopping:
            batch: list[bytes] = []
            waiting = [self._rounds.get()]
            waiting += [self._rounds.get() for _ in range(self._rounds.qsize())]
            for given in waiting:
                if given is None:
                    stopping = True
                else:
                    batch += given[0]
                    last = given[1]
            if batch:
                first, self._written = self._written + 1, last
                self._report(self._write(b"".join(batch), first, last))

    def _write(self, batch: bytes, first: int, last: int) -> Outcome:
        try:
            return Outcome(first=first, last=last, file=self._journal.append(batch))
        except OSError as problem:
            return Outcome(first=first, last=last, file=0, error=problem)
