"""Files of the logs: few open at once, read at a place by any thread, written at a place by one.

Job: open a file when it is needed, keep the most used ones open, close the rest.
Rules:
- An open file is closed when the last user lets go of it, so a reader never sees its descriptor become another file.
- A `StoredFile` is one file, not one path: when another file has come to its path (compaction does that, and a topic
  that was deleted and made again), it raises FileNotFoundError instead of reading bytes that it does not know. The
  inode tells files apart, but a file system gives the number of one that is gone to the next one, so whoever removes
  or replaces a file says so (`retire`).
- A write is whole or raises.
Must not know: segments, batches.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from kaas.errors import ErrorCode, KafkaError
from kaas.storage.files import flush_folder

OPEN_FILES = 512

_BUFFERS_PER_WRITE = 512  # Linux takes 1,024 at once


class Handle:
    """An open descriptor, closed with its last reference."""

    __slots__ = ("descriptor", "writable")

    def __init__(self, path: str, *, writable: bool, create: bool) -> None:
        flags = (os.O_RDWR if writable else os.O_RDONLY) | (os.O_CREAT if create else 0)
        self.descriptor = os.open(path, flags | os.O_CLOEXEC, 0o644)
        self.writable = writable

    def __del__(self) -> None:
        if hasattr(self, "descriptor"):  # the open may have failed
            os.close(self.descriptor)


class OpenFiles:
    """The files that are open now: at most `limit`, the least recently used ones are let go first.

    Any thread may use it. The lock is held for moves in a dictionary only, never for work on a file.
    """

    def __init__(self, limit: int = OPEN_FILES) -> None:
        self._limit = limit
        self._handles: OrderedDict[StoredFile, Handle] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._handles)

    def get(self, file: StoredFile) -> Handle | None:
        with self._lock:
            handle = self._handles.get(file)
            if handle is not None:
                self._handles.move_to_end(file)
            return handle

    def put(self, file: StoredFile, handle: Handle) -> None:
        released = []  # closed after the lock is free
        with self._lock:
            released.append(self._handles.pop(file, None))
            self._handles[file] = handle
            while len(self._handles) > self._limit:
                released.append(self._handles.popitem(last=False)[1])

    def drop(self, file: StoredFile) -> None:
        with self._lock:
            handle = self._handles.pop(file, None)
        del handle


class StoredFile:
    """One file of a log. `inode` is 0 until the first write makes the file. `gone` once it was removed or replaced.

    Raises: OSError from each method that works on the file; FileNotFoundError when the file is gone or replaced.
    """

    __slots__ = ("_moving", "_open_files", "gone", "inode", "path")

    def __init__(self, open_files: OpenFiles, path: str, inode: int = 0) -> None:
        self._open_files = open_files
        self._moving: Handle | None = None
        self.gone = False
        self.path = path
        self.inode = inode

    def read(self, size: int, position: int) -> bytes:
        """At most `size` bytes from a position on; fewer only at the end of the file."""
        handle = self._handle(writable=False)  # held while it is used: it may be dropped by others meanwhile
        return os.pread(handle.descriptor, size, position)

    def write(self, buffers: Sequence[bytes | bytearray | memoryview], position: int) -> None:
        """Writes all buffers, one after another, from a position on; makes the file when there is none."""
        handle = self._handle(writable=True)
        for first in range(0, len(buffers), _BUFFERS_PER_WRITE):
            part = buffers[first : first + _BUFFERS_PER_WRITE]
            size = sum(map(len, part))
            written = os.pwritev(handle.descriptor, part, position)
            while written < size:  # a disk that is nearly full takes a part
                written += os.pwrite(handle.descriptor, b"".join(part)[written:], position + written)
            position += size

    def truncate(self, size: int) -> None:
        handle = self._handle(writable=True)
        os.ftruncate(handle.descriptor, size)

    def sync(self) -> None:
        """Returns when the bytes written so far are on the disk."""
        handle = self._handle(writable=False)
        os.fdatasync(handle.descriptor)

    def sync_name(self) -> None:
        """Returns when the file's name, and that of its folder, are on the disk."""
        folder = Path(self.path).parent
        flush_folder(folder)
        flush_folder(folder.parent)

    def close(self) -> None:
        """Lets the open file go; the next use opens it again."""
        self._open_files.drop(self)

    def retire(self) -> None:
        """Says that the file is about to go, or that another one takes its place; no use opens it again."""
        self.gone = True
        self.close()

    def remove(self) -> None:
        """Removes the file. Whoever reads it at this moment reads on."""
        self.retire()
        Path(self.path).unlink(missing_ok=True)

    def move(self, path: str) -> None:
        """Puts the file in the place of whatever is at `path`. Readers go on meanwhile."""
        self._moving = self._handle(writable=False)
        try:
            Path(self.path).replace(path)
            self.path = path
        finally:
            self._moving = None

    def beside(self, suffix: str) -> StoredFile:
        """The file of the same name and another suffix."""
        return StoredFile(self._open_files, str(Path(self.path).with_suffix(suffix)))

    def _handle(self, *, writable: bool) -> Handle:
        while True:
            path, handle = self.path, self._moving or self._open_files.get(self)
            if handle is not None and (handle.writable or not writable):
                return handle
            try:
                return self._open(path, writable=writable)
            except FileNotFoundError:
                if self._moving is None and self.path == path:
                    raise

    def _open(self, path: str, *, writable: bool) -> Handle:
        handle = Handle(path, writable=writable, create=writable and self.inode == 0)
        inode = os.fstat(handle.descriptor).st_ino
        if self.gone or self.inode not in (0, inode):
            raise FileNotFoundError(f"{path} is another file now")
        self.inode = inode
        self._open_files.put(self, handle)
        return handle


def storage_error(error: OSError) -> KafkaError:
    """The answer to a client whose request met an error of the disk."""
    return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"the disk refused: {error}")


@contextmanager
def storage_errors() -> Iterator[None]:
    """Inside, an error of the disk is raised as what a client is answered with."""
    try:
        yield
    except OSError as error:
        raise storage_error(error) from error
