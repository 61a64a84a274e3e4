"""The thread that writes the checkpoint files of groups, off the request path.

Job: take jobs (what a group's files shall say), write them, report which are done.
Rules: a file of a newer (coordinator epoch, version) is never replaced or removed, one that cannot be understood is set aside.
A group's tombstone is written before its offsets file goes. A batch of files shares one flush of each folder. What fails is
reported and left as it was; whoever asked tries again.
Must not know: the event loop, when a group is due.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kaas.coordinator.offset_entry import OffsetEntry
from kaas.coordinator.records import GroupEmpty, GroupStable
from kaas.storage.files import flush_folder, set_aside, write_whole
from kaas.storage.group_files import (
    GROUPS_FOLDER,
    OFFSETS_FOLDER,
    SUFFIX,
    Unreadable,
    group_bytes,
    group_of,
    head_of,
    offsets_bytes,
    tombstone_bytes,
)
from kaas.storage.names import file_stem


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A group as it was at (epoch, version). `offsets` and `membership` say which files are due.

    `deleted`: (time, why) of a group that is gone.
    """

    group_id: str
    epoch: int
    version: int
    offsets: dict[str, dict[int, OffsetEntry]] | None = None
    membership: bool = False
    stored: GroupStable | GroupEmpty | None = None
    reserved: int = 0
    deleted: tuple[int, str] | None = None

    @property
    def order(self) -> tuple[int, int]:
        return self.epoch, self.version


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What became of a job; `error` is null when its files are durable."""

    job: Job
    error: OSError | None = None


class CheckpointWriter:
    """`report` is called from this thread, with all of a batch."""

    def __init__(self, cluster_folder: Path, report: Callable[[list[Done]], None]) -> None:
        self._offsets = cluster_folder / OFFSETS_FOLDER
        self._groups = cluster_folder / GROUPS_FOLDER
        self._report = report
        self._batches: queue.SimpleQueue[list[Job] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="checkpoints", daemon=True)
        self._thread.start()

    def write(self, jobs: list[Job]) -> None:
        self._batches.put(jobs)

    def stop(self) -> None:
        """Write what waits, then end. Blocks until that is done."""
        self._batches.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (batch := self._batches.get()) is not None:
            self._report(self.write_batch(batch))

    def write_batch(self, batch: list[Job]) -> list[Done]:
        """Write files in this thread."""
        steps = [(self._write_offsets, self._offsets), (self._write_group, self._groups)]
        if any(job.deleted is not None for job in batch):
            steps.append((self._remove_offsets, self._offsets))
        failed: dict[str, OSError] = {}
        try:
            for write, folder in steps:
                folder.mkdir(parents=True, exist_ok=True)
                for job in batch:
                    if job.group_id not in failed:
                        self._attempt(write, job, failed)
                flush_folder(folder)
        except OSError as problem:
            return [Done(job=job, error=problem) for job in batch]
        return [Done(job=job, error=failed.get(job.group_id)) for job in batch]

    @staticmethod
    def _attempt(write: Callable[[Job, str], None], job: Job, failed: dict[str, OSError]) -> None:
        """One step of one job; what fails keeps no other group back."""
        try:
            write(job, file_stem(job.group_id) + SUFFIX)
        except OSError as problem:
            failed[job.group_id] = problem

    def _write_offsets(self, job: Job, name: str) -> None:
        """The offsets file; where there is none to write, none of an earlier life may stay beside a new group-state file."""
        if job.offsets is not None:
            put(self._offsets / name, offsets_bytes(job.group_id, *job.order, job.offsets), job.order)
        elif job.membership and (ended := tombstone_order(self._groups / name)) is not None:
            remove(self._offsets / name, ended)

    def _write_group(self, job: Job, name: str) -> None:
        if job.deleted is not None:
            put(self._groups / name, tombstone_bytes(job.group_id, *job.order, *job.deleted), job.order)
        elif job.membership:
            put(self._groups / name, group_bytes(job.group_id, *job.order, job.stored, job.reserved), job.order)

    def _remove_offsets(self, job: Job, name: str) -> None:
        if job.deleted is not None:
            remove(self._offsets / name, job.order)


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
    """Whether what stands in this place is older than (epoch, version), or nothing, once it is set aside if it is corrupt."""
    try:
        return head_of(path.read_bytes()).order <= order
    except FileNotFoundError:
        return True
    except Unreadable:
        set_aside(path)
        return True
