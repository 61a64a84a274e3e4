"""Checkpoints of a simulated broker, made when the schedule says so, perhaps of one file of a group and not of the other.

Job: what the real shell does with its process and its interval, one group at a time and with a death between any two files.
Rules: a journal file goes when every group with a record in it has checkpoints that are as new; never the one in use.
"""

from __future__ import annotations

import random
from pathlib import Path

from kaas.coordinator.coordinator import Coordinator
from kaas.coordinator.effects import Persist
from kaas.coordinator.records import OFFSET_RECORDS, GroupDeleted
from kaas.storage.checkpoint_files import Job, write_batch
from kaas.storage.journal import Journal
from kaas.storage.load import Loaded, Needs, Order

NOTHING = ((0, 0), None)


class Checkpoints:
    """`dirty`: group to the parts whose files are older than memory. `needed`: journal file to groups with their newest
    records in it."""

    def __init__(self, folder: Path, core: Coordinator, journal: Journal) -> None:
        self.core = core
        self.journal = journal
        self.folder = folder
        self.dirty: dict[str, set[str]] = {}
        self.deleted: dict[str, tuple[Order, GroupDeleted]] = {}
        self.needed: dict[Path, Needs] = {}

    def found(self, loaded: Loaded) -> None:
        """What a load found to be newer than the checkpoints. Of a group that is not there the newest record is its
        tombstone."""
        self.needed = loaded.needed
        for needs in loaded.needed.values():
            for group_id, order in needs.groups.items():
                self.dirty[group_id] = {"offsets", "membership"}
                if group_id not in loaded.groups:
                    self.deleted[group_id] = (
                        max(order, self.deleted.get(group_id, NOTHING)[0]),
                        GroupDeleted(0, "deleted"),
                    )

    def written(self, effect: Persist, path: Path) -> None:
        """A record is in this file."""
        self.needed.setdefault(path, Needs()).groups[effect.group_id] = (effect.epoch, effect.seq)

    def changed(self, effect: Persist) -> None:
        """A record was applied."""
        if isinstance(effect.record, GroupDeleted):
            self.deleted[effect.group_id] = (effect.epoch, effect.seq), effect.record
            self.dirty[effect.group_id] = {"offsets", "membership"}
        else:
            part = "offsets" if isinstance(effect.record, OFFSET_RECORDS) else "membership"
            self.dirty.setdefault(effect.group_id, set()).add(part)

    def write(self, dice: random.Random) -> bool:
        """The files of one group that are due. The offsets file comes first, and sometimes alone."""
        if not self.dirty:
            return False
        group_id = dice.choice(sorted(self.dirty))
        parts = self.dirty[group_id]
        self._write(group_id, {"offsets"} if "offsets" in parts and dice.random() < 0.3 else parts)
        return True

    def write_all(self) -> None:
        for group_id in list(self.dirty):
            self._write(group_id, self.dirty[group_id])

    def _write(self, group_id: str, parts: set[str]) -> None:
        job = self._job(group_id, parts)
        if job is not None:
            assert write_batch(self.folder, [job.files()]) == [None]
        left = set() if job is None or job.deleted is not None else self.dirty[group_id] - parts
        if left:
            self.dirty[group_id] = left
            return
        del self.dirty[group_id]
        self.deleted.pop(group_id, None)
        if job is not None:
            self._covered(group_id, (job.epoch, job.version))

    def _job(self, group_id: str, parts: set[str]) -> Job | None:
        group = self.core.groups.get(group_id)
        if group is None:
            if group_id not in self.deleted:  # it moved to another broker
                return None
            order, record = self.deleted[group_id]
            return Job(group_id=group_id, epoch=order[0], version=order[1], deleted=(record.at, record.why))
        return Job.of(group, offsets="offsets" in parts, membership="membership" in parts)

    def _covered(self, group_id: str, order: Order) -> None:
        """Both files of this group are as new as (epoch, version)."""
        for path, needs in list(self.needed.items()):
            if needs.groups.get(group_id, order) <= order:
                needs.groups.pop(group_id, None)
            if not needs and path != self.journal.file_of(self.journal.number):
                del self.needed[path]
                path.unlink()
