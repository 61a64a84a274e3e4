"""The broker's settings: what each of them is now, and where that comes from.

Job: values from `--set name=value`, under what was changed while the broker runs.
Rules: a value that cannot be is refused at start with the name, the reason and what is taken. An unknown name is refused with
those that look like it. What was changed for this broker counts before what was changed for all brokers, that before what was
set at the start, that before the default. A change replaces the values as a whole, so that any thread may read them.
Must not know: who reads a setting, where changes are kept.
Source: KIP-226 (dynamic settings and their order), KIP-103 (settings of one listener).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from typing import Any

from kaas.broker.group_settings import check_times, times_of_all
from kaas.broker.settings_table import LISTENER_PREFIX, TABLE, BadSetting, Value, known, list_items
from kaas.coordinator.config import CoordinatorConfig, MigrationPolicy

__all__ = ["TABLE", "BadSetting", "Settings", "Source", "known", "parse"]


class Source(IntEnum):
    """Where a value comes from, by Kafka's numbers."""

    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    GROUP = 8


class Settings(Mapping[str, Any]):
    """Values by name: those that were changed or set, else the defaults."""

    def __init__(self, values: Mapping[str, Value] | None = None) -> None:
        self._static = dict(values or {})
        for name in self._static:
            known(name)
        self._broker: Mapping[str, Value] = {}
        self._all_brokers: Mapping[str, Value] = {}
        self._were_changed = False
        self._values = self._merged()

    def __getitem__(self, name: str) -> Any:
        try:
            return self._values[name]
        except KeyError:
            return known(name).default

    def __iter__(self) -> Iterator[str]:
        return iter(TABLE)

    def __len__(self) -> int:
        return len(TABLE)

    def is_default(self, name: str) -> bool:
        return len(self.values_of(name)) == 1

    def values_of(self, name: str) -> list[tuple[Value, Source]]:
        """Every value that a setting was given; the first one counts, the last one is the default."""
        layers = (
            (self._broker, Source.DYNAMIC_BROKER),
            (self._all_brokers, Source.DYNAMIC_DEFAULT_BROKER),
            (self._static, Source.STATIC_BROKER),
        )
        given = [(values[name], source) for values, source in layers if name in values]
        return [*given, (known(name).default, Source.DEFAULT)]

    def set_names(self) -> list[str]:
        """The names that were set at the start, those of single listeners among them."""
        return list(self._static)

    def on(self, listener: str, name: str) -> Any:
        """The value for one listener: its own, else the one for all."""
        own = f"{LISTENER_PREFIX}{listener.lower()}.{name}"
        return self._values[own] if own in self._values else self[name]

    @property
    def were_changed(self) -> bool:
        """Whether any of them is another one than at the start of this process, or was."""
        return self._were_changed

    def change(self, broker: Mapping[str, Value], all_brokers: Mapping[str, Value]) -> None:
        """Take what was changed while the broker runs, in place of what was changed before."""
        self._were_changed = True
        self._broker, self._all_brokers = dict(broker), dict(all_brokers)
        self._values = self._merged()

    def _merged(self) -> dict[str, Value]:
        defaults = {name: row.default for name, row in TABLE.items()}
        return {**defaults, **self._static, **self._all_brokers, **self._broker}

    def coordinator(self) -> CoordinatorConfig:
        """What the group coordinator needs."""
        return CoordinatorConfig(
            min_session_timeout_ms=self["group.min.session.timeout.ms"],
            max_session_timeout_ms=self["group.max.session.timeout.ms"],
            initial_rebalance_delay_ms=self["group.initial.rebalance.delay.ms"],
            max_size=self["group.max.size"],
            consumer_session_timeout_ms=self["group.consumer.session.timeout.ms"],
            consumer_heartbeat_interval_ms=self["group.consumer.heartbeat.interval.ms"],
            consumer_max_size=self["group.consumer.max.size"],
            consumer_assignors=tuple(list_items(self["group.consumer.assignors"])),
            consumer_migration_policy=MigrationPolicy(self["group.consumer.migration.policy"]),
            consumer_regex_refresh_interval_ms=self["group.consumer.regex.refresh.interval.ms"],
            offset_metadata_max_bytes=self["offset.metadata.max.bytes"],
            offsets_retention_ms=self["offsets.retention.minutes"] * 60_000,
            offsets_retention_check_interval_ms=self["offsets.retention.check.interval.ms"],
            transaction_max_timeout_ms=self["transaction.max.timeout.ms"],
            transactional_id_expiration_ms=self["transactional.id.expiration.ms"],
            transaction_remove_expired_interval_ms=self["transaction.remove.expired.transaction.cleanup.interval.ms"],
        )


def parse(pairs: Iterable[str]) -> Settings:
    """Settings from texts of the form name=value. Raises BadSetting."""
    values: dict[str, Value] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise BadSetting(f"{pair!r} is not of the form name=value")
        name = name.strip()
        values[_spelled(name)] = known(name).parse(text)
    settings = Settings(values)
    check_times(times_of_all(settings), settings, "group.")
    return settings


def _spelled(name: str) -> str:
    """Listeners' names are upper case in `listeners` and lower case in front of their settings."""
    if not name.startswith(LISTENER_PREFIX):
        return name
    listener, _, rest = name.removeprefix(LISTENER_PREFIX).partition(".")
    return f"{LISTENER_PREFIX}{listener.lower()}.{rest}"
