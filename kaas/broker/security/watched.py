"""A file on the volume that is taken anew when it changes.

Job: read it at the start, look whether it is another one, give what it holds.
Rules: a file that cannot be read ends the start, as a protection that silently is not there would be worse. While the broker
runs, a file that is broken or gone changes nothing: what was read last stays in force, and that is said once. Looking is file
work and belongs in a thread; what was read is replaced as a whole, so that any thread may use it.
Must not know: what the file holds.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

import msgspec
import structlog

T = TypeVar("T")

log = structlog.get_logger("kaas.broker.security")

Mark = tuple[int, int, int]
"""What tells one state of a file from another: inode, size, time of the last change in ns."""


class BadFile(Exception):
    """The file is there and cannot be understood."""


def decoded(data: bytes, type: type[T]) -> T:
    """JSON as a struct. Raises ValueError."""
    try:
        return msgspec.json.decode(data, type=type)
    except msgspec.DecodeError as problem:
        raise ValueError(str(problem)) from None


class Watched(Generic[T]):
    """`value` is what the file held when it could last be read; `absent` if it was never there.

    `parse` makes it of the bytes and raises ValueError.
    """

    def __init__(self, path: Path, parse: Callable[[bytes], T], absent: T) -> None:
        self.path = path
        self.value = absent
        self._parse = parse
        self._mark: Mark | None = None

    def load(self) -> None:
        """Read it for the first time. Raises BadFile, OSError."""
        mark = self._look()
        if mark is None:
            return
        try:
            self.value = self._parse(self.path.read_bytes())
        except ValueError as problem:
            raise BadFile(f"{self.path}: {problem}") from None
        self._mark = mark

    def refresh(self) -> bool:
        """Read it again if it is another one; whether `value` is new. Never raises."""
        try:
            mark = self._look()
            if mark == self._mark:
                return False
            before, self._mark = self._mark, mark
            if mark is None:
                log.warning("a file is gone; what it said stays in force", file=str(self.path))
                return False
            self.value = self._parse(self.path.read_bytes())
        except (OSError, ValueError) as problem:
            log.error(
                "a file cannot be read; what it said before stays in force", file=str(self.path), reason=str(problem)
            )
            return False
        log.info("a file was taken anew" if before else "a file was taken", file=str(self.path))
        return True

    def _look(self) -> Mark | None:
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns
