"""When the checkpoint files of groups are written, and when journal files may go.

Job: remember which groups changed since their files were written and which journal file holds their newest records; hand a few
groups at a time to the writing thread; drop journal files that no group needs any more.
Rules: a group's files are written at most once per interval, however often it changes. Everything is written at shutdown. A
journal file goes only when the checkpoints of all groups with records in it are at least as new, and only if it is this
broker's own and whole.
Must not know: what records mean.
"""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import structlog

from kaas.coordinator.coordinator import Coordinator
from kaas.coordinator.records import OFFSET_RECORDS, GroupDeleted, Record
from kaas.storage.checkpoint_writer import CheckpointWriter, Done, Job
from kaas.storage.files import name_before

GROUPS_PER_BATCH = 100

log = structlog.get_logger("kaas.broker.checkpoints")


class Checkpoints:
    """Dirty groups and needed journal files."""

    def __init__(self, coordinator: Coordinator, cluster_folder: Path, journal_folder: Path, interval_ms: int) -> None:
        self._coordinator = coordinator
        self._journal_folder = journal_folder
        self._interval_ms = interval_ms
        self._loop = asyncio.get_running_loop()
        self._writer = CheckpointWriter(cluster_folder, self._report)
        self._offsets: dict[str, None] = {}
        self._membership: dict[str, None] = {}
        self._deleted: dict[str, tuple[int, int, int, str]] = {}
        self._needed: dict[Path, dict[str, tuple[int, int]]] = {}
        self._writing = 0
        self._handle: asyncio.TimerHandle | None = None
        self._failing = False

    def changed(self, group_id: str, record: Record, epoch: int, version: int, path: Path) -> None:
        """A record became durable in a journal file."""
        if isinstance(record, OFFSET_RECORDS):
            self._offsets[group_id] = None
        elif isinstance(record, GroupDeleted):
            self._deleted[group_id] = (epoch, version, record.at, record.why)
            self._offsets.pop(group_id, None)
            self._membership.pop(group_id, None)
        else:
            self._membership[group_id] = None
        self._needed.setdefault(path, {})[group_id] = (epoch, version)
        self._arm()

    def found(self, needed: dict[Path, dict[str, tuple[int, int]]]) -> None:
        """Journal files that a load found to hold more than the checkpoints."""
        self._needed = needed
        for groups in needed.values():
            for group_id, order in groups.items():
                if group_id in self._coordinator.groups:
                    self._offsets[group_id] = self._membership[group_id] = None
                elif group_id not in self._coordinator.broken:
                    self._deleted[group_id] = (*order, 0, "deleted")
        self._arm()

    def _arm(self) -> None:
        if self._handle is None and not self._writing:
            self._handle = self._loop.call_later(self._interval_ms / 1_000, self._run)

    def _run(self) -> None:
        self._handle = None
        jobs = self._jobs(GROUPS_PER_BATCH)
        if jobs:
            self._writing = len(jobs)
            self._writer.write(jobs)
        else:
            self._drop_files()

    def _jobs(self, most: int) -> list[Job]:
        """Copies of what is due, so that the thread sees each group as it is now."""
        jobs = []
        for group_id in list(self._deleted)[:most]:
            epoch, version, at, why = self._deleted.pop(group_id)
            if group_id in self._coordinator.groups:  # made anew: both files are to say nothing of its past
                self._offsets[group_id] = self._membership[group_id] = None
            else:
                jobs.append(Job(group_id=group_id, epoch=epoch, version=version, deleted=(at, why)))
        due = list(dict.fromkeys([*self._offsets, *self._membership]))[: most - len(jobs)]
        for group_id in due:
            offsets, membership = group_id in self._offsets, group_id in self._membership
            self._offsets.pop(group_id, None)
            self._membership.pop(group_id, None)
            group = self._coordinator.groups.get(group_id)
            if group is not None:
                jobs.append(
                    Job(
                        group_id=group_id,
                        epoch=group.epoch,
                        version=group.version,
                        offsets={t: dict(p) for t, p in group.offsets.items()} if offsets else None,
                        membership=membership,
                        stored=group.stored,
                        reserved=group.classic.reserved,
                    )
                )
        return jobs

    def _report(self, done: list[Done]) -> None:
        """Called in the writing thread."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: the broker has stopped
            self._loop.call_soon_threadsafe(self._written, done)

    def _written(self, done: list[Done]) -> None:
        self._writing = 0
        failed = [item for item in done if item.error is not None]
        for item in failed:
            self._again(item.job)
        if failed and not self._failing:
            log.error("checkpoints cannot be written", groups=len(failed), error=str(failed[0].error))
        self._failing = bool(failed)
        self._covered({item.job.group_id: (item.job.epoch, item.job.version) for item in done if item.error is None})
        more = bool(self._offsets or self._membership or self._deleted)
        if more and len(done) >= GROUPS_PER_BATCH and not failed:
            self._run()
        elif more or self._needed:
            self._arm()

    def _again(self, job: Job) -> None:
        if job.deleted is not None:
            self._deleted.setdefault(job.group_id, (job.epoch, job.version, *job.deleted))
        if job.offsets is not None:
            self._offsets[job.group_id] = None
        if job.membership:
            self._membership[job.group_id] = None

    def _covered(self, done: dict[str, tuple[int, int]]) -> None:
        """These groups' files are as new as (epoch, version)."""
        for groups in self._needed.values():
            for group_id, order in done.items():
                dirty = group_id in self._offsets or group_id in self._membership
                if not dirty and groups.get(group_id, (0, 0)) <= order:
                    groups.pop(group_id, None)

    def _drop_files(self) -> None:
        """Journal files of earlier lives or full ones, once nobody needs them. The newest is being appended to."""
        for path in [p for p, groups in self._needed.items() if not groups]:
            if path.parent != self._journal_folder or name_before(path) is not None:
                del self._needed[path]
            elif path != self.current:
                del self._needed[path]
                self._loop.run_in_executor(None, path.unlink, True)

    @property
    def current(self) -> Path | None:
        """The journal file that is appended to."""
        return max(self._needed, default=None)

    async def stop(self) -> None:
        """Write everything that is due; call when nothing changes any more."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        jobs = self._jobs(2**31)
        if jobs:
            self._writer.write(jobs)
        await self._loop.run_in_executor(None, self._writer.stop)
