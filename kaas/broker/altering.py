"""What AlterConfigs and IncrementalAlterConfigs have in common: rights, resources, answers.

Rules: a resource that is named twice is changed by neither row. Each resource has an error of its own, and none keeps back the
others.
Must not know: how a request says what is to be changed.
Source: Apache Kafka 4.2, KafkaApis and ConfigAdminManager.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from typing import Any

from kaas.broker.broker import Broker
from kaas.broker.config_rows import Resource
from kaas.broker.config_targets import Decide, alter, target_of
from kaas.broker.gathering import Gathering
from kaas.broker.request import Request
from kaas.broker.security.guard import may
from kaas.broker.security.operations import CLUSTER_NAME, Kind, Operation
from kaas.errors import ErrorCode, KafkaError

RIGHTS: dict[int, tuple[Kind, ErrorCode]] = {
    Resource.TOPIC: (Kind.TOPIC, ErrorCode.TOPIC_AUTHORIZATION_FAILED),
    Resource.BROKER: (Kind.CLUSTER, ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
    Resource.GROUP: (Kind.GROUP, ErrorCode.GROUP_AUTHORIZATION_FAILED),
}
"""What is asked for each kind of resource, and the answer where it is missing."""


def check_right(request: Request, operation: Operation, kind: int, name: str) -> None:
    """Raises KafkaError when the client may not do this with the settings of a resource."""
    if kind not in RIGHTS:
        return
    resource, refusal = RIGHTS[kind]
    if not may(request, operation, resource, CLUSTER_NAME if resource is Kind.CLUSTER else name):
        raise KafkaError(refusal)


def alter_all(broker: Broker, request: Request, message: Any, decide: Callable[[Any], Decide]) -> None:
    """Change every resource of a request; `decide(row)` is what decides about one."""
    rows = message.resources
    named = Counter((row.resource_type, row.resource_name) for row in rows)
    gathering: Gathering[int, Any] = Gathering(range(len(rows)), functools.partial(reply, request, rows))
    for number, row in enumerate(rows):
        put = functools.partial(gathering.put, number)
        try:
            if named[row.resource_type, row.resource_name] > 1:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
            check_right(request, Operation.ALTER_CONFIGS, row.resource_type, row.resource_name)
            target = target_of(broker, row.resource_type, row.resource_name)
            alter(broker, target, decide(row), put, validate_only=message.validate_only)
        except KafkaError as error:
            put(error)


def reply(request: Request, rows: Any, results: dict[int, Any]) -> None:
    """Answer with all rows."""
    responses = []
    for number, row in enumerate(rows):
        result = results[number]
        refused = isinstance(result, KafkaError)
        responses.append(
            {
                "error_code": result.code if refused else ErrorCode.NONE,
                "error_message": result.message if refused else None,
                "resource_type": row.resource_type,
                "resource_name": row.resource_name,
            }
        )
    request.answer({"responses": responses})
