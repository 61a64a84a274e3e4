"""A volume as brokers leave it: journal files and checkpoints, made with the code that makes them live."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kaas.coordinator import records, replay
from kaas.coordinator.group import Group
from kaas.coordinator.records import GroupDeleted, Record
from kaas.storage.checkpoint_files import Job, TransactionJob, write_batch
from kaas.storage.group_files import GROUPS_FOLDER, OFFSETS_FOLDER
from kaas.storage.journal import JOURNAL_FOLDER, encode_entry
from kaas.storage.load import Loaded, Loader
from kaas.storage.names import file_stem

WALL_OFFSET_MS = 1_000
BROKER = "1"


@dataclass(frozen=True, slots=True)
class Change:
    """One durable change of a group."""

    group_id: str
    version: int
    record: Record
    epoch: int = 1

    @property
    def order(self) -> tuple[int, int]:
        return self.epoch, self.version

    def packed(self) -> bytes:
        return encode_entry(self.group_id, self.epoch, self.version, records.encode(self.record))


def replayed(changes: Iterable[Change]) -> dict[str, Group]:
    """What a broker that saw every change has in memory."""
    groups: dict[str, Group] = {}
    for change in changes:
        replay.apply(groups, change.group_id, change.record, WALL_OFFSET_MS)
        if change.group_id in groups:
            groups[change.group_id].epoch, groups[change.group_id].version = change.order
    for group in groups.values():
        replay.restore(group, WALL_OFFSET_MS)
    return groups


class Volume:
    """One folder. `journal` writes files as a broker would, `checkpoint` those of a group as of some change."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def journal(self, *changes: Change, broker: str = BROKER, number: int = 1, tail: bytes = b"") -> Path:
        path = self.journal_path(broker, number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(change.packed() for change in changes) + tail)
        return path

    def journal_path(self, broker: str = BROKER, number: int = 1) -> Path:
        return self.folder / JOURNAL_FOLDER / broker / f"{number:020d}.log"

    def checkpoint(self, *changes: Change, offsets: bool = True, membership: bool = True) -> None:
        """The files of a group after these changes, which are all its changes so far; or one of the two files."""
        last = changes[-1]
        group = replayed(changes).get(last.group_id)
        if group is not None:
            job = Job.of(group, offsets=offsets, membership=membership)
        else:
            assert isinstance(last.record, GroupDeleted)
            job = Job(group_id=last.group_id, epoch=last.epoch, version=last.version, deleted=(9, "deleted"))
        self.write(job)

    def write(self, *jobs: Job | TransactionJob) -> None:
        assert not any(write_batch(self.folder, [job.files() for job in jobs]))

    def offsets_path(self, group_id: str) -> Path:
        return self.folder / OFFSETS_FOLDER / f"{file_stem(group_id)}.json"

    def group_path(self, group_id: str) -> Path:
        return self.folder / GROUPS_FOLDER / f"{file_stem(group_id)}.json"

    def load(self, broker: str = BROKER) -> Loaded:
        return Loader(self.folder, broker, WALL_OFFSET_MS).load()


def durable(groups: dict[str, Group]) -> dict[str, object]:
    """What of groups must be the same however they came to be in memory."""
    return {
        group_id: (
            group.offsets,
            staged(group),
            group.stored,
            (group.reserved, group.classic.reserved),
            group.classic.generation,
            group.classic.state,
            group.classic.leader,
            group.classic.members,
            group.modern,
        )
        for group_id, group in groups.items()
    }


def staged(group: Group) -> list[object]:
    """What transactions have staged in a group, in its order; of what is overtaken the order does not matter."""
    rows = [(one, producer_id, key) for producer_id, some in group.staged.items() for key, one in some.items()]
    rows.sort(key=lambda row: (not row[0].overtaken, *(row[1:] if row[0].overtaken else (row[0].number,))))
    return [(producer_id, key, one.entry, one.epoch, one.overtaken) for one, producer_id, key in rows]
