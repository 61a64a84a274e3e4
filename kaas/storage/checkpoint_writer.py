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
    Unreadable,
    group_bytes,
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
        try:
            self._offsets.mkdir(parents=True, exist_ok=True)
            self._groups.mkdir(parents=True, exist_ok=True)
            done = [self._write(job) for job in batch]
            flush_folder(self._groups)
            flush_folder(self._offsets)
        except OSError as problem:
            return [Done(job=job, error=problem) for job in batch]
        return done

    def _write(self, job: Job) -> Done:
        name = file_stem(job.group_id) + ".json"
        order = (job.epoch, job.version)
        try:
            if job.deleted is not None:
                at, why = job.deleted
                put(self._groups / name, tombstone_bytes(job.group_id, *order, at, why), order)
                flush_folder(self._groups)
                if may_replace(self._offsets / name, order):
                    (self._offsets / name).unlink(missing_ok=True)
                return Done(job=job)
            if job.offsets is not None:
                put(self._offsets / name, offsets_bytes(job.group_id, *order, job.offsets), order)
            if job.membership:
                put(self._groups / name, group_bytes(job.group_id, *order, job.stored, job.reserved), order)
        except OSError as problem:
            return Done(job=job, error=problem)
        return Done(job=job)


def put(path: Path, data: bytes, order: tuple[int, int]) -> None:
    """Replace a checkpoint unless the one that is there is newer; the folder is flushed by the caller."""
    if may_replace(path, order):
        write_whole(path, data, flush=False)


def may_replace(path: Path, order: tuple[int, int]) -> bool:
    """Whether what stands in this place is older than (epoch, version), or nothing, once it is set aside if it is corrupt."""
    try:
        return head_of(path.read_bytes()).order <= order
    except FileNotFoundError:
        return True
    except Unreadable:
        set_aside(path)
        return True
