"""The settings of a topic: Kafka's names, what values they take, where their defaults come from.

Job: the table, and the check of what somebody wants to set.
Rules:
- A topic keeps only what was set on it; everything else follows the broker's settings, so a change there reaches old
  topics.
- An unknown name or a value that cannot be is INVALID_CONFIG. Sizes and times may be far below Apache's minimums.
- A setting that Kafka's tools send, but that means nothing on one replica, is kept; its documentation says so.
Must not know: topics, logs, where the broker's settings are kept.
Source: Apache Kafka 4.2, topic and broker configurations; the documentation strings are this project's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from kaas.errors import ErrorCode, KafkaError

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1

_NO_EFFECT = "Kept for Kafka's tools, without effect here: "


class ConfigType(IntEnum):
    """The types of settings, by their number in DescribeConfigs."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    LONG = 5
    DOUBLE = 6
    LIST = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSetting:
    """One setting of a topic.

    `broker_setting`: the setting of the broker that gives the default, in the same unit; None: `default` alone.
    `lowest` and `highest` bound a number; `choices` are the values that a text, or each item of a list, may have.
    """

    name: str
    type: ConfigType
    default: str
    documentation: str
    broker_setting: str | None = None
    lowest: float = 0
    highest: float = LONG_MAX
    choices: tuple[str, ...] = ()

    def check(self, value: str | None) -> str:
        """The value in the form in which it is stored. Raises: KafkaError INVALID_CONFIG."""
        if value is None:
            raise self._refusal(value, "it must have a value")
        if self.type in (ConfigType.INT, ConfigType.LONG, ConfigType.DOUBLE):
            return self._check_number(value.strip())
        items = list_items(value) if self.type == ConfigType.LIST else [value.strip()]
        if self.choices and not (items and set(items) <= set(self.choices)):
            raise self._refusal(value, f"it takes {' or '.join(self.choices)}")
        return ",".join(items)

    def value_on(self, broker: Mapping[str, Any]) -> str:
        """The value for a topic that does not set it, on a broker with these settings."""
        value = broker.get(self.broker_setting) if self.broker_setting else None
        if value is None:
            return self.default
        return str(value).lower() if isinstance(value, bool) else str(value)

    def _check_number(self, text: str) -> str:
        try:
            number = float(text) if self.type == ConfigType.DOUBLE else int(text)
        except ValueError:
            raise self._refusal(text, "it takes a number") from None
        if not self.lowest <= number <= self.highest:
            raise self._refusal(text, f"it takes {self.lowest} to {self.highest}")
        return text

    def _refusal(self, value: str | None, reason: str) -> KafkaError:
        return KafkaError(ErrorCode.INVALID_CONFIG, f"Invalid value {value} for configuration {self.name}: {reason}")


def list_items(text: str) -> list[str]:
    """The items of a setting of type LIST."""
    return [item for item in (part.strip() for part in text.split(",")) if item]


def check_topic_settings(configs: Mapping[str, str | None]) -> dict[str, str]:
    """What is set on a topic, each value in the form in which it is stored.

    Raises: KafkaError INVALID_CONFIG for an unknown name, for a value that cannot be, for values that contradict
    each other.
    """
    checked = {}
    for name, value in configs.items():
        setting = TOPIC_SETTINGS.get(name)
        if setting is None:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"Unknown topic config name: {name}")
        checked[name] = setting.check(value)
    lags = [checked.get(name) for name in ("min.compaction.lag.ms", "max.compaction.lag.ms")]
    if lags[0] is not None and lags[1] is not None and int(lags[0]) > int(lags[1]):
        raise KafkaError(ErrorCode.INVALID_CONFIG, "min.compaction.lag.ms is greater than max.compaction.lag.ms")
    return checked


def topic_values(configs: Mapping[str, str], broker: Mapping[str, Any]) -> dict[str, str]:
    """The value of every setting: the topic's own, else the one that follows from the broker's settings."""
    return {
        name: configs[name] if name in configs else setting.value_on(broker) for name, setting in TOPIC_SETTINGS.items()
    }


def _setting(
    name: str, type: ConfigType, default: str, documentation: str, broker_setting: str | None = None, **more: Any
) -> TopicSetting:
    if type == ConfigType.INT:
        more = {"highest": INT_MAX, **more}
    elif type == ConfigType.BOOLEAN:
        more = {"choices": ("true", "false"), **more}
    return TopicSetting(
        name=name, type=type, default=default, documentation=documentation, broker_setting=broker_setting, **more
    )


_NEVER = str(LONG_MAX)

