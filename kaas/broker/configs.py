"""Settings that were changed while the broker runs: of this broker, of all brokers, of groups.

Job: keep them in one JSON file on the volume, and put them in force.
Rules
- A change is in force, and is answered, when the file is on the disk; one that the disk refuses changes nothing.
- Changes come one after another, each decided on what the one before it left, so that none is lost.
- The file holds the texts that were set. A name or value that this version does not take is left in the file, said aloud at the
  start, and otherwise ignored. A file that cannot be read ends the start: it is never taken for "nothing was changed".
- File work runs in a thread.
Must not know: requests, what a setting changes.
Source: KIP-226 (dynamic broker settings).
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec
import structlog

from kaas.broker.settings import BadSetting, Settings
from kaas.broker.settings_table import Value, known
from kaas.errors import KafkaError
from kaas.storage.files import write_whole
from kaas.storage.log.files import storage_errors

FILE_NAME = "configs.json"
ALL_BROKERS = ""
"""The name under which settings of all brokers are changed."""

log = structlog.get_logger("kaas.broker.configs")

Texts = dict[str, str]
Changes = Mapping[str, str | None]
"""New texts by name; null takes a setting back."""
Done = Callable[[Any], None]
"""Gets a result, or the KafkaError that came in its place."""
Work = Callable[[Done], None]


class Runs(Protocol):
    """Runs a function in a thread and gives its result, or the KafkaError in its place, to `done` in the loop."""

    def __call__(self, function: Callable[[], Any], done: Done) -> None: ...


class BadConfigs(Exception):
    """The file is there and cannot be understood."""


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """The file. `brokers` is by broker id, with all brokers under the empty name; nothing else than what was set is in it."""

    version: int = 1
    brokers: dict[str, Texts] = {}
    groups: dict[str, Texts] = {}


class Configs:
    """What was changed. `in_force` is called after each change of a broker's settings. Used from the event loop only."""

    def __init__(self, path: Path, broker_id: int, settings: Settings, in_force: Callable[[], None]) -> None:
        self._path = path
        self._broker = str(broker_id)
        self._settings = settings
        self._in_force = in_force
        self._stored = Stored()
        self._turns: deque[tuple[Work, Done]] = deque()
        self._busy = self._going = False

    def load(self) -> None:
        """Bring back what was changed in earlier lives. Raises BadConfigs, OSError."""
        try:
            self._stored = msgspec.json.decode(self._path.read_bytes(), type=Stored)
        except FileNotFoundError:
            return
        except msgspec.DecodeError as problem:
            raise BadConfigs(f"{self._path}: {problem}; repair it, or remove it to change nothing") from None
        self._settings.change(self.values(self._broker), self.values(ALL_BROKERS))

    def broker(self, name: str) -> Mapping[str, str]:
        """What was changed for a broker, or for all."""
        return self._stored.brokers.get(name, {})

    def group(self, group_id: str) -> Mapping[str, str]:
        """What was set for a group."""
        return self._stored.groups.get(group_id, {})

    def groups(self) -> Mapping[str, Mapping[str, str]]:
        """What was set for every group for which something was."""
        return self._stored.groups

    def values(self, name: str) -> dict[str, Value]:
        """What was changed for a broker, or for all, save what this version does not take."""
        found = {}
        for setting, text in self.broker(name).items():
            try:
                found[setting] = known(setting).parse(text)
            except BadSetting as problem:
                log.warning("a changed setting is not taken", file=str(self._path), reason=str(problem))
        return found

    # Changes

    def take_turn(self, work: Work, done: Done) -> None:
        """Do some work that decides and changes when all that came before is done; `work` is given what to call at its end.

        A KafkaError that it raises is its result.
        """
        self._turns.append((work, done))
        self._go()

    def _go(self) -> None:
        """Begin what may begin. Work that ends at once does not recurse."""
        if self._going:
            return
        self._going = True
        try:
            while self._turns and not self._busy:
                self._busy = True
                work, done = self._turns.popleft()
                self._begin(work, functools.partial(self._finished, done))
        finally:
            self._going = False

    def _begin(self, work: Work, finished: Done) -> None:
        try:
            work(finished)
        except KafkaError as error:
            finished(error)

    def _finished(self, done: Done, result: Any) -> None:
        self._busy = False
        done(result)
        self._go()

    def change_broker(self, name: str, changes: Changes, runs: Runs, done: Done) -> None:
        """Change settings of a broker, or of all. In its turn (`take_turn`)."""
        stored = msgspec.structs.replace(self._stored, brokers=changed(self._stored.brokers, name, changes))
        self._write(stored, runs, done)

    def change_group(self, group_id: str, changes: Changes, runs: Runs, done: Done) -> None:
        """Change settings of a group. In its turn."""
        stored = msgspec.structs.replace(self._stored, groups=changed(self._stored.groups, group_id, changes))
        self._write(stored, runs, done)

    def _write(self, stored: Stored, runs: Runs, done: Done) -> None:
        def written(result: KafkaError | None) -> None:
            if result is None:
                self._stored = stored
                self._settings.change(self.values(self._broker), self.values(ALL_BROKERS))
                self._in_force()
            done(result)

        runs(functools.partial(self._put, stored), written)

    def _put(self, stored: Stored) -> None:
        """In a thread. Raises KafkaError KAFKA_STORAGE_ERROR."""
        with storage_errors():
            write_whole(self._path, msgspec.json.format(msgspec.json.encode(stored), indent=1))


def changed(all_texts: Mapping[str, Texts], name: str, changes: Changes) -> dict[str, Texts]:
    """All texts with changes to those of one name, which goes when nothing is left of it."""
    texts = {key: text for key, text in {**all_texts.get(name, {}), **changes}.items() if text is not None}
    others = {other: kept for other, kept in all_texts.items() if other != name}
    return {**others, name: texts} if texts else others
