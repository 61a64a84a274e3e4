"""Settings as DescribeConfigs and CreateTopics show them.

Job: for each setting its value, where it comes from, what else it could be, its type and meaning.
Rules: a topic's or a group's own value comes first, then what was changed on the broker while it runs, for it before for all,
then what was set at its start, then the default; `synonyms` name all of them in this order, the first is the value. A secret
has no value to show.
Must not know: requests.
Source: Kafka protocol guide (DescribeConfigs), KIP-226 (sources and synonyms), KIP-569 (types and documentation).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

from kaas.broker.group_settings import FOR_ALL, GROUP_SETTINGS
from kaas.broker.settings import TABLE, Settings, Source, known
from kaas.broker.settings_table import Setting, Value
from kaas.storage.log.settings import TOPIC_SETTINGS, ConfigType, TopicSetting

Row = dict[str, Any]

PASSWORD = 9
"""Kafka's number of the type, which no setting of a topic has."""

_TYPES: dict[str, int] = {
    "bool": ConfigType.BOOLEAN,
    "string": ConfigType.STRING,
    "int": ConfigType.INT,
    "long": ConfigType.LONG,
    "double": ConfigType.DOUBLE,
    "list": ConfigType.LIST,
    "password": PASSWORD,
}


class Resource(IntEnum):
    """What has settings, by Kafka's numbers (ConfigResource)."""

    TOPIC = 2
    BROKER = 4
    GROUP = 32


def topic_rows(configs: Mapping[str, str], settings: Settings) -> list[Row]:
    """Every setting of a topic that has set `configs`, by name."""
    return [_topic_row(TOPIC_SETTINGS[name], configs.get(name), settings) for name in sorted(TOPIC_SETTINGS)]


def group_rows(configs: Mapping[str, str], settings: Mapping[str, Value]) -> list[Row]:
    """Every setting of a group that has set `configs`, by name. What all groups have is its default, as Apache shows it."""
    rows = []
    for name, setting in GROUP_SETTINGS.items():
        own = [_synonym(name, configs[name], Source.GROUP)] if name in configs else []
        synonyms = [*own, _synonym(name, text_of(settings[FOR_ALL + name]), Source.DEFAULT)]
        rows.append(_row(name, synonyms, _TYPES[setting.kind], setting.meaning, read_only=False))
    return rows


def broker_rows(broker_id: int, settings: Settings) -> list[Row]:
    """Every setting of this broker, by name; those that one listener has for itself among them."""
    own_number = _synonym("node.id", str(broker_id), Source.STATIC_BROKER)
    rows = [_row("node.id", [own_number], ConfigType.INT, "this broker's number", read_only=True)]
    for name in sorted({*TABLE, *settings.set_names()}):
        setting = known(name)
        synonyms = _broker_synonyms(name, setting, settings)
        rows.append(_broker_row(name, setting, synonyms))
    return sorted(rows, key=lambda row: str(row["name"]))


def all_brokers_rows(configs: Mapping[str, Value]) -> list[Row]:
    """What was changed for all brokers while they run, by name."""
    rows = []
    for name in sorted(configs):
        synonyms = [_synonym(name, text_of(configs[name]), Source.DYNAMIC_DEFAULT_BROKER)]
        rows.append(_broker_row(name, known(name), synonyms))
    return rows


def _broker_row(name: str, setting: Setting, synonyms: list[Row]) -> Row:
    return _row(
        name,
        synonyms,
        _TYPES[setting.kind],
        setting.meaning,
        read_only=not setting.dynamic,
        is_secret=setting.is_secret,
    )


def _topic_row(setting: TopicSetting, own: str | None, settings: Settings) -> Row:
    synonyms = [] if own is None else [_synonym(setting.name, own, Source.TOPIC)]
    if setting.broker_setting is not None:
        synonyms += _broker_synonyms(setting.broker_setting, TABLE[setting.broker_setting], settings)
    return _row(setting.name, synonyms, setting.type, setting.documentation, read_only=False, default=setting.default)


def _broker_synonyms(name: str, setting: Setting, settings: Settings) -> list[Row]:
    hidden = setting.is_secret
    return [_synonym(name, None if hidden else text_of(value), source) for value, source in settings.values_of(name)]


def _row(
    name: str,
    synonyms: list[Row],
    type: int,
    documentation: str,
    *,
    read_only: bool,
    is_secret: bool = False,
    default: str = "",
) -> Row:
    first = synonyms[0] if synonyms else _synonym(name, default, Source.DEFAULT)
    return {
        "name": name,
        "value": first["value"],
        "read_only": read_only,
        "config_source": first["source"],
        "is_sensitive": is_secret,
        "synonyms": synonyms,
        "config_type": type,
        "documentation": documentation,
    }


def _synonym(name: str, value: str | None, source: Source) -> Row:
    return {"name": name, "value": value, "source": source}


def text_of(value: object) -> str:
    """A value as Kafka's tools write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
