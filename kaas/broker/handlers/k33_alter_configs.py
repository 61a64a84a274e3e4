"""AlterConfigs (key 33), versions 0-2: replaces all settings of topics, brokers and groups (KIP-133).

Versions: 1 throttle time; 2 flexible. What is not named is taken back. Clients send it that have no IncrementalAlterConfigs:
kafkajs, sarama, older admin clients. The rest is as there.
Left out: loggers, client metrics: 42.
"""

from __future__ import annotations

import functools
from typing import Any

from kaas.broker.altering import alter_all
from kaas.broker.broker import Broker
from kaas.broker.config_changes import Changes, whole
from kaas.broker.config_targets import Target
from kaas.broker.request import Request
from kaas.wire.apis import ALTER_CONFIGS

API = ALTER_CONFIGS


def handle(broker: Broker, request: Request) -> None:
    """Serve an AlterConfigs."""
    alter_all(broker, request, request.decode(), lambda row: functools.partial(changes_of, row))


def changes_of(row: Any, target: Target) -> Changes:
    """What one row means now. Raises KafkaError."""
    return whole([(one.name, one.value) for one in row.configs], target.present())
