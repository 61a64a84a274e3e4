"""The one thread that writes the journal: group commit.

Job: take all entries that wait, write and flush them at once, report how far it got.
Rules: entries are written in the order in which they were given. While a flush runs, later entries gather for the
next one, so the busier the broker, the more entries share a flush. Nothing is retried: a batch that fails is
reported as failed.
Must not know: asyncio; `report` is called from this thread, and the event loop is woken by whoever passed it in.
"""

from __future__ import annotations

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
    """Owns a Journal. `append` may be called from one thread only, the one that the event loop runs in."""

    def __init__(self, journal: Journal, report: Callable[[Outcome], None]) -> None:
        self._journal = journal
        self._report = report
        self._waiting: list[bytes] = []
        self._last = 0
        self._written = 0
        self._lock = threading.Lock()
        self._work = threading.Semaphore(0)
        self._signalled = False
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)
        self._thread.start()

    def append(self, seq: int, entry: bytes) -> None:
        """Entries must come with sequence numbers one by one."""
        with self._lock:
            self._waiting.append(entry)
            self._last = seq
            if self._signalled:
                return
            self._signalled = True
        self._work.release()

    def stop(self) -> None:
        """Write what waits, then end. Blocks until that is done."""
        self._stopping = True
        self._work.release()
        self._thread.join()
        self._journal.close()

    def _run(self) -> None:
        while True:
            self._work.acquire()
            with self._lock:
                batch, self._waiting = self._waiting, []
                first, last = self._written + 1, self._last
                self._signalled = False
            if batch:
                self._written = last
                self._report(self._write(b"".join(batch), first, last))
            elif self._stopping:
                return

    def _write(self, batch: bytes, first: int, last: int) -> Outcome:
        try:
            return Outcome(first=first, last=last, file=self._journal.append(batch))
        except OSError as problem:
            return Outcome(first=first, last=last, file=0, error=problem)
