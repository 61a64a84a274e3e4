"""The journal: every durable change of a group, appended to this broker's own files.

Job: the format of an entry, appending batches, reading files back.
Shape: `<data>/__cluster/__journal/<broker id>/<n>.log`, n in 20 digits. An entry is length (u32), CRC-32C (u32), and
so many bytes: group id (u16 length, UTF-8), coordinator epoch (i64), version (i64), body. All big-endian; the CRC
covers what follows it.
Rules
- What is acknowledged has been written and flushed. A batch that cannot be is cut off again, so that the file ends
  after the last good entry; until that works nothing more is appended, so that what was told to have failed never
  comes back.
- A torn entry at the end of the newest file was never acknowledged and is cut off. A bad entry anywhere else is
  corruption: the file is set aside under a name that says so (it is still read, but never dropped by itself), and
  the fault is reported.
- A broker begins a new file at each start, so that a file is never appended to by two processes.
Must not know: threads (kaas.storage.journal_writer), what a body means.
"""

from __future__ import annotations

import contextlib
import functools
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from crc32c import crc32c

from kaas.storage import files
from kaas.storage.files import flush_folder

HEAD = struct.Struct(">II")
NUMBERS = struct.Struct(">qq")
NAME = struct.Struct(">H")
LARGEST_ENTRY_BYTES = 256 * 2**20
NAMES_KEPT = 10_000
"""Group ids that are kept as an entry has them."""
JOURNAL_FOLDER = "__journal"
CORRUPT = files.CORRUPT
"""How the name of a journal file that was set aside ends."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One change of one group."""

    group_id: str
    epoch: int
    version: int
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Something that could not be read. `torn`: the end of the newest file, which nobody was told of. `entry` is
    what the broken entry seems to be, if that much can be read."""

    path: Path
    at_byte: int
    reason: str
    torn: bool
    entry: Entry | None = None


@functools.lru_cache(NAMES_KEPT)
def encoded_name(group_id: str) -> bytes:
    """What an entry begins with, behind its checksum."""
    name = group_id.encode("utf-8", "surrogatepass")
    return NAME.pack(len(name)) + name


def encode_entry(group_id: str, epoch: int, version: int, body: bytes) -> bytes:
    rest = encoded_name(group_id) + NUMBERS.pack(epoch, version) + body
    return HEAD.pack(len(rest), crc32c(rest)) + rest


def decode_entry(rest: bytes) -> Entry:
    """The entry in bytes whose CRC is right. Raises ValueError."""
    try:
        (size,) = NAME.unpack_from(rest)
        end = NAME.size + size
        epoch, version = NUMBERS.unpack_from(rest, end)
        name = rest[NAME.size : end].decode("utf-8", "surrogatepass")
    except (struct.error, UnicodeDecodeError) as problem:
        raise ValueError(str(problem)) from None
    return Entry(name, epoch, version, rest[end + NUMBERS.size :])


def read_file(path: Path, *, newest: bool) -> Iterator[Entry | Fault]:
    """Entries and faults in order.

    After a bad entry reading goes on where it says that it ends, if a good one begins there. Where that is not so
    its length cannot be trusted: what follows is looked for, and reported as faults too, because bytes inside an
    entry may look like one. `newest`: the file may end in a torn entry, which has nothing good behind it.
    """
    data = path.read_bytes()
    at, trusted = 0, True
    while at < len(data):
        entry, end, problem = entry_at(data, at)
        if entry is not None:
            if trusted:
                yield entry
            else:
                yield Fault(path=path, at_byte=at, reason="an entry behind a broken one", torn=False, entry=entry)
            at = end
            continue
        following = end if entry_at(data, end)[0] is not None else next_entry(data, at + 1)
        torn = newest and following is None
        yield Fault(path=path, at_byte=at, reason=problem, torn=torn, entry=hint(data[at + HEAD.size : end]))
        if following is None:
            return
        trusted = trusted and following == end
        at = following


def entry_at(data: bytes, at: int) -> tuple[Entry | None, int, str]:
    """The entry that begins here (null: none does), where it ends by its own account, and what is wrong with it."""
    if len(data) - at < HEAD.size:
        return None, len(data), "the head of an entry is cut off"
    size, checksum = HEAD.unpack_from(data, at)
    end = at + HEAD.size + size
    if size > LARGEST_ENTRY_BYTES or end > len(data):
        return None, len(data), "an entry is cut off"
    rest = data[at + HEAD.size : end]
    if crc32c(rest) != checksum:
        return None, end, "the checksum of an entry is wrong"
    try:
        return decode_entry(rest), end, ""
    except ValueError as strange:
        return None, end, str(strange)


def next_entry(data: bytes, at: int) -> int | None:
    """Where the next good entry begins, at this byte or behind it."""
    smallest = NAME.size + NUMBERS.size
    for start in range(at, len(data) - HEAD.size - smallest + 1):
        size = HEAD.unpack_from(data, start)[0]
        if smallest <= size <= len(data) - start - HEAD.size and entry_at(data, start)[0] is not None:
            return start
    return None


def hint(rest: bytes) -> Entry | None:
    """Whose entry a broken one seems to be."""
    try:
        return decode_entry(rest)
    except ValueError:
        return None


@dataclass(slots=True)
class Journal:
    """The files of one broker. One thread appends.

    `roll_bytes`: a file of that size is closed and a new one begun. `size`: bytes of the present file that are good.
    """

    folder: Path
    roll_bytes: int = 64 * 2**20
    number: int = 0
    size: int = 0
    _file: int | None = None
    _overhang: bool = False

    def file_of(self, number: int) -> Path:
        return self.folder / f"{number:020d}.log"

    def append(self, batch: bytes) -> int:
        """Make a batch of entries durable; the number of the file it is in. Raises OSError, and then nothing was
        appended.
        """
        if self._overhang:
            self._cut_back()
        if self._file is None or self.size >= self.roll_bytes:
            self._begin()
        assert self._file is not None
        try:
            self._overhang = True
            view = memoryview(batch)
            while view:
                view = view[os.write(self._file, view) :]
            os.fdatasync(self._file)
        except OSError:
            with contextlib.suppress(OSError):  # tried again before the next batch
                self._cut_back()
            raise
        self._overhang = False
        self.size += len(batch)
        return self.number

    def _begin(self) -> None:
        """A new file, which is in its folder before anything is in it."""
        self.close()
        self.folder.mkdir(parents=True, exist_ok=True)
        number = max(self.number, *(n for n, _ in files_of(self.folder)), 0) + 1
        handle = os.open(self.file_of(number), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        try:
            flush_folder(self.folder)
        except OSError:
            os.close(handle)
            raise
        self._file, self.number, self.size = handle, number, 0

    def _cut_back(self) -> None:
        """Remove what a failed batch left behind the last good entry."""
        assert self._file is not None
        os.ftruncate(self._file, self.size)
        os.fdatasync(self._file)
        self._overhang = False

    def close(self) -> None:
        """Let go of the file, without what a failed batch left behind."""
        if self._file is None:
            return
        with contextlib.suppress(OSError):
            if self._overhang:
                self._cut_back()
        with contextlib.suppress(OSError):
            os.close(self._file)
        self._file = None


def files_of(folder: Path) -> list[tuple[int, Path]]:
    """Numbers and paths of journal files, oldest first, those set aside among them."""
    if not folder.is_dir():
        return []
    found = []
    for path in folder.iterdir():
        name = files.name_before(path) or path.name
        if name.endswith(".log") and name.removesuffix(".log").isdecimal():
            found.append((int(name.removesuffix(".log")), path))
    return sorted(found)


def cut_torn_end(fault: Fault) -> None:
    """Drop a torn end for good, so that it is not met again when the file is no longer the newest."""
    with fault.path.open("r+b") as file:
        file.truncate(fault.at_byte)
        os.fdatasync(file.fileno())
