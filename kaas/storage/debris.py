"""Debris on a volume: what no broker will look at again.

Job: remove temporary files that a crash left, tombstones that have done their time, journals of brokers that left the cluster.
Rules
- A tombstone goes when it is older than the retention and no journal has an entry with its name: an older entry would bring
  the dead back.
- A journal goes when its broker is neither registered nor running (nobody holds its lock) and checkpoints cover all that is in
  it. A folder in which something cannot be read stays whole: an operator decides.
- Checkpoints are only touched under the lock that their writer holds, so that a group that comes back at this moment keeps its
  file. Running twice at once, or stopping anywhere, does no harm.
Must not know: who asks for a sweep, groups in memory.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kaas.coordinator import records
from kaas.coordinator.records import OFFSET_RECORDS, TRANSACTION_RECORDS, GroupDeleted
from kaas.coordinator.transactions.state import TransactionGone
from kaas.storage.checkpoint_files import checkpoint_lock
from kaas.storage.files import TEMPORARY, broker_lock, exclusive
from kaas.storage.group_files import GROUPS_FOLDER, OFFSETS_FOLDER, SUFFIX, Unreadable, group_of, head_of
from kaas.storage.journal import JOURNAL_FOLDER, Entry, Fault, files_of, read_file
from kaas.storage.names import file_stem
from kaas.storage.transaction_files import TRANSACTIONS_FOLDER, transaction_of

TEMPORARY_KEPT_MS = 3_600_000
"""No write takes an hour."""

Order = tuple[int, int]
NEVER: Order = (0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """How many files of each kind went."""

    temporary: int
    tombstones: int
    journals: int

    def __bool__(self) -> bool:
        return bool(self.temporary or self.tombstones or self.journals)


def sweep(cluster_folder: Path, *, registered: Iterable[int], now_ms: int, tombstones_kept_ms: int) -> Swept:
    """One round. `registered`: ids of the brokers in the assignment. Raises OSError."""
    return Swept(
        temporary=sweep_temporary(cluster_folder, now_ms),
        journals=sweep_journals(cluster_folder, {str(broker) for broker in registered}),
        tombstones=sweep_tombstones(cluster_folder, now_ms - tombstones_kept_ms),
    )


# Temporary files


def sweep_temporary(cluster_folder: Path, now_ms: int) -> int:
    folders = (
        cluster_folder,
        *(cluster_folder / name for name in (GROUPS_FOLDER, OFFSETS_FOLDER, TRANSACTIONS_FOLDER)),
    )
    swept = 0
    for folder in folders:
        for path in _entries(folder):
            if (
                path.name.startswith(".")
                and path.suffix == TEMPORARY
                and _changed_ms(path) < now_ms - TEMPORARY_KEPT_MS
            ):
                path.unlink(missing_ok=True)
                swept += 1
    return swept


def _entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _changed_ms(path: Path) -> int:
    """When a file was last written; of one that has just gone, the end of time."""
    try:
        return int(path.stat().st_mtime * 1000)
    except FileNotFoundError:
        return 2**63


# Tombstones


def sweep_tombstones(cluster_folder: Path, before_ms: int) -> int:
    """Tombstones of groups and transactional ids that died before a time."""
    old = list(_tombstones(cluster_folder, before_ms))
    if not old:
        return 0
    named = {file_stem(entry.group_id) for entry in _all_entries(cluster_folder)}
    swept = 0
    for path in old:
        if path.name.removesuffix(SUFFIX) in named:
            continue
        with exclusive(checkpoint_lock(cluster_folder)):
            if _died_at(path) < before_ms:  # it may have come back to life since
                path.unlink()
                swept += 1
    return swept


def _tombstones(cluster_folder: Path, before_ms: int) -> Iterator[Path]:
    for name in (GROUPS_FOLDER, TRANSACTIONS_FOLDER):
        for path in _entries(cluster_folder / name):
            if path.suffix == SUFFIX and _changed_ms(path) < before_ms and _died_at(path) < before_ms:
                yield path


def _died_at(path: Path) -> int:
    """When a tombstone's group or id went, ms since 1970; of what is none, the end of time."""
    try:
        if path.parent.name == GROUPS_FOLDER:
            died_at = group_of(path.read_bytes(), path).deleted_at
        else:
            record = transaction_of(path.read_bytes(), path)[1]
            died_at = record.at if isinstance(record, TransactionGone) else None
    except (FileNotFoundError, Unreadable):
        died_at = None
    return 2**63 if died_at is None else died_at


def _all_entries(cluster_folder: Path) -> Iterator[Entry]:
    """Of every broker's journal; of a broken one what it seems to be."""
    for folder in _entries(cluster_folder / JOURNAL_FOLDER):
        for _, path in files_of(folder):
            for item in _read(path):
                entry = item.entry if isinstance(item, Fault) else item
                if entry is not None:
                    yield entry


def _read(path: Path) -> list[Entry | Fault]:
    try:
        return list(read_file(path, newest=True))
    except FileNotFoundError:  # its broker has dropped it
        return []


# Journals


def sweep_journals(cluster_folder: Path, registered: set[str]) -> int:
    """Journals of brokers that are gone, once nothing in them is news."""
    swept = 0
    for folder in _entries(cluster_folder / JOURNAL_FOLDER):
        if folder.name in registered:
            continue
        with _held(broker_lock(cluster_folder, folder.name)) as free:
            if free:
                swept += _sweep_journal(cluster_folder, folder)
    return swept


@contextmanager
def _held(path: Path) -> Iterator[bool]:
    """Holds a broker's lock; whether it was free, which it is not while that broker runs."""
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield True


def _sweep_journal(cluster_folder: Path, folder: Path) -> int:
    files = _entries(folder)
    covered = Covered(cluster_folder)
    if len(files) != len(files_of(folder)) or not all(covered.covers(_read(path)) for path in files):
        return 0
    for path in files:
        path.unlink(missing_ok=True)
    folder.rmdir()
    return len(files)


class Covered:
    """Up to where the checkpoints on a volume reach, read when it is asked for."""

    def __init__(self, cluster_folder: Path) -> None:
        self._folder = cluster_folder
        self._orders: dict[Path, Order] = {}

    def covers(self, items: list[Entry | Fault]) -> bool:
        """Whether nothing of this is news. A torn end is none: it was never acknowledged."""
        return all(item.torn if isinstance(item, Fault) else self._covers(item) for item in items)

    def _covers(self, entry: Entry) -> bool:
        try:
            record = records.decode(entry.body)
        except ValueError:
            return False
        order, name = (entry.epoch, entry.version), file_stem(entry.group_id) + SUFFIX
        if isinstance(record, TRANSACTION_RECORDS):
            return order <= self._order(TRANSACTIONS_FOLDER, name)
        membership = self._order(GROUPS_FOLDER, name)
        offsets = max(membership, self._order(OFFSETS_FOLDER, name))
        if isinstance(record, GroupDeleted):
            return order <= min(membership, offsets)
        return order <= (offsets if isinstance(record, OFFSET_RECORDS) else membership)

    def _order(self, folder: str, name: str) -> Order:
        path = self._folder / folder / name
        if path not in self._orders:
            try:
                self._orders[path] = head_of(path.read_bytes()).order
            except (FileNotFoundError, Unreadable):
                self._orders[path] = NEVER
        return self._orders[path]
