"""FindCoordinator (key 10), versions 0-6: which broker coordinates a group or a transaction.

Versions: 1 key type, error message, throttle time; 3 flexible; 4 many keys, a result each; 6 share groups (type 2), which are
not served here: 42. The address is that of the listener that the request came in on.
Left out: share groups.
"""

from __future__ import annotations

from typing import Any

from kaas.broker.broker import Broker
from kaas.broker.request import Request
from kaas.broker.security.guard import may
from kaas.broker.security.operations import Kind, Operation
from kaas.errors import ErrorCode
from kaas.wire.apis import FIND_COORDINATOR

API = FIND_COORDINATOR
GROUP, TRANSACTION = 0, 1
RIGHTS = {
    GROUP: (Kind.GROUP, ErrorCode.GROUP_AUTHORIZATION_FAILED),
    TRANSACTION: (Kind.TRANSACTIONAL_ID, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
}
"""What a key of each type is the name of, and the answer to a client that may not describe it."""


def handle(broker: Broker, request: Request) -> None:
    """Serve a FindCoordinator."""
    message, version = request.decode(), request.version
    kind = message.key_type if version >= 1 else GROUP
    if version < 4:
        request.answer(find(broker, request, message.key, kind))
        return
    request.answer(
        {"coordinators": [{"key": key, **find(broker, request, key, kind)} for key in message.coordinator_keys]}
    )


def find(broker: Broker, request: Request, key: str, kind: int) -> dict[str, Any]:
    """Where a key is coordinated; the empty group id is a key like any other."""
    if kind not in RIGHTS:
        return refused(ErrorCode.INVALID_REQUEST, f"coordinators of kind {kind} are not served")
    resource, refusal = RIGHTS[kind]
    if not may(request, Operation.DESCRIBE, resource, key):
        return refused(refusal, refusal.meaning)
    listener = request.connection.listener
    node_id = broker.cluster.coordinator_of(key)
    address = None if node_id is None else broker.cluster.address(node_id, listener)
    if node_id is None or address is None:
        return refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, "no broker is alive that could coordinate this")
    host, port = address
    return {"error_code": ErrorCode.NONE, "error_message": None, "node_id": node_id, "host": host, "port": port}


def refused(code: ErrorCode, message: str) -> dict[str, Any]:
    return {"error_code": code, "error_message": message, "node_id": -1, "host": "", "port": -1}
