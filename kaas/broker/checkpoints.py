"""When the checkpoint files of groups and transactional ids are written, and when journal files may go.

Job: remember what changed since its files were written and which journal file holds its newest records; hand a few groups and
ids at a time to the writing thread; drop journal files that nothing needs any more.
Rules: the files of a group or an id are written at most once per interval, however often it changes: a round writes what is
due when it begins, what changes meanwhile is for the next one. Everything is written at shutdown. A journal file goes only when
the checkpoints of all groups and ids with records in it are at least as new, and only if it is this broker's own and whole.
Must not know: what records mean.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from pathlib import Path

import structlog

from kaas.coordinator.coordinator import Coordinator
from kaas.coordinator.records import OFFSET_RECORDS, TRANSACTION_RECORDS, GroupDeleted, Record
from kaas.storage.checkpoint_writer import CheckpointWriter, Done, Job, TransactionJob
from kaas.storage.files import name_before
from kaas.storage.load import Loaded, Needs, Order
from kaas.storage.transaction_files import TransactionRecord

JOBS_PER_BATCH = 100

Due = tuple[str, str]
"""What is to be written: `id`, `deleted` or `group`, and whose."""

SHORTEST_WAIT = 0.25
"""Of an interval: a change waits at least so long for others to come with it, also after a long pause."""

log = structlog.get_logger("kaas.broker.checkpoints")


class Checkpoints:
    """What is due, and needed journal files. A transactional id's newest record is all of its state."""

    def __init__(self, coordinator: Coordinator, cluster_folder: Path, journal_folder: Path, interval_ms: int) -> None:
        self._coordinator = coordinator
        self._journal_folder = journal_folder
        self._interval_ms = interval_ms
        self._loop = asyncio.get_running_loop()
        self._writer = CheckpointWriter(cluster_folder, self._report)
        self._offsets: dict[str, None] = {}
        self._membership: dict[str, None] = {}
        self._deleted: dict[str, tuple[int, int, int, str]] = {}
        self._transactions: dict[str, tuple[TransactionRecord, Order]] = {}
        self._needed: dict[Path, Needs] = {}
        self._round: deque[Due] = deque()
        self._begun_s = 0.0
        self._writing = 0
        self._handle: asyncio.TimerHandle | None = None
        self._failing = False

    def needs_of(self, path: Path) -> Needs:
        """Who needs a journal file."""
        return self._needed.setdefault(path, Needs())

    def changed(self, group_id: str, record: Record, epoch: int, version: int, needs: Needs) -> None:
        """A record became durable in the journal file of these needs."""
        if isinstance(record, TRANSACTION_RECORDS):
            self._transactions[group_id] = record, (epoch, version)
            needs.transactions[group_id] = epoch, version
            self._arm()
            return
        needs.groups[group_id] = epoch, version
        if isinstance(record, OFFSET_RECORDS):
            self._offsets[group_id] = None
        elif isinstance(record, GroupDeleted):
            self._deleted[group_id] = (epoch, version, record.at, record.why)
            self._offsets.pop(group_id, None)
            self._membership.pop(group_id, None)
        else:
            self._membership[group_id] = None
        self._arm()

    def found(self, loaded: Loaded) -> None:
        """Journal files that a load found to hold more than the checkpoints."""
        self._needed = loaded.needed
        for needs in loaded.needed.values():
            for transactional_id in needs.transactions:
                if transactional_id in loaded.transactions:
                    self._transactions[transactional_id] = loaded.transactions[transactional_id]
            for group_id, order in needs.groups.items():
                if group_id in self._coordinator.groups:
                    self._offsets[group_id] = self._membership[group_id] = None
                elif group_id not in self._coordinator.broken:
                    self._deleted[group_id] = (*order, 0, "deleted")
        self._arm()

    def _arm(self) -> None:
        """A round begins an interval after the last one did, and not at once."""
        if self._handle is None and not self._writing:
            interval_s, now_s = self._interval_ms / 1_000, self._loop.time()
            at_s = max(self._begun_s + interval_s, now_s + interval_s * SHORTEST_WAIT)
            self._handle = self._loop.call_at(at_s, self._run)

    def _run(self) -> None:
        self._handle = None
        self._begun_s = self._loop.time()
        self._round = self._due()
        self._go_on()

    def _due(self) -> deque[Due]:
        groups = dict.fromkeys([*self._offsets, *self._membership])
        kinds = (("id", self._transactions), ("deleted", self._deleted), ("group", groups))
        return deque((kind, key) for kind, keys in kinds for key in keys)

    def _go_on(self) -> None:
        jobs = self._jobs(JOBS_PER_BATCH)
        if jobs:
            self._writing = len(jobs)
            self._writer.write(jobs)
        else:
            self._drop_files()

    def _jobs(self, most: int) -> list[Job | TransactionJob]:
        """Copies of what this round writes next, so that the thread sees each group as it is now."""
        make = {"id": self._transaction_job, "deleted": self._deleted_job, "group": self._group_job}
        jobs: list[Job | TransactionJob] = []
        while self._round and len(jobs) < most:
            kind, key = self._round.popleft()
            job = make[kind](key)
            if job is not None:
                jobs.append(job)
        return jobs

    def _transaction_job(self, transactional_id: str) -> TransactionJob | None:
        record, (epoch, version) = self._transactions.pop(transactional_id)
        return TransactionJob(record=record, epoch=epoch, version=version)

    def _deleted_job(self, group_id: str) -> Job | None:
        epoch, version, at, why = self._deleted.pop(group_id)
        if group_id not in self._coordinator.groups:
            return Job(group_id=group_id, epoch=epoch, version=version, deleted=(at, why))
        if group_id not in self._offsets and group_id not in self._membership:
            self._round.append(("group", group_id))
        self._offsets[group_id] = self._membership[group_id] = (
            None  # made anew: both files are to say nothing of its past
        )
        return None

    def _group_job(self, group_id: str) -> Job | None:
        offsets, membership = group_id in self._offsets, group_id in self._membership
        self._offsets.pop(group_id, None)
        self._membership.pop(group_id, None)
        group = self._coordinator.groups.get(group_id)
        if group is None or not (offsets or membership):
            return None
        return Job(
            group_id=group_id,
            epoch=group.epoch,
            version=group.version,
            offsets={t: dict(p) for t, p in group.offsets.items()} if offsets else None,
            staged={p: dict(rows) for p, rows in group.staged.items()},
            membership=membership,
            stored=group.stored,
            reserved=group.classic.reserved,
        )

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
            log.error("checkpoints cannot be written", jobs=len(failed), error=str(failed[0].error))
        self._failing = bool(failed)
        for item in done:
            if item.error is None:
                self._covered(item.job)
        if failed:  # what is left of the round is still due
            self._round.clear()
        if self._round:
            self._go_on()
        elif self._offsets or self._membership or self._deleted or self._transactions or self._needed:
            self._arm()

    def _again(self, job: Job | TransactionJob) -> None:
        if isinstance(job, TransactionJob):
            self._transactions.setdefault(job.record.transactional_id, (job.record, job.order))
            return
        if job.deleted is not None:
            self._deleted.setdefault(job.group_id, (job.epoch, job.version, *job.deleted))
        if job.offsets is not None:
            self._offsets[job.group_id] = None
        if job.membership:
            self._membership[job.group_id] = None

    def _covered(self, job: Job | TransactionJob) -> None:
        """The files of this group or transactional id are as new as the job."""
        if isinstance(job, TransactionJob):
            key, dirty = job.record.transactional_id, False
        else:
            key, dirty = job.group_id, job.group_id in self._offsets or job.group_id in self._membership
        for needs in self._needed.values():
            there = needs.transactions if isinstance(job, TransactionJob) else needs.groups
            if not dirty and there.get(key, job.order) <= job.order:
                there.pop(key, None)

    def _drop_files(self) -> None:
        """Journal files of earlier lives or full ones, once nobody needs them. The newest is being appended to."""
        for path in [p for p, needs in self._needed.items() if not needs]:
            if path.parent != self._journal_folder or name_before(path) is not None:
                del self._needed[path]
            elif path != self.current:
                del self._needed[path]
                self._loop.run_in_executor(None, path.unlink, True)

    @property
    def current(self) -> Path | None:
        """The newest journal file of this broker with something in it: it may be the one that is appended to."""
        own = (path for path in self._needed if path.parent == self._journal_folder and name_before(path) is None)
        return max(own, default=None)

    async def stop(self) -> None:
        """Write everything that is due; call when nothing changes any more."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        self._round = self._due()
        jobs = self._jobs(2**31)
        if jobs:
            self._writer.write(jobs)
        await self._loop.run_in_executor(None, self._writer.stop)
