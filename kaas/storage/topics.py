"""The topics of this broker: their names, ids, partitions and settings, and the logs of their partitions.

Job: create, grow, configure and delete topics so that a crash at any moment leaves each of them whole or absent.
Rules:
- A topic is a folder `<data>/topics/<name>` with a `topic.json`; its logs lie in folders named by partition number,
  which are made by the first batch. A new topic is built aside and renamed into place; a deleted one is renamed away
  first. `~` is not legal in a topic name, so what stands aside can never be taken for a topic.
- What changes topics works on files: it runs in the appender thread. Look-ups may run in any thread: the
  dictionaries are replaced, never changed.
- A folder whose `topic.json` cannot be read is left alone and reported; it is neither served nor overwritten.
Must not know: requests, other brokers.
Source: Apache Kafka 4.2 (names, limits, order of checks).
"""

from __future__ import annotations

import logging
import re
import shutil
import uuid
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec

from kaas.errors import ErrorCode, KafkaError
from kaas.storage.files import flush_folder, write_whole
from kaas.storage.log.config import LogConfig, log_config
from kaas.storage.log.files import storage_errors
from kaas.storage.log.partition import PartitionLog
from kaas.storage.log.settings import check_topic_settings, topic_values
from kaas.storage.log.writer import LogResources

logger = logging.getLogger(__name__)

TOPICS_FOLDER = "topics"
TOPIC_FILE = "topic.json"
MAX_NAME_LENGTH = 249
CLOSING_THREADS = 8
MAX_PARTITIONS = 10_000  # of one request in Apache; here of one topic

_LEGAL_NAME = re.compile(r"[a-zA-Z0-9._-]+")
_DELETED = "~deleted-"
_NEW = "~new-"


class StoredTopic(msgspec.Struct, frozen=True, kw_only=True):
    """What `topic.json` holds. `configs` are the settings that were set on the topic, nothing else."""

    name: str
    topic_id: uuid.UUID
    partitions: int
    internal: bool = False
    configs: dict[str, str] = {}


class Topic(msgspec.Struct, frozen=True, kw_only=True):
    """A topic that is served. `partitions[n]` is the log of partition n."""

    name: str
    topic_id: uuid.UUID
    internal: bool
    configs: Mapping[str, str]
    partitions: tuple[PartitionLog, ...]

    def partition(self, number: int) -> PartitionLog | None:
        """The log of a partition, if there is one of this number."""
        return self.partitions[number] if 0 <= number < len(self.partitions) else None


def check_topic_name(name: str) -> None:
    """Raises: KafkaError INVALID_TOPIC_EXCEPTION for a name that no topic may have."""
    if name in (".", "..") or len(name) > MAX_NAME_LENGTH or not _LEGAL_NAME.fullmatch(name):
        raise KafkaError(
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            f"Topic name is invalid: a name has 1 to {MAX_NAME_LENGTH} of the ASCII letters and digits, '.', '_' and '-', "
            "and is neither '.' nor '..'",
        )


