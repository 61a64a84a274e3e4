"""Settings as DescribeConfigs and CreateTopics show them.

Job: for each setting its value, where it comes from, what else it could be, its type and meaning.
Rules: a topic's own value comes first, then what was set on the broker, then the default; `synonyms` name all of
them in this order, the first is the value.
Must not know: requests.
Source: Kafka protocol guide (DescribeConfigs), KIP-226 (sources and synonyms), KIP-569 (types and documentation).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

from kaas.broker import settings as broker_settings
from kaas.broker.settings import Settings
from kaas.storage.log.settings import TOPIC_SETTINGS, ConfigType, TopicSetting


class Source(IntEnum):
    """Where a value comes from, by Kafka's numbers."""

    TOPIC = 1
    STATIC_BROKER = 4
    DEFAULT = 5


_TYPES = {
    "bool": ConfigType.BOOLEAN,
    "string": ConfigType.STRING,
    "int": ConfigType.INT,
    "long": ConfigType.LONG,
    "double": ConfigType.DOUBLE,
    "list": ConfigType.LIST,
}


def topic_rows(configs: Mapping[str, str], settings: Settings) -> list[dict[str, Any]]:
    """Every setting of a topic that has set `configs`, by name."""
    return [_topic_row(TOPIC_SETTINGS[name], configs.get(name), settings) for name in sorted(TOPIC_SETTINGS)]


def broker_rows(broker_id: int, settings: Settings) -> list[dict[str, Any]]:
    """Every setting of this broker, by name. They are fixed at its start."""
    rows = [
        _row(
            "node.id",
            [_synonym("node.id", str(broker_id), Source.STATIC_BROKER)],
            ConfigType.INT,
            "This broker's number",
        )
    ]
    for name, setting in broker_settings.TABLE.items():
        rows.append(_row(name, _broker_synonyms(name, settings), _TYPES[setting.kind], setting.meaning))
    return sorted(rows, key=lambda row: str(row["name"]))


def _topic_row(setting: TopicSetting, own: str | None, settings: Settings) -> dict[str, Any]:
    synonyms = [] if own is None else [_synonym(setting.name, own, Source.TOPIC)]
    if setting.broker_setting is not None:
        synonyms += _broker_synonyms(setting.broker_setting, settings)
    row = _row(setting.name, synonyms, setting.type, setting.documentation, default=setting.default)
    return {**row, "read_only": False}


def _broker_synonyms(name: str, settings: Settings) -> list[dict[str, Any]]:
    default = _synonym(name, _text(broker_settings.TABLE[name].default), Source.DEFAULT)
    if settings.is_default(name):
        return [default]
    return [_synonym(name, _text(settings[name]), Source.STATIC_BROKER), default]


def _row(
    name: str, synonyms: list[dict[str, Any]], type: ConfigType, documentation: str, default: str = ""
) -> dict[str, Any]:
    first = synonyms[0] if synonyms else _synonym(name, default, Source.DEFAULT)
    return {
        "name": name,
        "value": first["value"],
        "read_only": True,
        "config_source": first["source"],
        "is_sensitive": False,
        "synonyms": synonyms,
        "config_type": type,
        "documentation": documentation,
    }


def _synonym(name: str, value: str, source: Source) -> dict[str, Any]:
    return {"name": name, "value": value, "source": source}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
