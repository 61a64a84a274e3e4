"""Everything that is known of the groups on a volume, into state.

Job: read the checkpoint files and every broker's journal, and apply what is newer than the checkpoints through the same code
that applies live changes. A restart, a crash and a move from another broker are this one case.
Rules: an unreadable file is set aside under a name that says so and its group is broken until an operator decides (repairs the
file, or deletes the group); it is never taken for empty and never overwritten. A broken group is known by the file that was set
aside, so it stays broken over restarts.
Must not know: threads, the event loop.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from kaas.coordinator import records, replay
from kaas.coordinator.group import Group
from kaas.coordinator.records import OFFSET_RECORDS, GenerationReserved, GroupDeleted, OffsetsCommitted, Record
from kaas.storage.group_files import (
    GROUPS_FOLDER,
    OFFSETS_FOLDER,
    Unreadable,
    group_of,
    membership_of,
    offsets_of,
)
from kaas.storage.journal import Entry, Fault, cut_torn_end, files_of, read_file, set_aside
from kaas.storage.names import EMPTY

JOURNAL_FOLDER = "__journal"
CORRUPT = ".corrupt-"


@dataclass(slots=True)
class Loaded:
    """What was found.

    `broken`: group id to a sentence. `faults`: sentences for the log. `needed`: journal file to the groups that have records
    there which no checkpoint covers, with the newest (epoch, version) of each.
    """

    groups: dict[str, Group] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    needed: dict[Path, dict[str, tuple[int, int]]] = field(default_factory=dict)
    newest_epoch: int = 0


@dataclass(slots=True)
class _Covered:
    """Up to where the checkpoints of one group reach."""

    offsets: tuple[int, int] = (0, 0)
    membership: tuple[int, int] = (0, 0)


class Loader:
    """Reads one volume for one broker. `wall_offset_ms` turns wall time into the clock of the coordinator."""

    def __init__(self, cluster_folder: Path, broker: str, wall_offset_ms: int) -> None:
        self.folder = cluster_folder
        self.broker = broker
        self.wall_offset_ms = wall_offset_ms
        self.found = Loaded()
        self.covered: dict[str, _Covered] = {}

    def load(self) -> Loaded:
        """Everything. Raises OSError when the volume cannot be read at all."""
        self._group_files()
        self._offsets_files()
        entries = self._journal_entries()
        for entry, record, path in sorted(entries, key=lambda e: (e[0].epoch, e[0].version)):
            self._apply_entry(entry, record, path)
        for group_id in self.found.broken:
            self.found.groups.pop(group_id, None)
        return self.found

    def _cover(self, group_id: str) -> _Covered:
        return self.covered.setdefault(group_id, _Covered())

    def _apply(self, group_id: str, record: Record, order: tuple[int, int]) -> None:
        replay.apply(self.found.groups, group_id, record, self.wall_offset_ms)
        group = self.found.groups.get(group_id)
        if group is not None:
            group.epoch, group.version = max((group.epoch, group.version), order)
        self.found.newest_epoch = max(self.found.newest_epoch, order[0])

    def _files(self, folder: str) -> Iterator[Path]:
        """Checkpoints in a folder; those set aside make their groups broken."""
        place = self.folder / folder
        if not place.is_dir():
            return
        for path in sorted(place.iterdir()):
            if path.suffix == ".json":
                yield path
            elif CORRUPT in path.name and not path.with_name(path.name.split(CORRUPT)[0]).exists():
                self._broken(path.name.split(".json")[0], f"its file was set aside as {path.name}")

    def _broken(self, stem: str, reason: str) -> None:
        group_id = "" if stem == EMPTY else unquote(stem)
        self.found.broken[group_id] = reason
        self.found.faults.append(f"group {group_id!r}: {reason}")

    def _set_aside(self, path: Path, problem: Exception) -> None:
        aside = path.with_name(f"{path.name}{CORRUPT}{int(time.time())}")
        path.rename(aside)
        self._broken(path.name.removesuffix(".json"), f"{problem}; set aside as {aside.name}")

    def _group_files(self) -> None:
        for path in self._files(GROUPS_FOLDER):
            try:
                file = group_of(path.read_bytes(), path)
            except Unreadable as problem:
                self._set_aside(path, problem)
                continue
            order = (file.coordinator_epoch, file.version)
            cover = self._cover(file.group_id)
            cover.membership = order
            if file.deleted_at is not None:
                cover.offsets = order
                continue
            self._apply(file.group_id, GenerationReserved(file.reserved_generation), order)
            membership = membership_of(file)
            if membership is not None:
                self._apply(file.group_id, membership, order)

    def _offsets_files(self) -> None:
        for path in self._files(OFFSETS_FOLDER):
            try:
                group_id, head, entries = offsets_of(path.read_bytes(), path)
            except Unreadable as problem:
                self._set_aside(path, problem)
                continue
            cover = self._cover(group_id)
            if head.order < cover.offsets:  # the group was deleted after this was written
                continue
            cover.offsets = head.order
            self._apply(group_id, OffsetsCommitted(entries), head.order)

    def _journal_entries(self) -> list[tuple[Entry, Record, Path]]:
        """Every readable entry of every broker."""
        found: list[tuple[Entry, Record, Path]] = []
        journals = self.folder / JOURNAL_FOLDER
        for folder in sorted(journals.iterdir()) if journals.is_dir() else []:
            files = files_of(folder)
            for number, path in files:
                items = list(read_file(path, newest=number == files[-1][0]))
                faults = [item for item in items if isinstance(item, Fault)]
                place = self._faulty(path, faults, own=folder.name == self.broker) if faults else path
                for item in items:
                    if isinstance(item, Entry):
                        self._decode(item, place, found)
        return found

    def _decode(self, entry: Entry, path: Path, found: list[tuple[Entry, Record, Path]]) -> None:
        try:
            found.append((entry, records.decode(entry.body), path))
        except ValueError as problem:
            self._doubtful(entry, f"an entry of {path.name} cannot be read: {problem}")

    def _faulty(self, path: Path, faults: list[Fault], *, own: bool) -> Path:
        """Cut a torn end off, or set the file aside; where the file is now."""
        if all(fault.torn for fault in faults):
            for fault in faults:
                self.found.faults.append(f"{path.name}: dropped a torn end at byte {fault.at_byte} ({fault.reason})")
                if own:
                    cut_torn_end(fault)
            return path
        aside = set_aside(path)
        for fault in faults:
            self.found.faults.append(f"{aside.name}: {fault.reason} at byte {fault.at_byte}")
            if fault.entry is not None:
                self._doubtful(fault.entry, f"an entry in {aside.name} is corrupt at byte {fault.at_byte}")
        return aside

    def _doubtful(self, entry: Entry, reason: str) -> None:
        """A change of this group is lost, unless a checkpoint covers it."""
        cover = self._cover(entry.group_id)
        if (entry.epoch, entry.version) > min(cover.offsets, cover.membership):
            self.found.broken[entry.group_id] = reason
            self.found.faults.append(f"group {entry.group_id!r}: {reason}")

    def _apply_entry(self, entry: Entry, record: Record, path: Path) -> None:
        """One entry of a journal, unless the checkpoints of its group are newer."""
        order = (entry.epoch, entry.version)
        cover = self._cover(entry.group_id)
        if isinstance(record, GroupDeleted):
            newer = order > min(cover.membership, cover.offsets)
        elif isinstance(record, OFFSET_RECORDS):
            newer = order > cover.offsets
        else:
            newer = order > cover.membership
        if newer:
            self._apply(entry.group_id, record, order)
            self.found.needed.setdefault(path, {})[entry.group_id] = order
