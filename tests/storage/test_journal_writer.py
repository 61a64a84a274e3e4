"""Group commit: what gathers while a flush runs goes out with the next one, in order, and nothing is retried."""

from __future__ import annotations

import queue
import threading

import pytest

from kaas.storage.journal import Journal, encode_entry, files_of, read_file
from kaas.storage.journal_writer import JournalWriter, Outcome

DEADLINE_S = 10


class SlowJournal:
    """A journal that writes when the test lets it."""

    def __init__(self):
        self.batches = []
        self.entered = threading.Semaphore(0)
        self.let = threading.Semaphore(0)
        self.error = None
        self.closed = False

    def append(self, batch):
        self.batches.append(batch)
        self.entered.release()
        assert self.let.acquire(timeout=DEADLINE_S)
        if self.error is not None:
            raise self.error
        return len(self.batches)

    def close(self):
        self.closed = True


@pytest.fixture
def slow():
    journal, outcomes = SlowJournal(), queue.Queue()
    writer = JournalWriter(journal, outcomes.put)
    yield journal, writer, outcomes
    for _ in range(10):
        journal.let.release()
    writer.stop()


def test_entries_that_come_while_a_flush_runs_share_the_next_one(slow):
    journal, writer, outcomes = slow
    writer.write([b"a"], 1)
    assert journal.entered.acquire(timeout=DEADLINE_S)
    for seq, entry in ((2, b"b"), (3, b"c"), (4, b"d")):
        writer.write([entry], seq)
    journal.let.release()
    assert journal.entered.acquire(timeout=DEADLINE_S)
    journal.let.release()
    assert outcomes.get(timeout=DEADLINE_S) == Outcome(first=1, last=1, file=1)
    assert outcomes.get(timeout=DEADLINE_S) == Outcome(first=2, last=4, file=2)
    assert journal.batches == [b"a", b"bcd"]


def test_entries_that_are_given_together_are_written_together(slow):
    journal, writer, outcomes = slow
    writer.write([b"a", b"b"], 2)
    assert journal.entered.acquire(timeout=DEADLINE_S)
    journal.let.release()
    assert outcomes.get(timeout=DEADLINE_S) == Outcome(first=1, last=2, file=1)
    assert journal.batches == [b"ab"]


def test_a_batch_that_fails_is_reported_as_failed_and_the_next_one_is_tried(slow):
    journal, writer, outcomes = slow
    journal.error = OSError("full")
    writer.write([b"a"], 1)
    assert journal.entered.acquire(timeout=DEADLINE_S)
    writer.write([b"b"], 2)
    journal.let.release()
    failed = outcomes.get(timeout=DEADLINE_S)
    assert (failed.first, failed.last, failed.error) == (1, 1, journal.error)
    assert journal.entered.acquire(timeout=DEADLINE_S)
    journal.error = None
    journal.let.release()
    assert outcomes.get(timeout=DEADLINE_S) == Outcome(first=2, last=2, file=2)


def test_a_stop_writes_what_was_given_and_closes_the_journal(tmp_path):
    outcomes = queue.Queue()
    writer = JournalWriter(Journal(tmp_path), outcomes.put)
    for seq in range(1, 101):
        writer.write([encode_entry("g", 1, seq, b"")], seq)
    writer.stop()
    ((_, path),) = files_of(tmp_path)
    assert [entry.version for entry in read_file(path, newest=True)] == list(range(1, 101))
    told = [outcomes.get_nowait() for _ in range(outcomes.qsize())]
    assert [outcome.first for outcome in told] == [1, *(outcome.last + 1 for outcome in told[:-1])]
    assert told[-1].last == 100


def test_a_writer_that_was_given_nothing_makes_nothing(tmp_path):
    writer = JournalWriter(Journal(tmp_path / "1"), lambda outcome: None)
    writer.stop()
    assert list(tmp_path.iterdir()) == []
