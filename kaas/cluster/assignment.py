"""assignment.json: who the brokers are and what each of them owns, as the controller last wrote it.

Shape: `<data>/__cluster/assignment.json`; field names are camel case, as other readers of the volume expect them.
Rules: `order` says which of two is newer, the controllerEpoch before the version. It is written whole or not at all.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from kaas.storage.files import write_whole

FILE_NAME = "assignment.json"


class Listener(msgspec.Struct, frozen=True, kw_only=True):
    """An address by which clients reach a broker."""

    name: str
    host: str
    port: int


class BrokerEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`state`: alive, draining, dead. `last_seen`: ms since 1970."""

    id: int
    host: str
    listeners: tuple[Listener, ...]
    state: str
    last_seen: int


class PartitionEntry(msgspec.Struct, frozen=True, kw_only=True):
    """Who leads a partition, and since which epoch."""

    topic: str
    partition: int
    broker: int
    epoch: int


class GroupEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A group that stays with a broker whatever the hash says, while that broker is registered."""

    group_id: str
    broker: int
    epoch: int


class Assignment(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The whole file."""

    controller_epoch: int
    assignment_version: int
    generated_at: int
    controller: int
    cluster_id: str = ""
    brokers: tuple[BrokerEntry, ...] = ()
    partitions: tuple[PartitionEntry, ...] = ()
    consumer_groups: tuple[GroupEntry, ...] = ()

    @property
    def order(self) -> tuple[int, int]:
        """What decides which of two is newer."""
        return self.controller_epoch, self.assignment_version


class BadAssignment(Exception):
    """The file is there and cannot be understood."""


def read(cluster_folder: Path) -> Assignment | None:
    """The assignment on a volume; null when none was ever written. Raises BadAssignment."""
    path = cluster_folder / FILE_NAME
    try:
        return msgspec.json.decode(path.read_bytes(), type=Assignment)
    except FileNotFoundError:
        return None
    except (msgspec.DecodeError, ValueError) as problem:
        raise BadAssignment(f"{path.name}: {problem}; repair it, or remove it to begin anew") from None


def write(cluster_folder: Path, assignment: Assignment) -> None:
    """Raises OSError."""
    cluster_folder.mkdir(parents=True, exist_ok=True)
    write_whole(cluster_folder / FILE_NAME, msgspec.json.format(msgspec.json.encode(assignment), indent=1))
