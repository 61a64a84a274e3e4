"""What a log makes of the settings of its topic.

Job: the typed values that appends, retention and compaction work with.
Rules: made once per change of settings, then only read; logs of topics with the same settings share one.
Must not know: names of the broker's settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kaas.storage.log.settings import TOPIC_SETTINGS, list_items
from kaas.wire.records.codec import Codec


@dataclass(frozen=True, slots=True, kw_only=True)
class LogConfig:
    """Sizes in bytes, times in milliseconds; -1 is no limit. `codec` None: batches stay as they came."""

    compact: bool
    delete: bool
    codec: Codec | None
    delete_retention_ms: int
    flush_messages: int
    flush_ms: int
    index_interval_bytes: int
    max_compaction_lag_ms: int
    max_message_bytes: int
    timestamp_after_max_ms: int
    timestamp_before_max_ms: int
    stamps_appends: bool
    min_cleanable_dirty_ratio: float
    min_compaction_lag_ms: int
    min_insync_replicas: int
    retention_bytes: int
    retention_ms: int
    segment_bytes: int
    segment_index_bytes: int
    segment_jitter_ms: int
    segment_ms: int


_CODECS: dict[str, Codec | None] = {
    "producer": None,
    "uncompressed": Codec.NONE,
    "gzip": Codec.GZIP,
    "snappy": Codec.SNAPPY,
    "lz4": Codec.LZ4,
    "zstd": Codec.ZSTD,
}


def log_config(values: Mapping[str, str]) -> LogConfig:
    """The values of every topic setting, checked before, as a `LogConfig`."""
    policies = list_items(values["cleanup.policy"])
    return LogConfig(
        compact="compact" in policies,
        delete="delete" in policies,
        codec=_CODECS[values["compression.type"]],
        delete_retention_ms=int(values["delete.retention.ms"]),
        flush_messages=int(values["flush.messages"]),
        flush_ms=int(values["flush.ms"]),
        index_interval_bytes=int(values["index.interval.bytes"]),
        max_compaction_lag_ms=int(values["max.compaction.lag.ms"]),
        max_message_bytes=int(values["max.message.bytes"]),
        timestamp_after_max_ms=int(values["message.timestamp.after.max.ms"]),
        timestamp_before_max_ms=int(values["message.timestamp.before.max.ms"]),
        stamps_appends=values["message.timestamp.type"] == "LogAppendTime",
        min_cleanable_dirty_ratio=float(values["min.cleanable.dirty.ratio"]),
        min_compaction_lag_ms=int(values["min.compaction.lag.ms"]),
        min_insync_replicas=int(values["min.insync.replicas"]),
        retention_bytes=int(values["retention.bytes"]),
        retention_ms=int(values["retention.ms"]),
        segment_bytes=int(values["segment.bytes"]),
        segment_index_bytes=int(values["segment.index.bytes"]),
        segment_jitter_ms=int(values["segment.jitter.ms"]),
        segment_ms=int(values["segment.ms"]),
    )


DEFAULT_CONFIG = log_config({name: setting.default for name, setting in TOPIC_SETTINGS.items()})
"""Kafka's defaults."""
