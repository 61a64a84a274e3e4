"""The broker's settings, by Kafka's names where Kafka has one.

Job: the table (name, type, default, meaning), and values from `--set name=value`.
Rules: a value that cannot be is refused at start with the name, the reason and what is taken. An unknown name is refused with
those that look like it. Times may be far below Apache's minimums.
Must not know: who reads a setting.
Source: Apache Kafka 4.2 broker configuration; the defaults are Apache's unless the meaning says otherwise.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kaas.coordinator.config import FOREVER, CoordinatorConfig

Value = int | bool | str | float


class BadSetting(Exception):
    """A setting that does not exist, or a value that it cannot have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """`kind` is int, long, bool, string, list or double, as Kafka's tools name types. `least`: the smallest number taken."""

    name: str
    kind: str
    default: Value
    meaning: str
    least: int | None = None

    def parse(self, text: str) -> Value:
        """Raises BadSetting."""
        text = text.strip()
        if self.kind in ("string", "list"):
            return text
        if self.kind == "bool":
            if text.lower() not in ("true", "false"):
                raise BadSetting(f"{self.name}={text!r}: true or false is taken")
            return text.lower() == "true"
        try:
            number = float(text) if self.kind == "double" else int(text)
        except ValueError:
            raise BadSetting(f"{self.name}={text!r}: a number is taken") from None
        if self.least is not None and number < self.least:
            raise BadSetting(f"{self.name}={text!r}: {self.least} or more is taken")
        return number


def _setting(name: str, kind: str, default: Value, meaning: str, least: int | None = None) -> Setting:
    return Setting(name=name, kind=kind, default=default, meaning=meaning, least=least)


_ROWS = (
    # groups
    _setting("group.min.session.timeout.ms", "int", 6_000, "shortest session timeout a classic member may ask for", 1),
    _setting(
        "group.max.session.timeout.ms", "int", 1_800_000, "longest session timeout a classic member may ask for", 1
    ),
    _setting(
        "group.initial.rebalance.delay.ms",
        "int",
        3_000,
        "how long the first join phase of an empty group waits for others",
        0,
    ),
    _setting("group.max.size", "int", FOREVER, "most members of a classic group", 1),
    _setting(
        "offset.metadata.max.bytes", "int", 4_096, "longest metadata beside a committed offset, in UTF-16 units", 0
    ),
    _setting("offsets.retention.minutes", "int", 10_080, "how long offsets stay after a group became empty", 1),
    _setting("offsets.retention.check.interval.ms", "long", 600_000, "how often expired offsets are looked for", 1),
    _setting(
        "kaas.rebalance.on.partition.growth",
        "bool",
        True,
        "groups rebalance at once when a topic they read gets partitions (Apache leaves that to clients)",
    ),
    # connections
    _setting("listeners", "list", "", "where to listen, as NAME://host:port,…; empty: --host and --port"),
    _setting(
        "advertised.listeners", "list", "", "the addresses that clients are told, by listener; empty: where it listens"
    ),
    _setting("socket.request.max.bytes", "int", 104_857_600, "largest request", 1),
    _setting("max.connections", "int", FOREVER, "most connections at one time", 1),
    _setting(
        "connections.max.idle.ms", "long", 600_000, "a connection that is idle this long is closed; -1 is never", -1
    ),
    # topics
    _setting("auto.create.topics.enable", "bool", True, "Metadata creates topics that clients ask for"),
    _setting("num.partitions", "int", 1, "partitions of topics that are created without a number", 1),
    _setting("default.replication.factor", "int", 1, "replicas of topics that are created without a number", 1),
    _setting("delete.topic.enable", "bool", True, "topics may be deleted"),
    _setting("message.max.bytes", "int", 1_048_588, "largest batch a topic takes, unless the topic says otherwise", 0),
    _setting("compression.type", "string", "producer", "compression of stored batches; producer keeps what was sent"),
    _setting("log.cleanup.policy", "list", "delete", "delete, compact, or both"),
    _setting("log.segment.bytes", "int", 1_073_741_824, "a log begins a new segment at this size", 14),
    _setting("log.roll.ms", "long", 604_800_000, "a log begins a new segment after this time", 1),
    _setting("log.retention.ms", "long", 604_800_000, "segments older than this are deleted; -1 is never", -1),
    _setting("log.retention.bytes", "long", -1, "oldest segments of a larger log are deleted; -1 is never", -1),
    _setting("log.retention.check.interval.ms", "long", 300_000, "how often expired segments are looked for", 1),
    _setting("log.flush.interval.messages", "long", 2**63 - 1, "fsync after so many records", 1),
    _setting("log.flush.interval.ms", "long", 2**63 - 1, "fsync after so long", 1),
    _setting("log.index.interval.bytes", "int", 4_096, "bytes of log between two entries of an index", 0),
    _setting("log.index.size.max.bytes", "int", 10_485_760, "largest index of a segment", 4),
    _setting("log.message.timestamp.type", "string", "CreateTime", "CreateTime or LogAppendTime"),
    _setting("log.message.timestamp.before.max.ms", "long", 2**63 - 1, "how far back a record's time may lie", 0),
    _setting("log.message.timestamp.after.max.ms", "long", 3_600_000, "how far ahead a record's time may lie", 0),
    _setting("log.cleaner.delete.retention.ms", "long", 86_400_000, "how long a compacted log keeps tombstones", 0),
    _setting("log.cleaner.min.compaction.lag.ms", "long", 0, "records younger than this are not compacted", 0),
    _setting("log.cleaner.max.compaction.lag.ms", "long", 2**63 - 1, "records older than this are compacted", 1),
    _setting(
        "log.cleaner.min.cleanable.ratio",
        "double",
        0.5,
        "how much of a log must be uncompacted before it is compacted",
        0,
    ),
    _setting("log.segment.delete.delay.ms", "long", 60_000, "without effect: a deleted segment goes at once", 0),
    _setting("log.preallocate", "bool", False, "segments are allocated whole"),
    _setting("min.insync.replicas", "int", 1, "replicas that must have a batch for acks=all", 1),
    _setting("unclean.leader.election.enable", "bool", False, "a replica that is behind may lead"),
    # fetch
    _setting("fetch.max.bytes", "int", 57_671_680, "most bytes of one fetch answer", 1_024),
    _setting("max.incremental.fetch.session.cache.slots", "int", 1_000, "most fetch sessions", 0),
    # producers
    _setting("producer.id.expiration.ms", "int", 86_400_000, "an idle producer id is forgotten after this", 1),
    _setting(
        "transactional.id.expiration.ms", "int", 604_800_000, "an idle transactional id is forgotten after this", 1
    ),
    _setting(
        "transaction.remove.expired.transaction.cleanup.interval.ms",
        "int",
        3_600_000,
        "how often idle transactional ids are looked for",
        1,
    ),
    _setting("transaction.max.timeout.ms", "int", 900_000, "longest transaction timeout a producer may ask for", 1),
    # storage of this broker
    _setting("kaas.journal.roll.bytes", "long", 67_108_864, "the journal begins a new file at this size", 4_096),
    _setting(
        "kaas.checkpoint.interval.ms", "long", 500, "how often changed groups are written to their JSON files", 10
    ),
    # the feed
    _setting("kaas.cluster", "string", "local", "the cluster's name in the feed"),
    _setting("kaas.feed.events", "long", 100_000, "events that the feed keeps", 100),
    _setting(
        "kaas.feed.commits.interval.ms", "int", 200, "commits and heartbeats of a group are told at most this often", 10
    ),
    _setting("kaas.feed.topics.interval.ms", "int", 1_000, "log ends are told at most this often", 10),
)

