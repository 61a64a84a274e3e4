"""The journal: every durable change of a group, appended to this broker's own files.

Job: the format of an entry, appending batches, reading files back, dropping files that are no longer needed.
Shape: `<data>/__cluster/__journal/<broker id>/<n>.log`, n in 20 digits. An entry is length (u32), CRC-32C (u32), and so many
bytes: group id (u16 length, UTF-8), coordinator epoch (i64), version (i64), body. All big-endian; the CRC covers what follows
it.
Rules
- What is acknowledged has been written and flushed. A batch that cannot be is cut off again, so that the file ends after the
  last good entry; if even that fails the file is left and a new one begun.
- A torn entry at the end of the newest file was never acknowledged and is cut off. A bad entry anywhere else is corruption:
  the file is set aside under a name that says so (it is still read, but never dropped by itself), and the fault is reported.
- A broker begins a new file at each start, so that a file is never appended to by two processes.
Must not know: threads (kaas.storage.journal_writer), what a body means.
"""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from crc32c import crc32c

from kaas.storage.files import flush_folder

HEAD = struct.Struct(">II")
NUMBERS = struct.Struct(">qq")
NAME = struct.Struct(">H")
LARGEST_ENTRY_BYTES = 256 * 2**20
CORRUPT = ".corrupt"


@dataclass(frozen=True, slots=True)
class Entry:
    """One change of one group."""

    group_id: str
    epoch: int
    version: int
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Something that could not be read. `torn`: the end of the newest file, which nobody was told of. `entry` is what the
    broken entry seems to be, if that much can be read."""

    path: Path
    at_byte: int
    reason: str
    torn: bool
    entry: Entry | None = None


def encode_entry(group_id: str, epoch: int, version: int, body: bytes) -> bytes:
    name = group_id.encode("utf-8", "surrogatepass")
    rest = NAME.pack(len(name)) + name + NUMBERS.pack(epoch, version) + body
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

    After an entry whose checksum is wrong reading goes on where it says that it ends, if a good entry begins there; otherwise
    nothing that follows can be trusted, and the fault is the last item. `newest`: the file may end in a torn entry.
    """
    data = path.read_bytes()
    at = 0
    while at < len(data):
        problem, end = fault_at(data, at)
        rest = data[at + HEAD.size : end]
        if not problem:
            try:
                yield decode_entry(rest)
                at = end
                continue
            except ValueError as strange:
                problem = str(strange)
        goes_on = end < len(data) and not fault_at(data, end)[0]
        yield Fault(path=path, at_byte=at, reason=problem, torn=newest and not goes_on, entry=hint(rest))
        if not goes_on:
            return
        at = end


def fault_at(data: bytes, at: int) -> tuple[str, int]:
    """What is wrong with the entry that begins here (empty: nothing), and where it ends by its own account."""
    if len(data) - at < HEAD.size:
        return "the head of an entry is cut off", len(data)
    size, checksum = HEAD.unpack_from(data, at)
    end = at + HEAD.size + size
    if size > LARGEST_ENTRY_BYTES or end > len(data):
        return "an entry is cut off", len(data)
    if crc32c(data[at + HEAD.size : end]) != checksum:
        return "the checksum of an entry is wrong", end
    return "", end


def hint(rest: bytes) -> Entry | None:
    """Whose entry a broken one seems to be."""
    try:
        return decode_entry(rest)
    except ValueError:
        return None


@dataclass(slots=True)
class Journal:
    """The files of one broker. One thread appends.

    `roll_bytes`: a file of that size is closed and a new one begun.
    """

    folder: Path
    roll_bytes: int = 64 * 2**20
    number: int = 0
    size: int = 0
    _file: int | None = None
    _folder_made: bool = field(default=False)

    @property
    def path(self) -> Path:
        """The file that is appended to."""
        return self.file_of(self.number)

    def file_of(self, number: int) -> Path:
        return self.folder / f"{number:020d}.log"

    def append(self, batch: bytes) -> int:
        """Make a batch of entries durable; the number of the file it is in. Raises OSError, and then nothing was appended."""
        if self._file is None or self.size >= self.roll_bytes:
            self._begin()
        assert self._file is not None
        try:
            view = memoryview(batch)
            while view:
                view = view[os.write(self._file, view) :]
            os.fdatasync(self._file)
        except OSError:
            self._cut_back()
            raise
        self.size += len(batch)
        return self.number

    def _begin(self) -> None:
        """A new file, which is in its folder before anything is in it."""
        self.close()
        self.folder.mkdir(parents=True, exist_ok=True)
        number = max(self.number, *(n for n, _ in files_of(self.folder)), 0) + 1 if self.folder.exists() else 1
        handle = os.open(self.file_of(number), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        try:
            flush_folder(self.folder)
        except OSError:
            os.close(handle)
            raise
        self._file, self.number, self.size = handle, number, 0

    def _cut_back(self) -> None:
        """Remove half a batch; when the disk refuses that too, leave the file and begin a new one next time."""
        assert self._file is not None
        try:
            os.ftruncate(self._file, self.size)
            os.fdatasync(self._file)
        except OSError:
            self.close()

    def close(self) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):
                os.close(self._file)
            self._file = None


def files_of(folder: Path) -> list[tuple[int, Path]]:
    """Numbers and paths of journal files, oldest first, those set aside among them."""
    if not folder.is_dir():
        return []
    found = []
    for path in folder.iterdir():
        stem = path.name.removesuffix(CORRUPT).removesuffix(".log")
        if stem.isdigit():
            found.append((int(stem), path))
    return sorted(found)


def cut_torn_end(fault: Fault) -> None:
    """Drop a torn end for good, so that it is not met again when the file is no longer the newest."""
    with fault.path.open("r+b") as file:
        file.truncate(fault.at_byte)
        os.fdatasync(file.fileno())


def set_aside(path: Path) -> Path:
    """Rename a corrupt file so that it says so; where it went. One that was set aside before stays where it is."""
    if path.name.endswith(CORRUPT):
        return path
    aside = path.with_name(path.name + CORRUPT)
    path.rename(aside)
    flush_folder(path.parent)
    return aside
