"""When the checkpoint files of groups and transactional ids are written, and when journal files may go.

Job: remember what changed since its files were written and which journal file holds its newest records; hand a few groups and
ids at a time to the process that writes; drop journal files that nothing needs any more.
Rules: the files of a group or an id are written at most once per interval, however often it changes: a round writes what is
due when it begins, what changes meanwhile is for the next one. What a file shall say is made in the event loop, which takes
microseconds, and a batch is small enough to keep no request waiting. Everything is written at shutdown. A journal file goes
only when the checkpoints of all groups and ids with records in it are at least as new, and only if it is this broker's own
and whole.
Must not know: what records mean.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from pathlib import Path

import structlog

from kaas.coordinator.coordinator import Coordinator
from kaas.coordinator.effects import Persist
from kaas.coordinator.records import OFFSET_RECORDS, TRANSACTION_RECORDS, GroupDeleted
from kaas.storage.checkpoint_files import Files, Job, TransactionJob
from kaas.storage.checkpoint_writer import CheckpointWriter, Done
from kaas.storage.files import name_before
from kaas.storage.load import Loaded, Needs, Order
from kaas.storage.transaction_files import TransactionRecord

JOBS_PER_BATCH = 100
BYTES_PER_BATCH = 128 * 2**10
"""About a millisecond of the event loop. One group may have more."""

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
        self._writer = CheckpointWriter(cluster_folder)
        self._offsets: dict[str, None] = {}
        self._membership: dict[str, None] = {}
        self._deleted: dict[str, tuple[int, int, int, str]] = {}
        self._transactions: dict[str, tuple[TransactionRecord, Order]] = {}
        self._needed: dict[Path, Needs] = {}
        self._round: deque[Due] = deque()
        self._begun_s = 0.0
        self._writing: asyncio.Task[None] | None = None
        self._handle: asyncio.TimerHandle | None = None
        self._failing = False

    def changed(self, written: Iterable[Persist], path: Path) -> None:
        """Records became durable in this journal file."""
        needs = self._needed.setdefault(path, Needs())
        groups, offsets = needs.groups, self._offsets
        for change in written:
            group_id, record, order = change.group_id, change.record, (change.epoch, change.seq)
            if isinstance(record, OFFSET_RECORDS):
                offsets[group_id] = None
            elif isinstance(record, TRANSACTION_RECORDS):
                self._transactions[group_id] = record, order
                needs.transactions[group_id] = order
                continue
            elif isinstance(record, GroupDeleted):
                self._deleted[group_id] = (*order, record.at, record.why)
                offsets.pop(group_id, None)
                self._membership.pop(group_id, None)
            else:
                self._membership[group_id] = None
            groups[group_id] = order
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
        if self._handle is None and self._writing is None:
            interval_s, now_s = self._interval_ms / 1_000, self._loop.time()
            at_s = max(self._begun_s + interval_s, now_s + interval_s * SHORTEST_WAIT)
            self._handle = self._loop.call_at(at_s, self._run)

    def _run(self) -> None:
        self._handle = None
        self._begun_s = self._loop.time()
        self._writing = self._loop.create_task(self._write_round())

    async def _write_round(self) -> None:
        """What is due now, batch by batch; a round ends early when the disk refuses, and all that is left stays due."""
        self._round, failed = self._due(), False
        try:
            while self._round and not failed:
                failed = await self._write_batch()
            self._drop_files()
        finally:
            self._round.clear()
            self._writing = None
            if self._offsets or self._membership or self._deleted or self._transactions:
                self._arm()

    async def _write_batch(self) -> bool:
        """The next jobs of the round; whether some of them failed."""
        jobs, files = self._batch()
        done = await self._writer.write(jobs, files) if jobs else []
        return self._written(done)

    def _due(self) -> deque[Due]:
        groups = dict.fromkeys([*self._offsets, *self._membership])
        kinds = (("id", self._transactions), ("deleted", self._deleted), ("group", groups))
        return deque((kind, key) for kind, keys in kinds for key in keys)

    def _batch(self) -> tuple[list[Job | TransactionJob], list[Files]]:
        """What this round writes next, each group as it is now."""
        make = {"id": self._transaction_job, "deleted": self._deleted_job, "group": self._group_job}
        jobs: list[Job | TransactionJob] = []
        batch: list[Files] = []
        size_bytes = 0
        while self._round and len(jobs) < JOBS_PER_BATCH and size_bytes < BYTES_PER_BATCH:
            kind, key = self._round.popleft()
            job = make[kind](key)
            if job is not None:
                jobs.append(job)
                batch.append(job.files())
                size_bytes += batch[-1].size_bytes
        return jobs, batch

    def _transaction_job(self, transactional_id: str) -> TransactionJob | None:
        record, (epoch, version) = self._transactions.pop(transactional_id)
        return TransactionJob(record=record, epoch=epoch, version=version)

    def _deleted_job(self, group_id: str) -> Job | None:
        epoch, version, at, why = self._deleted.pop(group_id)
        if group_id not in self._coordinator.groups:
            return Job(group_id=group_id, epoch=epoch, version=version, deleted=(at, why))
        if group_id not in self._offsets and group_id not in self._membership:
            self._round.append(("group", group_id))
        # It was made anew: both files are to say nothing of its past.
        self._offsets[group_id] = self._membership[group_id] = None
        return None

    def _group_job(self, group_id: str) -> Job | None:
        offsets, membership = group_id in self._offsets, group_id in self._membership
        self._offsets.pop(group_id, None)
        self._membership.pop(group_id, None)
        group = self._coordinator.groups.get(group_id)
        if group is None or not (offsets or membership):
            return None
        return Job.of(group, offsets=offsets, membership=membership)

    def _written(self, done: list[Done]) -> bool:
        """Note what became of a batch; whether some of it failed."""
        failed = [item for item in done if item.error is not None]
        for item in failed:
            self._again(item.job)
        if failed and not self._failing:
            log.error("checkpoints cannot be written", jobs=len(failed), error=str(failed[0].error))
        self._failing = bool(failed)
        for item in done:
            if item.error is None:
                self._covered(item.job)
        return bool(failed)

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
        """The files of this group or transactional id are as new as the job: what changed later has a higher order."""
        key = job.record.transactional_id if isinstance(job, TransactionJob) else job.group_id
        for needs in self._needed.values():
            there = needs.transactions if isinstance(job, TransactionJob) else needs.groups
            if there.get(key, job.order) <= job.order:
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
        if self._writing is not None:
            await self._writing
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        self._round = self._due()
        while self._round:
            await self._write_batch()
        await self._writer.stop()
