"""What the console keeps in the data folder beside the database: the secret key, and where the embedded Valkey listens.

Job: paths and the one secret, so that every process of the product comes to the same ones.
Rules: the key is made once, readable by its owner only; two processes that start at once end up with the same key.
Must not know: Django.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import tempfile
from pathlib import Path

SOCKET_PATH_LIMIT = 100
"""Bytes that a unix socket's path may have on every system we run on (Linux takes 107, macOS 103)."""

_KEY_BYTES = 50


def secret_key(data: Path) -> str:
    """The key in `<data>/secret_key`, made at the first call.

    Raises OSError when the folder cannot be written.
    """
    data.mkdir(parents=True, exist_ok=True)
    path = data / "secret_key"
    if not path.exists():
        _make_key(path)
    return path.read_text().strip()


def _make_key(path: Path) -> None:
    # The whole file appears under its name at once, and only if nobody was first: a reader never sees half a key.
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".secret_key-")
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(_KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(name, path)
        except FileExistsError:
            return
    finally:
        Path(name).unlink()


def valkey_socket(data: Path) -> Path:
    """The embedded Valkey's unix socket: in the data folder when its path is short enough, else in the temp folder.

    The path in the temp folder is the same for each process of this user and this data folder, and its folder is made
    here for this user alone.
    Raises PermissionError when somebody else holds a folder of that name.
    """
    path = data.resolve() / "valkey.sock"
    if len(os.fsencode(path)) <= SOCKET_PATH_LIMIT:
        return path
    digest = hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
    folder = Path(tempfile.gettempdir()) / f"kaas-{os.getuid()}-{digest}"
    folder.mkdir(mode=0o700, exist_ok=True)
    held = folder.lstat()
    if held.st_uid != os.getuid() or not stat.S_ISDIR(held.st_mode) or held.st_mode & 0o077:
        raise PermissionError(f"{folder} is not a folder of this user alone: remove it or set REDIS_URL")
    return folder / "valkey.sock"


def redis_url(data: Path, given: str) -> str:
    """The URL of the Redis server for redis-py and Channels: the given one, or that of the embedded Valkey."""
    return given or f"unix://{valkey_socket(data)}"


def celery_broker_url(url: str) -> str:
    """The same server as Celery names it: kombu knows unix sockets under a scheme of its own."""
    return url.replace("unix://", "redis+socket://", 1)
