"""The settings that one group can have (resource type GROUP).

Rules: a group keeps only what was set on it. They bind members under KIP-848; classic members bring their own times. Times may
be far below Apache's minimums.
Must not know: groups.
Source: KIP-848 and KIP-1043; Apache Kafka 4.2 `GroupConfig`, whose defaults these are.
"""

from __future__ import annotations

from kaas.broker.settings_table import Setting

_ROWS = (
    Setting(
        name="consumer.heartbeat.interval.ms",
        kind="int",
        default=5_000,
        meaning="how often a member under KIP-848 is told to send heartbeats",
        least=1,
    ),
    Setting(
        name="consumer.session.timeout.ms",
        kind="int",
        default=45_000,
        meaning="a member under KIP-848 that is silent for this long is removed",
        least=1,
    ),
)

GROUP_SETTINGS: dict[str, Setting] = {row.name: row for row in _ROWS}
"""Every setting of a group by name."""
