"""Files that are whole or not there: write aside, flush, rename, flush the folder.

Rules: the temporary name is unique and in the same folder, so that two writers cannot share one and a rename is atomic; it
begins with a dot and ends in `.tmp`, so that a clean-up can tell it. An error leaves the old file as it was and no temporary
one.
Errors: OSError of the step that failed.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

TEMPORARY = ".tmp"


def temporary_name(path: Path) -> Path:
    return path.with_name(f".{path.name[:60]}.{secrets.token_hex(8)}{TEMPORARY}")


def write_whole(path: Path, data: bytes, *, flush: bool = True) -> None:
    """Replace a file, durably; with `flush` off the caller flushes the folder."""
    aside = temporary_name(path)
    try:
        with aside.open("xb", buffering=0) as file:
            file.write(data)
            os.fdatasync(file.fileno())
        aside.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)
        raise
    if flush:
        flush_folder(path.parent)


def remove(path: Path) -> None:
    """Remove a file durably; one that is not there is removed already."""
    path.unlink(missing_ok=True)
    flush_folder(path.parent)


def flush_folder(folder: Path) -> None:
    """Make renames and removals in a folder durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
