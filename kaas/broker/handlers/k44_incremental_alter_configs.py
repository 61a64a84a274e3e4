"""IncrementalAlterConfigs (key 44), versions 0-1: changes single settings of topics, brokers and groups (KIP-339).

Versions: 1 flexible. A resource that is named twice is changed by neither row: 42. Each resource has an error of its own.
Left out: loggers, client metrics: 42.
"""

from __future__ import annotations

import functools
from typing import Any

from kaas.broker.altering import alter_all
from kaas.broker.broker import Broker
from kaas.broker.config_changes import Changes, Step, incremental
from kaas.broker.config_targets import Target
from kaas.broker.request import Request
from kaas.wire.apis import INCREMENTAL_ALTER_CONFIGS

API = INCREMENTAL_ALTER_CONFIGS


def handle(broker: Broker, request: Request) -> None:
    """Serve an IncrementalAlterConfigs."""
    alter_all(broker, request, request.decode(), lambda row: functools.partial(changes_of, row))


def changes_of(row: Any, target: Target) -> Changes:
    """What one row means now. Raises KafkaError."""
    steps = [Step(one.name, one.config_operation, one.value) for one in row.configs]
    return incremental(steps, target.in_force, target.is_list)
