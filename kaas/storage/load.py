"""Everything that is known of the groups and transactional ids on a volume, into state.

Job: read every broker's journal and the checkpoint files, and apply what is newer than the checkpoints through the
same code that applies live changes. A restart, a crash and a move from another broker are this one case.
Rules
- Journals are read before checkpoints: a journal file that its broker drops meanwhile is covered by a checkpoint
  read later. Checkpoints are read under their lock: what is left of a writer that outlived its broker writes both
  files of a group before they are read, or after.
- An unreadable file is set aside under a name that says so, and its group is broken until an operator puts a
  readable file in its place or removes the one set aside; it is never taken for empty and never overwritten. A
  broken group is known by the file that was set aside, so it stays broken over restarts. The same holds for
  transactional ids.
- Of an entry that cannot be read only the name is known: it is taken for a group's, unless a transactional id alone
  has this name. A transactional id is broken only if nothing newer of it can be read, its records being whole.
- Another broker's files are only read.
Must not know: threads, the event loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from kaas.coordinator import records, replay
from kaas.coordinator.classic.group import ClassicGroup
from kaas.coordinator.group import Group
from kaas.coordinator.records import (
    OFFSET_RECORDS,
    TRANSACTION_RECORDS,
    GenerationReserved,
    GroupDeleted,
    Record,
)
from kaas.storage.broken import BrokenGroups
from kaas.storage.checkpoint_files import checkpoint_lock
from kaas.storage.consumer_group_files import ConsumerGroupFile
from kaas.storage.files import exclusive, name_before, set_aside
from kaas.storage.group_files import (
    GROUPS_FOLDER,
    OFFSETS_FOLDER,
    SUFFIX,
    GroupFile,
    StoredOffsets,
    Unreadable,
    group_of,
    membership_of,
    offsets_of,
)
from kaas.storage.journal import JOURNAL_FOLDER, Entry, Fault, cut_torn_end, files_of, read_file
from kaas.storage.names import file_stem
from kaas.storage.transaction_files import TRANSACTIONS_FOLDER, TransactionRecord, transaction_of

Order = tuple[int, int]
"""(coordinator epoch, version)."""

Content = TypeVar("Content")


@dataclass(slots=True)
class Needs:
    """Who has records in a journal file that no checkpoint covers: the newest (epoch, version) there of each group and
    of each transactional id.
    """

    groups: dict[str, Order] = field(default_factory=dict)
    transactions: dict[str, Order] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.groups or self.transactions)


@dataclass(slots=True)
class Loaded:
    """What was found.

    `transactions`: transactional id to its newest record and the (epoch, version) of that. `broken` and
    `broken_transactions` have those whose state cannot be read. `faults`: sentences for the log. `needed`: by journal
    file, this broker's own all among them: one that nobody needs may go. `newest_epoch`: the highest coordinator epoch
    that anything was written in; what is written from now on must have a higher one.
    """

    groups: dict[str, Group] = field(default_factory=dict)
    transactions: dict[str, tuple[TransactionRecord, Order]] = field(default_factory=dict)
    broken: BrokenGroups = field(default_factory=BrokenGroups)
    broken_transactions: BrokenGroups = field(default_factory=BrokenGroups)
    faults: list[str] = field(default_factory=list)
    needed: dict[Path, Needs] = field(default_factory=dict)
    newest_epoch: int = 0


@dataclass(slots=True)
class _Covered:
    """Up to where the checkpoints of one group reach. A group-state file reaches as far for the offsets as well."""

    offsets: Order = (0, 0)
    membership: Order = (0, 0)


@dataclass(slots=True)
class _Journals:
    """What the journals hold: records with the files they are in, and changes that are lost, with the reason.

    `kept`: files with an entry that could not be read, which are never dropped: a later version may read it.
    """

    records: list[tuple[Entry, Record, Path]] = field(default_factory=list)
    lost: list[tuple[Entry, str]] = field(default_factory=list)
    kept: set[Path] = field(default_factory=set)


class Loader:
    """Reads one volume for one broker. `wall_offset_ms` turns wall time into the clock of the coordinator."""

    def __init__(self, cluster_folder: Path, broker: str, wall_offset_ms: int) -> None:
        self.folder = cluster_folder
        self.broker = broker
        self.wall_offset_ms = wall_offset_ms
        self.found = Loaded()
        self.covered: dict[str, _Covered] = {}
        self.ended: dict[str, Order] = {}

    def load(self) -> Loaded:
        """Everything. Raises OSError when a journal or a folder cannot be read."""
        journals = self._journals()
        self.folder.mkdir(parents=True, exist_ok=True)
        with exclusive(checkpoint_lock(self.folder)):
            self._group_files()
            self._offsets_files()
            self._transaction_files()
        for entry, record, path in sorted(journals.records, key=lambda row: (row[0].epoch, row[0].version)):
            self._apply_entry(entry, record, path)
        for entry, reason in journals.lost:
            self._lost(entry, reason)
        for path in journals.kept:
            self.found.needed.pop(path, None)
        for group_id in [group_id for group_id in self.found.groups if group_id in self.found.broken]:
            del self.found.groups[group_id]
        for name in [name for name in self.found.transactions if name in self.found.broken_transactions]:
            del self.found.transactions[name]
        for group in self.found.groups.values():
            replay.restore(group, self.wall_offset_ms)
        return self.found

    # Journals

    def _journals(self) -> _Journals:
        """Every entry of every broker."""
        found = _Journals()
        place = self.folder / JOURNAL_FOLDER
        for folder in sorted(place.iterdir()) if place.is_dir() else []:
            files = files_of(folder)
            for number, path in files:
                try:
                    items = list(read_file(path, newest=number == files[-1][0]))
                except FileNotFoundError:  # its broker has dropped it
                    continue
                self._sort_out(path, items, found, own=folder.name == self.broker)
        return found

    def _sort_out(self, path: Path, items: list[Entry | Fault], found: _Journals, *, own: bool) -> None:
        """Report the faults of one file, cut its torn end off or set it aside, and decode the rest."""
        for item in items:
            if isinstance(item, Fault):
                self._faulty(item, found, own=own)
        if own and any(isinstance(item, Fault) and not item.torn for item in items) and name_before(path) is None:
            path = set_aside(path)
            self.found.faults.append(f"a journal file was set aside as {path.name}")
        if own:  # the file goes, unless something in it turns out to be newer than the checkpoints
            self.found.needed[path] = Needs()
        for item in items:
            if isinstance(item, Entry):
                try:
                    found.records.append((item, records.decode(item.body), path))
                except ValueError as problem:
                    found.lost.append((item, f"an entry of {path.name} cannot be read: {problem}"))
                    found.kept.add(path)

    def _faulty(self, fault: Fault, found: _Journals, *, own: bool) -> None:
        if fault.torn:
            self.found.faults.append(f"{fault.path.name}: dropped a torn end at byte {fault.at_byte} ({fault.reason})")
            if own:
                cut_torn_end(fault)
            return
        reason = f"{fault.path.name}: {fault.reason} at byte {fault.at_byte}"
        self.found.faults.append(reason)
        if fault.entry is not None:
            found.lost.append((fault.entry, reason))

    def _lost(self, entry: Entry, reason: str) -> None:
        """A change of this group is lost, unless its checkpoints cover it; or of the transactional id of this name."""
        name, order = entry.group_id, (entry.epoch, entry.version)
        known = self.found.transactions.get(name)
        if known is not None and order > known[1]:
            self._broken(self.found.broken_transactions, file_stem(name), reason)
        if known is not None and name not in self.found.groups:
            return
        cover = self._cover(name)
        if order > min(cover.offsets, cover.membership):
            self._broken(self.found.broken, file_stem(name), reason)

    def _apply_entry(self, entry: Entry, record: Record, path: Path) -> None:
        """One entry of a journal, unless the checkpoints of its group or transactional id are newer."""
        name, order = entry.group_id, (entry.epoch, entry.version)
        self.found.newest_epoch = max(self.found.newest_epoch, entry.epoch)
        if isinstance(record, TRANSACTION_RECORDS):
            if self._newest_of_transaction(name, record, order):
                self.found.needed.setdefault(path, Needs()).transactions[name] = order
            return
        cover = self._cover(name)
        if isinstance(record, GroupDeleted):
            newer = self._apply_tombstone(name, record, order, cover)
        else:
            newer = order > (cover.offsets if isinstance(record, OFFSET_RECORDS) else cover.membership)
            if newer:
                self._apply(name, record, order)
        if newer:
            self.found.needed.setdefault(path, Needs()).groups[name] = order

    def _apply_tombstone(self, group_id: str, record: GroupDeleted, order: Order, cover: _Covered) -> bool:
        """End a group, save a part of it of which the checkpoint is of its next life; whether there was anything to
        end.
        """
        ends_offsets, ends_membership = order > cover.offsets, order > cover.membership
        group = self.found.groups.get(group_id)
        if ends_offsets and ends_membership:
            self._apply(group_id, record, order)
        elif ends_offsets and group is not None:
            group.offsets.clear()
            group.forget_staged()
        elif ends_membership and group is not None:
            group.classic, group.stored, group.reserved = ClassicGroup(group_id=group_id), None, 0
        return ends_offsets or ends_membership

    # Checkpoints

    def _group_files(self) -> None:
        for group_id, (order, file) in self._newest(GROUPS_FOLDER, read_group).items():
            self.covered[group_id] = _Covered(offsets=order, membership=order)
            if file.deleted_at is not None:
                self.ended[group_id] = order
                continue
            self._apply(group_id, GenerationReserved(file.reserved_generation), order)
            membership = membership_of(file)
            if membership is not None:
                self._apply(group_id, membership, order)

    def _offsets_files(self) -> None:
        for group_id, (order, stored) in self._newest(OFFSETS_FOLDER, read_offsets).items():
            if order >= self.ended.get(group_id, order):  # otherwise the group was deleted after this was written
                cover = self._cover(group_id)
                cover.offsets = max(cover.offsets, order)
                for record in stored.records():
                    self._apply(group_id, record, order)

    def _transaction_files(self) -> None:
        broken = self.found.broken_transactions
        for name, (order, record) in self._newest(TRANSACTIONS_FOLDER, read_transaction, broken).items():
            self._newest_of_transaction(name, record, order)

    def _newest_of_transaction(self, name: str, record: TransactionRecord, order: Order) -> bool:
        """Keep a record of a transactional id if it is newer than what is known; whether it is."""
        known = self.found.transactions.get(name)
        if known is not None and order <= known[1]:
            return False
        self.found.transactions[name] = record, order
        return True

    def _newest(
        self,
        folder: str,
        read: Callable[[Path], tuple[str, Order, Content]],
        broken: BrokenGroups | None = None,
    ) -> dict[str, tuple[Order, Content]]:
        """By id, the newest readable checkpoint in a folder; a copy under another name may be an older one."""
        newest: dict[str, tuple[Order, Content]] = {}
        broken = self.found.broken if broken is None else broken
        for path in self._files(folder, broken):
            try:
                group_id, order, content = read(path)
            except FileNotFoundError:  # its group was deleted by its broker
                continue
            except Unreadable as problem:
                aside = set_aside(path)
                self._broken(broken, path.name.removesuffix(SUFFIX), f"{problem}; set aside as {aside.name}")
                continue
            except OSError as problem:
                self._broken(broken, path.name.removesuffix(SUFFIX), f"{path.name}: {problem}")
                continue
            if group_id not in newest or order > newest[group_id][0]:
                newest[group_id] = order, content
            self.found.newest_epoch = max(self.found.newest_epoch, order[0])
        return newest

    def _files(self, folder: str, broken: BrokenGroups) -> Iterator[Path]:
        """Checkpoints in a folder. One that was set aside, with nothing in its place, makes its id broken."""
        place = self.folder / folder
        for path in sorted(place.iterdir()) if place.is_dir() else []:
            before = name_before(path)
            if path.suffix == SUFFIX:
                yield path
            elif before is not None and not path.with_name(before).exists():
                self._broken(broken, before.removesuffix(SUFFIX), f"its file was set aside as {path.name}")

    # Both

    def _cover(self, group_id: str) -> _Covered:
        return self.covered.setdefault(group_id, _Covered())

    def _broken(self, broken: BrokenGroups, stem: str, reason: str) -> None:
        broken.add(stem, reason)
        what = "group" if broken is self.found.broken else "transactional id"
        self.found.faults.append(f"{what} file {stem!r}: {reason}")

    def _apply(self, group_id: str, record: Record, order: Order) -> None:
        replay.apply(self.found.groups, group_id, record, self.wall_offset_ms)
        group = self.found.groups.get(group_id)
        if group is not None:
            group.epoch, group.version = max((group.epoch, group.version), order)


def read_group(path: Path) -> tuple[str, Order, GroupFile | ConsumerGroupFile]:
    """Group id, order and content of a group-state file. Raises Unreadable, OSError."""
    file = group_of(path.read_bytes(), path)
    return file.group_id, (file.coordinator_epoch, file.version), file


def read_offsets(path: Path) -> tuple[str, Order, StoredOffsets]:
    """Group id, order and content of an offsets file. Raises Unreadable, OSError."""
    written_at = int(path.stat().st_mtime * 1000)
    stored = offsets_of(path.read_bytes(), path, written_at)
    return stored.group_id, stored.head.order, stored


def read_transaction(path: Path) -> tuple[str, Order, TransactionRecord]:
    """Transactional id, order and record of its file. Raises Unreadable, OSError."""
    head, record = transaction_of(path.read_bytes(), path)
    return record.transactional_id, head.order, record
