"""A disk that refuses: system calls of the process fail while a test says so; or a place where no folder can be made."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock


def refused(*_: Any, **__: Any) -> int:
    raise OSError(errno.EIO, "the disk refuses")


@contextlib.contextmanager
def refusing(*calls: str) -> Iterator[None]:
    """Within this block these functions of `os` fail; the disk is as it was before them."""
    with contextlib.ExitStack() as stack:
        for call in calls:
            stack.enter_context(mock.patch.object(os, call, refused))
        yield


@contextlib.contextmanager
def full_after(room_bytes: int) -> Iterator[None]:
    """Within this block `os.write` has room for so many bytes; what does not fit is written in part, then refused."""
    left = room_bytes
    write = os.write

    def short(handle: int, data: Any) -> int:
        nonlocal left
        if left <= 0:
            raise OSError(errno.ENOSPC, "no room")
        done = write(handle, memoryview(data)[:left])
        left -= done
        return done

    with mock.patch.object(os, "write", short):
        yield


@contextlib.contextmanager
def obstructed(folder: Path) -> Iterator[None]:
    """Within this block a file stands where a folder is to be, for every process."""
    folder.touch()
    try:
        yield
    finally:
        folder.unlink()
