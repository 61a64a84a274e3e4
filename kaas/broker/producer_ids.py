"""Ids of idempotent producers, never given twice.

Job: give the next id, from a block that was reserved on disk before.
Rules:
- A block is durable before its first id is given, so that no restart gives an id again; what is left of a block at a
  stop is lost, which is cheap.
- The upper bits of an id are the broker's number, so that brokers need not ask each other.
- Reserving is file work: it runs in a thread, and those who ask meanwhile wait for it.
Must not know: requests, transactions.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import msgspec

from kaas.errors import ErrorCode, KafkaError
from kaas.storage.files import write_whole
from kaas.storage.log.files import storage_errors

BLOCK_SIZE = 1_000

_BROKER_BITS_AT = 40

Done = Callable[[int | KafkaError], None]


class Runs(Protocol):
    """Runs a function in a thread and gives its result, or the KafkaError in its place, to `done` in the loop."""

    def __call__(self, function: Callable[[], int], done: Done) -> None: ...


class StoredBlock(msgspec.Struct, frozen=True, kw_only=True):
    """The file: the first number that was not reserved yet."""

    next_number: int


class ProducerIds:
    """The ids of one broker. Used from the event loop only; `runs` takes the file work away from it."""

    def __init__(self, path: Path, broker_id: int, runs: Runs) -> None:
        self._path = path
        self._base = broker_id << _BROKER_BITS_AT
        self._runs = runs
        self._next = self._end = 0
        self._waiting: deque[Done] = deque()

    def give(self, done: Done) -> None:
        """Calls `done` with a new id, or with KafkaError KAFKA_STORAGE_ERROR when no block can be reserved."""
        if self._next < self._end:
            self._next += 1
            done(self._base | (self._next - 1))
            return
        self._waiting.append(done)
        if len(self._waiting) == 1:
            self._runs(self._reserve, self._reserved)

    def _reserve(self) -> int:
        """Reserves the next block on disk: its first number. In a thread."""
        with storage_errors():
            first = self._stored()
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self._path, msgspec.json.encode(StoredBlock(next_number=first + BLOCK_SIZE)))
        return first

    def _stored(self) -> int:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=StoredBlock).next_number
        except FileNotFoundError:
            return 0
        except msgspec.DecodeError as error:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self._path} cannot be read: {error}") from error

    def _reserved(self, result: int | KafkaError) -> None:
        waiting, self._waiting = self._waiting, deque()
        if isinstance(result, KafkaError):
            for done in waiting:
                done(result)
            return
        self._next, self._end = result, result + BLOCK_SIZE
        for done in waiting:
            self.give(done)
