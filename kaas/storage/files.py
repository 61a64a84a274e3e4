"""Files that are whole or not there: write aside, flush, rename, flush the folder.

Job: replace files, set them aside, keep others out.
Rules: the temporary name is unique and in the same folder, so that two writers cannot share one and a rename is
atomic; it begins with a dot and ends in `.tmp`, so that a clean-up can tell it. An error leaves the old file as it
was and no temporary one. A file that cannot be understood is renamed, never removed or overwritten:
`<name>.corrupt`, `.corrupt-2` and so on. Errors: OSError of the step that failed. Hundreds of small files a second go
through here: so files are read and written by as few calls as can be, not by file objects.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path

CLUSTER_FOLDER = "__cluster"
"""Where, in a data folder, everything stands that is not a topic."""
TEMPORARY = ".tmp"
CORRUPT = ".corrupt"

READ_BYTES = 64 * 2**10

_OWN = secrets.token_hex(8)
"""Tells the temporary files of this process from those of others."""
_NUMBERS = itertools.count()

_SET_ASIDE = re.compile(r"(.*)\.corrupt(-[0-9]+)?", re.DOTALL)


def temporary_name(path: Path) -> Path:
    return path.with_name(f".{path.name[:60]}.{_OWN}{next(_NUMBERS):x}{TEMPORARY}")


class Aside:
    """New content of a file, written beside it but not in its place yet.

    Of many files all are written before the first is flushed, and all flushed before the first is put in place: so the file
    system makes them durable together, which costs a quarter less. What fails leaves nothing aside.
    """

    __slots__ = ("_handle", "_name", "path")

    def __init__(self, path: Path, data: bytes) -> None:
        self.path = path
        self._name = temporary_name(path)
        self._handle = os.open(self._name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(self._handle, view) :]
        except BaseException:
            os.close(self._handle)
            self._remove()
            raise

    def flush(self) -> None:
        """Wait until the content is durable."""
        try:
            os.fdatasync(self._handle)
        except BaseException:
            self._remove()
            raise
        finally:
            os.close(self._handle)

    def put(self) -> None:
        """Replace the file, once that is flushed; durable when its folder is flushed."""
        try:
            self._name.replace(self.path)
        except BaseException:
            self._remove()
            raise

    def _remove(self) -> None:
        with contextlib.suppress(OSError):
            self._name.unlink()


def write_whole(path: Path, data: bytes) -> None:
    """Replace a file, durably."""
    aside = Aside(path, data)
    aside.flush()
    aside.put()
    flush_folder(path.parent)


def read_whole(path: Path) -> bytes:
    """All of a small file."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = os.read(handle, READ_BYTES)
        if len(data) < READ_BYTES:  # a file on a disk gives all that it has at once
            return data
        parts = [data]
        while data := os.read(handle, READ_BYTES):
            parts.append(data)
        return b"".join(parts)
    finally:
        os.close(handle)


def set_aside(path: Path) -> Path:
    """Rename a file so that its name says that it is corrupt; where it went."""
    aside, count = path.with_name(path.name + CORRUPT), 1
    while aside.exists():
        count += 1
        aside = path.with_name(f"{path.name}{CORRUPT}-{count}")
    path.rename(aside)
    flush_folder(path.parent)
    return aside


def name_before(path: Path) -> str | None:
    """The name that a file had before it was set aside; null if it was not."""
    found = _SET_ASIDE.fullmatch(path.name)
    return None if found is None else found[1]


@contextlib.contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Waits until nobody else, in this process or another, is inside with this lock file. Raises OSError."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def broker_lock(cluster_folder: Path, broker: int | str) -> Path:
    """The file that a broker holds a lock on while it works on this volume."""
    return cluster_folder / f"broker-{broker}.lock"


def flush_folder(folder: Path) -> None:
    """Make renames and removals in a folder durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
