"""What the checkpoint files of groups and transactional ids shall say, and how a batch of them is written.

Job: turn the state of a group or an id into the bytes of its files; write, replace and remove files, many at a time.
Rules: a file of a newer (coordinator epoch, version) is never replaced or removed, one that cannot be understood is
set aside. A group's tombstone is written before its offsets file goes. A batch of files shares one flush of each
folder. What fails is reported and left as it was. Files are changed under a lock, so that neither a clean-up nor a
load sees half of a batch.
Must not know: when a group is due, which process this runs in.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from kaas.coordinator.group import Group, Stored
from kaas.coordinator.offset_entry import OffsetEntry
from kaas.storage.files import Aside, exclusive, flush_folder, read_whole, set_aside
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
    stored: Stored | None = None
    reserved: int = 0
    deleted: tuple[int, str] | None = None

    @classmethod
    def of(cls, group: Group, *, offsets: bool, membership: bool) -> Job:
        """A group as it is now; of its two files those that are due. Nothing is copied: ask for `files` at once."""
        return cls(
            group_id=group.group_id,
            epoch=group.epoch,
            version=group.version,
            offsets=group.offsets if offsets else None,
            staged=group.staged,
            membership=membership,
            stored=group.stored,
            reserved=group.reserved,
        )

    @property
    def order(self) -> tuple[int, int]:
        return self.epoch, self.version

    def files(self) -> Files:
        """What its files shall say."""
        group = None
        if self.deleted is not None:
            group = tombstone_bytes(self.group_id, *self.order, *self.deleted)
        elif self.membership:
            group = group_bytes(self.group_id, *self.order, self.stored, self.reserved)
        offsets = None
        if self.offsets is not None:
            offsets = offsets_bytes(self.group_id, *self.order, self.offsets, self.staged)
        return Files(file_name(self.group_id), self.order, offsets, group, self.deleted is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionJob:
    """A transactional id as it was at (epoch, version)."""

    record: TransactionRecord
    epoch: int
    version: int

    @property
    def order(self) -> tuple[int, int]:
        return self.epoch, self.version

    def files(self) -> Files:
        """What its file shall say."""
        data = transaction_bytes(self.record, *self.order)
        return Files(file_name(self.record.transactional_id), self.order, transaction=data)


class Files(msgspec.Struct, array_like=True, frozen=True):
    """The files of one group or transactional id; null where one is not due. `order`: (epoch, version).

    `ends`: `group` is a tombstone, and the offsets file goes.
    """

    name: str
    order: tuple[int, int]
    offsets: bytes | None = None
    group: bytes | None = None
    ends: bool = False
    transaction: bytes | None = None

    @property
    def size_bytes(self) -> int:
        return sum(len(data) for data in (self.offsets, self.group, self.transaction) if data is not None)


def write_batch(cluster_folder: Path, batch: list[Files]) -> list[OSError | None]:
    """Make files durable; for each of the batch what kept it from being so."""
    failed: dict[int, OSError] = {}
    try:
        cluster_folder.mkdir(parents=True, exist_ok=True)
        with exclusive(checkpoint_lock(cluster_folder)):
            for write, folder, some in _steps(cluster_folder, batch):
                folder.mkdir(exist_ok=True)
                _take_step(write, folder, [files for files in some if id(files) not in failed], failed)
    except OSError as problem:
        return [problem] * len(batch)
    return [failed.get(id(files)) for files in batch]


Step = Callable[[Path, Files], Aside | None]
"""Does what is to be done about one of them; what is only to be put in place, once all of the step are written."""


def _steps(cluster_folder: Path, batch: list[Files]) -> Iterator[tuple[Step, Path, list[Files]]]:
    """What to do, in which folder, for which of them; a step begins when the one before is durable."""
    groups = [files for files in batch if files.transaction is None]
    transactions = [files for files in batch if files.transaction is not None]
    if groups:
        yield _write_offsets, cluster_folder / OFFSETS_FOLDER, groups
        yield _write_group, cluster_folder / GROUPS_FOLDER, groups
    if ended := [files for files in groups if files.ends]:
        yield _remove_offsets, cluster_folder / OFFSETS_FOLDER, ended
    if transactions:
        yield _write_transaction, cluster_folder / TRANSACTIONS_FOLDER, transactions


def _take_step(write: Step, folder: Path, some: list[Files], failed: dict[int, OSError]) -> None:
    """One step for these; what fails keeps no other one back."""
    asides: list[tuple[Files, Aside]] = []
    for files in some:
        with _noted(failed, files):
            aside = write(folder, files)
            if aside is not None:
                asides.append((files, aside))
    for finish in (Aside.flush, Aside.put):
        for files, aside in asides:
            if id(files) not in failed:
                with _noted(failed, files):
                    finish(aside)
    flush_folder(folder)


@contextlib.contextmanager
def _noted(failed: dict[int, OSError], files: Files) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        failed[id(files)] = problem


def _write_offsets(folder: Path, files: Files) -> Aside | None:
    """The offsets file; where there is none to write, none of an earlier life may stay beside a new group-state file."""
    if files.offsets is not None:
        return newer(folder / files.name, files.offsets, files.order)
    if files.group is not None and not files.ends:
        ended = tombstone_order(folder.with_name(GROUPS_FOLDER) / files.name)
        if ended is not None:
            remove(folder / files.name, ended)
    return None


def _write_group(folder: Path, files: Files) -> Aside | None:
    return None if files.group is None else newer(folder / files.name, files.group, files.order)


def _remove_offsets(folder: Path, files: Files) -> None:
    remove(folder / files.name, files.order)


def _write_transaction(folder: Path, files: Files) -> Aside | None:
    assert files.transaction is not None
    return newer(folder / files.name, files.transaction, files.order)


def checkpoint_lock(cluster_folder: Path) -> Path:
    """The lock under which checkpoints are changed."""
    return cluster_folder / "checkpoints.lock"


def file_name(name: str) -> str:
    """Of a group or a transactional id."""
    return file_stem(name) + SUFFIX


def newer(path: Path, data: bytes, order: tuple[int, int]) -> Aside | None:
    """What is to replace a checkpoint, unless the one that is there is newer; the folder is flushed by the caller."""
    return Aside(path, data) if may_replace(path, order) else None


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