class TopicRegistry:
    """All topics. `settings` are the broker's settings by Kafka's names; topics follow them where they set nothing.

    `changes` grows whenever a topic comes, goes or is another one than before.
    """

    def __init__(self, data: Path, settings: Mapping[str, Any], resources: LogResources) -> None:
        self._folder = data / TOPICS_FOLDER
        self._settings = settings
        self._resources = resources
        self.changes = 0
        self._topics: dict[str, Topic] = {}
        self._names: dict[uuid.UUID, str] = {}
        self._twins: dict[str, str] = {}
        self._configs: dict[tuple[tuple[str, str], ...], LogConfig] = {}

    # Look-ups, for any thread

    def __iter__(self) -> Iterator[Topic]:
        return iter(self._topics.values())

    def __len__(self) -> int:
        return len(self._topics)

    def get(self, name: str) -> Topic | None:
        return self._topics.get(name)

    def by_id(self, topic_id: uuid.UUID) -> Topic | None:
        return self._topics.get(self._names.get(topic_id, ""))

    def partition(self, name: str, number: int) -> PartitionLog | None:
        """The log of a partition, if there is one."""
        topic = self._topics.get(name)
        return None if topic is None else topic.partition(number)

    def logs(self) -> Iterator[PartitionLog]:
        """Every log."""
        for topic in self:
            yield from topic.partitions

    def values(self, topic: Topic) -> dict[str, str]:
        """The value of every setting of a topic, its own or the one that follows from the broker's."""
        return topic_values(topic.configs, self._settings)

    # Checks, for any thread

    def check_new(self, name: str, partitions: int, configs: Mapping[str, str | None]) -> dict[str, str]:
        """The settings of a new topic in the form in which they are stored.

        Raises: KafkaError INVALID_TOPIC_EXCEPTION (the name, or one that differs in '.' and '_' only),
        TOPIC_ALREADY_EXISTS, INVALID_CONFIG, INVALID_PARTITIONS, POLICY_VIOLATION (too many partitions).
        """
        check_topic_name(name)
        if name in self._topics:
            raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        twin = self._twins.get(_folded(name))
        if twin is not None:
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with existing topic: {twin}")
        checked = check_topic_settings(configs)
        if partitions <= 0:
            raise KafkaError(ErrorCode.INVALID_PARTITIONS, "Number of partitions must be larger than 0.")
        _check_count(partitions)
        return checked

    def check_growth(self, name: str, partitions: int) -> Topic:
        """The topic that may grow to a number of partitions.

        Raises: KafkaError UNKNOWN_TOPIC_OR_PARTITION, INVALID_PARTITIONS, POLICY_VIOLATION.
        """
        topic = self._known(name)
        present = len(topic.partitions)
        if partitions <= present:
            raise KafkaError(
                ErrorCode.INVALID_PARTITIONS, f"The topic {name} has {present} partition(s); {partitions} is no growth."
            )
        _check_count(partitions)
        return topic

    def check_configs(self, name: str, changes: Mapping[str, str | None]) -> dict[str, str]:
        """The settings of a topic after changes, of which null takes a setting back.

        Raises: KafkaError UNKNOWN_TOPIC_OR_PARTITION, INVALID_CONFIG.
        """
        merged = {**self._known(name).configs, **changes}
        return check_topic_settings({setting: value for setting, value in merged.items() if value is not None})

    # Changes, for the appender thread

    def load(self, now_ms: int) -> None:
        """Serves what the folder holds, and removes what was left half done. Raises: KafkaError KAFKA_STORAGE_ERROR."""
        found = []
        with storage_errors():
            self._folder.mkdir(parents=True, exist_ok=True)
            for path in sorted(self._folder.iterdir()):
                if path.name.startswith((_NEW, _DELETED)):
                    shutil.rmtree(path, ignore_errors=True)
                elif (stored := _read(path)) is not None:
                    found.append(self._served(stored, now_ms))
        self._put(*found)

    def create(self, name: str, partitions: int, configs: Mapping[str, str | None], *, internal: bool = False) -> Topic:
        """Makes a topic. Raises: as `check_new`, and KafkaError KAFKA_STORAGE_ERROR; there is no topic then."""
        checked = self.check_new(name, partitions, configs)
        topic_id = uuid.uuid4()
        stored = StoredTopic(name=name, topic_id=topic_id, partitions=partitions, internal=internal, configs=checked)
        aside = self._folder / f"{_NEW}{topic_id.hex}"
        try:
            with storage_errors():
                aside.mkdir()
                write_whole(aside / TOPIC_FILE, msgspec.json.encode(stored))
                aside.rename(self._folder / name)
                flush_folder(self._folder)
        except KafkaError:
            shutil.rmtree(aside, ignore_errors=True)
            raise
        return self._put(self._topic(stored, ()))[-1]

    def grow(self, name: str, partitions: int) -> Topic:
        """Adds partitions, up to a number. Raises: as `check_growth`, and KafkaError KAFKA_STORAGE_ERROR."""
        topic = self.check_growth(name, partitions)
        stored = self._store(topic, partitions=partitions)
        return self._put(self._topic(stored, topic.partitions))[-1]

    def configure(self, name: str, changes: Mapping[str, str | None]) -> Topic:
        """Changes settings; null takes one back. Raises: as `check_configs`, and KafkaError KAFKA_STORAGE_ERROR."""
        stored = self._store(self._known(name), configs=self.check_configs(name, changes))
        changed = self._topic(stored, self._known(name).partitions)
        for log in changed.partitions:
            log.config = self._log_config(stored.configs)
        return self._put(changed)[-1]

    def delete(self, name: str) -> Path:
        """Removes a topic from its place; the folder that is left may be removed by anybody, at any time.

        Raises: KafkaError UNKNOWN_TOPIC_OR_PARTITION, KAFKA_STORAGE_ERROR; the topic is then still there.
        """
        topic = self._known(name)
        aside = self._folder / f"{_DELETED}{topic.topic_id.hex}"
        with storage_errors():
            (self._folder / name).rename(aside)
            flush_folder(self._folder)
        self._topics = {other: kept for other, kept in self._topics.items() if other != name}
        self._names = {topic_id: kept for topic_id, kept in self._names.items() if kept != name}
        del self._twins[_folded(name)]
        self.changes += 1
        for log in topic.partitions:
            log.delete()
        return aside

    def close(self) -> None:
        """Brings every log onto the disk, so that the next start walks none. A log that fails is walked then.

        Called when the appender thread has ended: several threads wait for the disk at once.
        """
        with ThreadPoolExecutor(CLOSING_THREADS, thread_name_prefix="close") as pool:
            list(pool.map(_close, self.logs()))

    # Inside

    def _known(self, name: str) -> Topic:
        topic = self._topics.get(name)
        if topic is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition.")
        return topic

    def _store(self, topic: Topic, **changes: Any) -> StoredTopic:
        """Writes `topic.json` with changes."""
        stored = StoredTopic(
            name=topic.name,
            topic_id=topic.topic_id,
            internal=topic.internal,
            **{"partitions": len(topic.partitions), "configs": dict(topic.configs), **changes},
        )
        with storage_errors():
            write_whole(self._folder / topic.name / TOPIC_FILE, msgspec.json.encode(stored))
        return stored

    def _topic(self, stored: StoredTopic, logs: tuple[PartitionLog, ...]) -> Topic:
        """The topic with logs it has already, and new ones up to its number of partitions."""
        folder, config = str(self._folder / stored.name), self._log_config(stored.configs)
        added = (PartitionLog(folder, n, config, self._resources) for n in range(len(logs), stored.partitions))
        return Topic(
            name=stored.name,
            topic_id=stored.topic_id,
            internal=stored.internal,
            configs=stored.configs,
            partitions=(*logs, *added),
        )

    def _served(self, stored: StoredTopic, now_ms: int) -> Topic:
        """The topic with the logs that its folder holds."""
        topic = self._topic(stored, ())
        for entry in (self._folder / stored.name).iterdir():
            log = topic.partition(int(entry.name)) if entry.name.isdecimal() else None
            if log is not None:
                try:
                    log.open(now_ms)
                except KafkaError as error:
                    logger.error("%s cannot be opened: %s", entry, error)
        return topic

    def _put(self, *topics: Topic) -> tuple[Topic, ...]:
        """Serves topics from now on, in the place of older states of the same."""
        self._topics = {**self._topics, **{topic.name: topic for topic in topics}}
        self._names = {**self._names, **{topic.topic_id: topic.name for topic in topics}}
        self._twins.update((_folded(topic.name), topic.name) for topic in topics)
        self.changes += 1
        return topics

    def _log_config(self, configs: Mapping[str, str]) -> LogConfig:
        """One `LogConfig` for all topics that set the same."""
        key = tuple(sorted(configs.items()))
        config = self._configs.get(key)
        if config is None:
            config = self._configs[key] = log_config(topic_values(configs, self._settings))
        return config


def _read(folder: Path) -> StoredTopic | None:
    """What a topic's folder says; None, with a word in the log, when it cannot be told."""
    try:
        stored = msgspec.json.decode((folder / TOPIC_FILE).read_bytes(), type=StoredTopic)
    except (OSError, msgspec.DecodeError) as error:
        logger.error("%s is not served: %s", folder, error)
        return None
    if stored.name != folder.name:
        logger.error("%s is not served: its file names another topic, %s", folder, stored.name)
        return None
    return stored


def _close(log: PartitionLog) -> None:
    try:
        log.close()
    except KafkaError as error:
        logger.error("%s is not closed cleanly: %s", log.folder, error)


def _folded(name: str) -> str:
    """Names that are the same in this form may not stand side by side: metrics write '.' as '_'."""
    return name.replace(".", "_")


def _check_count(partitions: int) -> None:
    if partitions > MAX_PARTITIONS:
        raise KafkaError(ErrorCode.POLICY_VIOLATION, f"{partitions} partitions are more than {MAX_PARTITIONS}.")
