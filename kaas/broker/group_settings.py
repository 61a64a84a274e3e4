"""The settings that one group can have (resource type GROUP).

Rules: a group keeps only what was set on it; what was not is as the broker has it for all groups, under the same name behind
`group.`. The settings bind members under KIP-848; classic members bring their own times. A time lies between the broker's
bounds for it, and a session is longer than the pause between two heartbeats; that goes for the broker's own times as well.
Must not know: groups.
Source: KIP-848 and KIP-1043; Apache Kafka 4.2 `GroupConfig`, `GroupCoordinatorConfig`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from kaas.broker.settings_table import TABLE, BadSetting, Setting, list_items
from kaas.coordinator.config import GroupConfig

FOR_ALL = "group."
"""Stands before a setting's name where it is set for all groups."""
SESSION, HEARTBEAT = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"

Times = dict[str, int]
"""Both times by name, as they are in force."""

_ROWS = (
    Setting(
        name=HEARTBEAT,
        kind="int",
        default=TABLE[FOR_ALL + HEARTBEAT].default,
        meaning="how often a member under KIP-848 is told to send heartbeats",
        least=1,
    ),
    Setting(
        name=SESSION,
        kind="int",
        default=TABLE[FOR_ALL + SESSION].default,
        meaning="a member under KIP-848 that is silent for this long is removed",
        least=1,
    ),
)

GROUP_SETTINGS: dict[str, Setting] = {row.name: row for row in _ROWS}
"""Every setting of a group by name."""


def serves_consumer_groups(settings: Mapping[str, Any]) -> bool:
    """Whether groups may speak KIP-848."""
    return "consumer" in list_items(settings["group.coordinator.rebalance.protocols"])


def times_of_all(settings: Mapping[str, Any]) -> Times:
    """The times of groups that have none of their own."""
    return {name: settings[FOR_ALL + name] for name in GROUP_SETTINGS}


def check_times(times: Times, settings: Mapping[str, Any], prefix: str = "") -> None:
    """Whether a group, or with the prefix `group.` every group, may have these times. Raises BadSetting."""
    for name, time_ms in times.items():
        least, most = (name.replace("consumer.", f"group.consumer.{word}.") for word in ("min", "max"))
        if time_ms < settings[least]:
            raise BadSetting(f"{prefix}{name} must be greater than or equal to {least}")
        if time_ms > settings[most]:
            raise BadSetting(f"{prefix}{name} must be less than or equal to {most}")
    if times[SESSION] <= times[HEARTBEAT]:
        raise BadSetting(f"{prefix}{SESSION} must be greater than {prefix}{HEARTBEAT}")


def own_times(texts: Mapping[str, str]) -> Times:
    """The times that were set on a group; what this version does not take counts as not set."""
    times: Times = {}
    for name in GROUP_SETTINGS.keys() & texts.keys():
        with suppress(BadSetting):
            times[name] = int(GROUP_SETTINGS[name].parse(texts[name]))
    return times


def times_of(texts: Mapping[str, str], settings: Mapping[str, Any]) -> Times:
    """The times of a group on which these texts were set."""
    return {**times_of_all(settings), **own_times(texts)}


def group_config(texts: Mapping[str, str]) -> GroupConfig:
    """What the coordinator needs of what was set on a group."""
    own = own_times(texts)
    return GroupConfig(consumer_session_timeout_ms=own.get(SESSION), consumer_heartbeat_interval_ms=own.get(HEARTBEAT))
