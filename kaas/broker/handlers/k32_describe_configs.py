"""DescribeConfigs (key 32), versions 1-4: settings of topics, of this broker, of groups.

Versions: 1 sources and synonyms; 3 types and documentation; 4 flexible. No keys, or null, mean every setting. The broker of the
empty name is what was changed for all brokers. A group need not be there. Secrets have no value.
Left out: settings of loggers, client metrics: 42.
"""

from __future__ import annotations

from typing import Any

from kaas.broker.altering import check_right
from kaas.broker.broker import Broker
from kaas.broker.config_rows import Resource, Row, all_brokers_rows, broker_rows, group_rows, topic_rows
from kaas.broker.configs import ALL_BROKERS
from kaas.broker.partitions import topic_named
from kaas.broker.request import Request
from kaas.broker.security.operations import Operation
from kaas.errors import ErrorCode, KafkaError
from kaas.storage.topics import check_topic_name
from kaas.wire.apis import DESCRIBE_CONFIGS

API = DESCRIBE_CONFIGS


def handle(broker: Broker, request: Request) -> None:
    """Serve a DescribeConfigs."""
    message = request.decode()
    documentation = documented(message, request.version)
    results = [
        answer(broker, request, resource, synonyms=message.include_synonyms, documentation=documentation)
        for resource in message.resources
    ]
    request.answer({"results": results})


def documented(message: Any, version: int) -> bool:
    return bool(version >= 3 and message.include_documentation)


def answer(broker: Broker, request: Request, resource: Any, *, synonyms: bool, documentation: bool) -> dict[str, Any]:
    """One resource of the answer."""
    named = {"resource_type": resource.resource_type, "resource_name": resource.resource_name}
    try:
        check_right(request, Operation.DESCRIBE_CONFIGS, resource.resource_type, resource.resource_name)
        rows = find(broker, resource.resource_type, resource.resource_name)
    except KafkaError as error:
        return {**named, "error_code": error.code, "error_message": error.message, "configs": ()}
    keys = resource.configuration_keys
    shown = [row for row in rows if not keys or row["name"] in keys]
    for row in shown:
        if not synonyms:
            row["synonyms"] = ()
        if not documentation:
            row["documentation"] = None
    return {**named, "error_code": ErrorCode.NONE, "error_message": "", "configs": shown}


def find(broker: Broker, kind: int, name: str) -> list[Row]:
    """The settings of a resource. Raises: KafkaError."""
    if kind == Resource.TOPIC:
        check_topic_name(name)
        return topic_rows(topic_named(broker.topics.registry, name).configs, broker.settings)
    if kind == Resource.GROUP:
        if not name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Group name must not be empty")
        return group_rows(broker.configs.group(name), broker.settings)
    if kind != Resource.BROKER:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"resources of type {kind} are not served")
    if name == ALL_BROKERS:
        return all_brokers_rows(broker.configs.values(ALL_BROKERS))
    if name != str(broker.broker_id):
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"Unexpected broker id, expected {broker.broker_id} or empty string, but received {name}",
        )
    return broker_rows(broker.broker_id, broker.settings)