_ROWS = (
    _setting(
        "cleanup.policy",
        ConfigType.LIST,
        "delete",
        "delete drops old segments, compact keeps the last value of each key; both together do both",
        "log.cleanup.policy",
        choices=("compact", "delete"),
    ),
    _setting(
        "compression.type",
        ConfigType.STRING,
        "producer",
        "The compression under which batches are stored; producer keeps the one they came with",
        "compression.type",
        choices=("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
    ),
    _setting("compression.gzip.level", ConfigType.INT, "-1", _NO_EFFECT + "the level is fixed", lowest=-1, highest=9),
    _setting("compression.lz4.level", ConfigType.INT, "9", _NO_EFFECT + "the level is fixed", lowest=1, highest=17),
    _setting(
        "compression.zstd.level", ConfigType.INT, "3", _NO_EFFECT + "the level is fixed", lowest=-131_072, highest=22
    ),
    _setting(
        "delete.retention.ms",
        ConfigType.LONG,
        "86400000",
        "How long a compacted topic keeps tombstones, so that a reader has the time to see them",
        "log.cleaner.delete.retention.ms",
    ),
    _setting(
        "file.delete.delay.ms",
        ConfigType.LONG,
        "60000",
        _NO_EFFECT + "a deleted file stays readable for those who read it, and is gone for all others at once",
        "log.segment.delete.delay.ms",
    ),
    _setting(
        "flush.messages",
        ConfigType.LONG,
        _NEVER,
        "After so many records the log is synchronised with the disk before they are acknowledged",
        "log.flush.interval.messages",
        lowest=1,
    ),
    _setting(
        "flush.ms",
        ConfigType.LONG,
        _NEVER,
        "The longest time for which acknowledged records are not synchronised with the disk",
        "log.flush.interval.ms",
    ),
    _setting(
        "follower.replication.throttled.replicas", ConfigType.LIST, "", _NO_EFFECT + "partitions have one replica"
    ),
    _setting(
        "index.interval.bytes",
        ConfigType.INT,
        "4096",
        "Bytes of log between two entries of its indexes",
        "log.index.interval.bytes",
    ),
    _setting("leader.replication.throttled.replicas", ConfigType.LIST, "", _NO_EFFECT + "partitions have one replica"),
    _setting("local.retention.bytes", ConfigType.LONG, "-2", _NO_EFFECT + "all storage is local", lowest=-2),
    _setting("local.retention.ms", ConfigType.LONG, "-2", _NO_EFFECT + "all storage is local", lowest=-2),
    _setting(
        "max.compaction.lag.ms",
        ConfigType.LONG,
        _NEVER,
        "The longest time for which a record of a compacted topic may stay uncompacted",
        "log.cleaner.max.compaction.lag.ms",
        lowest=1,
    ),
    _setting(
        "max.message.bytes",
        ConfigType.INT,
        "1048588",
        "The largest batch that is taken, as it comes over the wire",
        "message.max.bytes",
    ),
    _setting(
        "message.timestamp.after.max.ms",
        ConfigType.LONG,
        "3600000",
        "How far ahead of the broker's clock a record's timestamp may be",
        "log.message.timestamp.after.max.ms",
    ),
    _setting(
        "message.timestamp.before.max.ms",
        ConfigType.LONG,
        _NEVER,
        "How far behind the broker's clock a record's timestamp may be",
        "log.message.timestamp.before.max.ms",
    ),
    _setting(
        "message.timestamp.type",
        ConfigType.STRING,
        "CreateTime",
        "Whether records keep their producer's time or get the time of their append",
        "log.message.timestamp.type",
        choices=("CreateTime", "LogAppendTime"),
    ),
    _setting(
        "min.cleanable.dirty.ratio",
        ConfigType.DOUBLE,
        "0.5",
        "The share of a compacted log that must be uncompacted before it is compacted again",
        "log.cleaner.min.cleanable.ratio",
        highest=1,
    ),
    _setting(
        "min.compaction.lag.ms",
        ConfigType.LONG,
        "0",
        "The shortest time for which a record stays uncompacted",
        "log.cleaner.min.compaction.lag.ms",
    ),
    _setting(
        "min.insync.replicas",
        ConfigType.INT,
        "1",
        "With acks=all, how many replicas must have a batch; more than one refuses every such batch here",
        "min.insync.replicas",
        lowest=1,
    ),
    _setting(
        "preallocate", ConfigType.BOOLEAN, "false", _NO_EFFECT + "files grow as they are written", "log.preallocate"
    ),
    _setting("remote.log.copy.disable", ConfigType.BOOLEAN, "false", _NO_EFFECT + "all storage is local"),
    _setting("remote.log.delete.on.disable", ConfigType.BOOLEAN, "false", _NO_EFFECT + "all storage is local"),
    _setting(
        "remote.storage.enable", ConfigType.BOOLEAN, "false", "Tiered storage, which is not offered", choices=("false",)
    ),
    _setting(
        "retention.bytes",
        ConfigType.LONG,
        "-1",
        "The size above which the oldest segments of a partition go; -1 is no limit",
        "log.retention.bytes",
        lowest=-1,
    ),
    _setting(
        "retention.ms",
        ConfigType.LONG,
        "604800000",
        "The age above which segments go, by their newest record; -1 is no limit",
        "log.retention.ms",
        lowest=-1,
    ),
    _setting(
        "segment.bytes",
        ConfigType.INT,
        "1073741824",
        "The size at which a log begins a new segment",
        "log.segment.bytes",
        lowest=14,
    ),
    _setting(
        "segment.index.bytes",
        ConfigType.INT,
        "10485760",
        "The size of an index at which a log begins a new segment",
        "log.index.size.max.bytes",
        lowest=4,
    ),
    _setting(
        "segment.jitter.ms",
        ConfigType.LONG,
        "0",
        "By how much segment.ms is shortened at random, so that logs do not all begin a new segment at once",
    ),
    _setting(
        "segment.ms",
        ConfigType.LONG,
        "604800000",
        "The age at which a log begins a new segment even when the old one is not full",
        "log.roll.ms",
        lowest=1,
    ),
    _setting(
        "unclean.leader.election.enable",
        ConfigType.BOOLEAN,
        "false",
        _NO_EFFECT + "partitions have one replica",
        "unclean.leader.election.enable",
    ),
)

TOPIC_SETTINGS: dict[str, TopicSetting] = {row.name: row for row in _ROWS}
"""Every setting of a topic, by name."""
