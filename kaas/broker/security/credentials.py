"""The file of users: names with their SCRAM keys, never a password.

Job: read and change it; find a user's keys.
Rules: it is written whole, by one command at a time, readable for its owner alone. A name may hold every character but control
characters. A user has keys for every mechanism, so that a listener may offer any of them.
Must not know: exchanges, connections.
Shape: {"version": 1, "users": {"alice": {"SCRAM-SHA-256": {"salt": …, "iterations": …, "stored_key": …, "server_key": …}, …}}},
bytes as base64.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from kaas.broker.security.scram import HASHES, ITERATIONS, SALT_BYTES, Keys, make_keys
from kaas.broker.security.watched import decoded
from kaas.storage.files import write_whole

FILE_NAME = "users.json"
OWNER_ONLY = 0o077

Users = Mapping[str, Mapping[str, Keys]]
"""Keys by user and mechanism."""


class BadUser(Exception):
    """A user who cannot be added, or who is not there."""


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """The file."""

    version: int = 1
    users: dict[str, dict[str, Keys]] = {}


def parse(data: bytes) -> Users:
    """The users in a file. Raises ValueError."""
    users = decoded(data, Stored).users
    for name, keys in users.items():
        if missing := HASHES.keys() - keys.keys():
            raise ValueError(f"user {name!r} has no keys for {' and '.join(sorted(missing))}")
    return users


def finder(users: Callable[[], Users], mechanism: str) -> Callable[[str], Keys | None]:
    """Finds keys of a name under a mechanism among the users as they are then."""

    def find(name: str) -> Keys | None:
        keys = users().get(name)
        return None if keys is None else keys[mechanism]

    return find


@contextlib.contextmanager
def changing(path: Path) -> Iterator[dict[str, dict[str, Keys]]]:
    """The users of a file, to be changed; they are written when the block ends well. Raises ValueError, OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        users = read(path)
        yield users
        mask = os.umask(OWNER_ONLY)
        try:
            write_whole(path, msgspec.json.format(msgspec.json.encode(Stored(users=users)), indent=1))
        finally:
            os.umask(mask)
    finally:
        os.close(folder)


def read(path: Path) -> dict[str, dict[str, Keys]]:
    """The users of a file; none if there is no file. Raises ValueError, OSError."""
    try:
        return {name: dict(keys) for name, keys in parse(path.read_bytes()).items()}
    except FileNotFoundError:
        return {}


def add(path: Path, name: str, password: str, iterations: int = ITERATIONS) -> None:
    """Raises BadUser, ValueError, OSError."""
    _check(name, password)
    with changing(path) as users:
        if name in users:
            raise BadUser(f"there is a user {name!r} already")
        users[name] = keys_of(password, iterations)


def set_password(path: Path, name: str, password: str, iterations: int = ITERATIONS) -> None:
    """Raises BadUser, ValueError, OSError."""
    _check(name, password)
    with changing(path) as users:
        if name not in users:
            raise BadUser(f"there is no user {name!r}")
        users[name] = keys_of(password, iterations)


def remove(path: Path, name: str) -> None:
    """Raises BadUser, ValueError, OSError."""
    with changing(path) as users:
        if users.pop(name, None) is None:
            raise BadUser(f"there is no user {name!r}")


def keys_of(password: str, iterations: int = ITERATIONS) -> dict[str, Keys]:
    """Keys for every mechanism, each with a salt of its own."""
    return {
        mechanism: make_keys(mechanism, password, salt=secrets.token_bytes(SALT_BYTES), iterations=iterations)
        for mechanism in HASHES
    }


def _check(name: str, password: str) -> None:
    if not name or not name.isprintable():
        raise BadUser(f"{name!r} cannot be a user's name")
    if not password or "\0" in password:
        raise BadUser("the password is empty or holds a zero character")