TABLE: dict[str, Setting] = {row.name: row for row in _ROWS}
"""Every setting by name."""


class Settings(Mapping[str, Any]):
    """Values by name: those that were set, else the defaults."""

    def __init__(self, values: Mapping[str, Value] | None = None) -> None:
        self._set = dict(values or {})
        for name in self._set:
            known(name)

    def __getitem__(self, name: str) -> Any:
        return self._set[name] if name in self._set else known(name).default

    def __iter__(self) -> Any:
        return iter(TABLE)

    def __len__(self) -> int:
        return len(TABLE)

    def is_default(self, name: str) -> bool:
        return name not in self._set

    def coordinator(self) -> CoordinatorConfig:
        """What the group coordinator needs."""
        return CoordinatorConfig(
            min_session_timeout_ms=self["group.min.session.timeout.ms"],
            max_session_timeout_ms=self["group.max.session.timeout.ms"],
            initial_rebalance_delay_ms=self["group.initial.rebalance.delay.ms"],
            max_size=self["group.max.size"],
            offset_metadata_max_bytes=self["offset.metadata.max.bytes"],
            offsets_retention_ms=self["offsets.retention.minutes"] * 60_000,
            offsets_retention_check_interval_ms=self["offsets.retention.check.interval.ms"],
            transaction_max_timeout_ms=self["transaction.max.timeout.ms"],
            transactional_id_expiration_ms=self["transactional.id.expiration.ms"],
            transaction_remove_expired_interval_ms=self["transaction.remove.expired.transaction.cleanup.interval.ms"],
        )


def known(name: str) -> Setting:
    """The setting of a name. Raises BadSetting."""
    if name not in TABLE:
        near = difflib.get_close_matches(name, TABLE, 3)
        raise BadSetting(f"there is no setting {name!r}" + (f"; did you mean {' or '.join(near)}?" if near else ""))
    return TABLE[name]


def parse(pairs: Iterable[str]) -> Settings:
    """Settings from texts of the form name=value. Raises BadSetting."""
    values: dict[str, Value] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise BadSetting(f"{pair!r} is not of the form name=value")
        values[name.strip()] = known(name.strip()).parse(text)
    return Settings(values)
