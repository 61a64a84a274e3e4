"""The thread that writes the checkpoint files of groups and transactional ids, off the request path.

Job: take jobs (what the files of one of them shall say), write them, report which are done.
Rules: a file of a newer (coordinator epoch, version) is never replaced or removed, one that cannot be understood is
set aside. A group's tombstone is written before its offsets file goes. A batch of files shares one flush of each
folder. What fails is reported and left as it was; whoever asked tries again. Files are changed under a lock, so that a
clean-up removes nothing that was judged before.
Must not know: the event loop, when a group is due.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kaas.coordinator.offset_entry import OffsetEntry
from kaas.coordinator.records import GroupEmpty, GroupStable
from kaas.storage.files import exclusive, flush_folder, read_whole, set_aside, write_whole
from kaas.storage.group_files import (
    GROUPS_FOLDER,
    OFFSETS_FOLDER,
    SUFFIX,
    Staged,
    Unreadable,
    group_bytes,
    group_of,
    head_of,
    offsets_bytes,
    tombstone_bytes,
)
from kaas.storage.names import file_stem
from kaas.storage.transaction_files import TRANSACTIONS_FOLDER, TransactionRecord, transaction_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A group as it was at (epoch, version). `offsets` (with `staged`) and `membership` say which files are due.

    `deleted`: (time, why) of a group that is gone.
    """

    group_id: str
    epoch: int
    version: int
    offsets: dict[str, dict[int, OffsetEntry]] | None = None
    staged: Staged = field(default_factory=dict)
    membership: bool = False
    stored: GroupStable | GroupEmpty | None = None
    reserved: int = 0
    deleted: tuple[int, str] | None = None

    @property
    def order(self) -> tuple[int, int]:
        return self.epoch, self.version


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionJob:
    """A transactional id as it was at (epoch, version)."""

    record: TransactionRecord
    epoch: int
    version: int

    @property
    def order(self) -> tuple[int, int]:
        return self.epoch, self.version


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What became of a job; `error` is null when its files are durable."""

    job: Job | TransactionJob
    error: OSError | None = None


class CheckpointWriter:
    """`report` is called from this thread, with all of a batch."""

    def __init__(self, cluster_folder: Path, report: Callable[[list[Done]], None]) -> None:
        self._folder = cluster_folder
        self._offsets = cluster_folder / OFFSETS_FOLDER
        self._groups = cluster_folder / GROUPS_FOLDER
        self._transactions = cluster_folder / TRANSACTIONS_FOLDER
        self._report = report
        self._batches: queue.SimpleQueue[list[Job | TransactionJob] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="checkpoints", daemon=True)
        self._thread.start()

    def write(self, jobs: list[Job | TransactionJob]) -> None:
        self._batches.put(jobs)

    def stop(self) -> None:
        """Write what waits, then end. Blocks until that is done."""
        self._batches.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (batch := self._batches.get()) is not None:
            self._report(self.write_batch(batch))

    def write_batch(self, batch: list[Job | TransactionJob]) -> list[Done]:
        """Write files in this thread."""
        failed: dict[int, OSError] = {}
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with exclusive(checkpoint_lock(self._folder)):
                for write, folder, jobs in self._steps(batch):
                    folder.mkdir(exist_ok=True)
                    for job in jobs:
                        if id(job) not in failed:
                            self._attempt(write, job, failed)
                    flush_folder(folder)
        except OSError as problem:
            return [Done(job=job, error=problem) for job in batch]
        return [Done(job=job, error=failed.get(id(job))) for job in batch]

    def _steps(self, batch: list[Job | TransactionJob]) -> Iterator[tuple[Callable[[Any], None], Path, list[Any]]]:
        """What to do, in which folder, for which jobs; a step begins when the one before is durable."""
        groups = [job for job in batch if isinstance(job, Job)]
        transactions = [job for job in batch if isinstance(job, TransactionJob)]
        if groups:
            yield self._write_offsets, self._offsets, groups
            yield self._write_group, self._groups, groups
        if deleted := [job for job in groups if job.deleted is not None]:
            yield self._remove_offsets, self._offsets, deleted
        if transactions:
            yield self._write_transaction, self._transactions, transactions

    @staticmethod
    def _attempt(write: Callable[[Any], None], job: Job | TransactionJob, failed: dict[int, OSError]) -> None:
        """One step of one job; what fails keeps no other one back."""
        try:
            write(job)
        except OSError as problem:
            failed[id(job)] = problem

    def _write_offsets(self, job: Job) -> None:
        """The offsets file; where there is none to write, none of an earlier life may stay beside a new group-state
        file.
        """
        name = file_name(job.group_id)
        if job.offsets is not None:
            put(self._offsets / name, offsets_bytes(job.group_id, *job.order, job.offsets, job.staged), job.order)
        elif job.membership and (ended := tombstone_order(self._groups / name)) is not None:
            remove(self._offsets / name, ended)

    def _write_group(self, job: Job) -> None:
        path = self._groups / file_name(job.group_id)
        if job.deleted is not None:
            put(path, tombstone_bytes(job.group_id, *job.order, *job.deleted), job.order)
        elif job.membership:
            put(path, group_bytes(job.group_id, *job.order, job.stored, job.reserved), job.order)

    def _remove_offsets(self, job: Job) -> None:
        remove(self._offsets / file_name(job.group_id), job.order)

    def _write_transaction(self, job: TransactionJob) -> None:
        path = self._transactions / file_name(job.record.transactional_id)
        put(path, transaction_bytes(job.record, *job.order), job.order)


def checkpoint_lock(cluster_folder: Path) -> Path:
    """The lock under which checkpoints are changed."""
    return cluster_folder / "checkpoints.lock"


def file_name(name: str) -> str:
    """Of a group or a transactional id."""
    return file_stem(name) + SUFFIX


def put(path: Path, data: bytes, order: tuple[int, int]) -> None:
    """Replace a checkpoint unless the one that is there is newer; the folder is flushed by the caller."""
    if may_replace(path, order):
        write_whole(path, data, flush=False)


def remove(path: Path, order: tuple[int, int]) -> None:
    """Remove a checkpoint unless it is newer; the folder is flushed by the caller."""
    if may_replace(path, order):
        path.unlink(missing_ok=True)


def tombstone_order(path: Path) -> tuple[int, int] | None:
    """(epoch, version) of the tombstone in this place; null if there is none."""
    try:
        file = group_of(path.read_bytes(), path)
    except (FileNotFoundError, Unreadable):
        return None
    return None if file.deleted_at is None else (file.coordinator_epoch, file.version)


def may_replace(path: Path, order: tuple[int, int]) -> bool:
    """Whether what stands in this place is older than (epoch, version), or nothing, once it is set aside if it is
    corrupt.
    """
    try:
        return head_of(read_whole(path)).order <= order
    except FileNotFoundError:
        return True
    except Unreadable:
        set_aside(path)
        return True
