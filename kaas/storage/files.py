"""Files that are whole or not there: write aside, flush, rename, flush the folder.

Job: replace files, set them aside, keep others out.
Rules: the temporary name is unique and in the same folder, so that two writers cannot share one and a rename is
atomic; it begins with a dot and ends in `.tmp`, so that a clean-up can tell it. An error leaves the old file as it
was and no temporary one. A file that cannot be understood is renamed, never removed or overwritten:
`<name>.corrupt`, `.corrupt-2` and so on. Errors: OSError of the step that failed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path

TEMPORARY = ".tmp"
CORRUPT = ".corrupt"

_SET_ASIDE = re.compile(r"(.*)\.corrupt(-[0-9]+)?", re.DOTALL)


def temporary_name(path: Path) -> Path:
    return path.with_name(f".{path.name[:60]}.{secrets.token_hex(8)}{TEMPORARY}")


def write_whole(path: Path, data: bytes, *, flush: bool = True) -> None:
    """Replace a file, durably; with `flush` off the caller flushes the folder."""
    aside = temporary_name(path)
    try:
        with aside.open("xb") as file:
            file.write(data)
            file.flush()
            os.fdatasync(file.fileno())
        aside.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)
        raise
    if flush:
        flush_folder(path.parent)


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
