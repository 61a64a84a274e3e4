"""DescribeCluster (key 60), versions 0-2: brokers and controller, for admin clients.

Versions: 1 endpoint types, of which only brokers are served (KIP-919); 2 fenced brokers, of which there are none.
Left out: racks.
"""

from __future__ import annotations

from typing import Any

from kaas.broker.broker import Broker
from kaas.broker.partitions import CLUSTER_OPERATIONS, UNASKED_OPERATIONS
from kaas.broker.request import Request
from kaas.broker.security.guard import authorized_operations
from kaas.broker.security.operations import Kind
from kaas.errors import ErrorCode
from kaas.wire.apis import DESCRIBE_CLUSTER

API = DESCRIBE_CLUSTER
BROKERS, CONTROLLERS = 1, 2
MISMATCHED_ENDPOINT_TYPE, UNSUPPORTED_ENDPOINT_TYPE = 114, 115


def handle(broker: Broker, request: Request) -> None:
    """Serve a DescribeCluster."""
    message, version = request.decode(), request.version
    kind = message.endpoint_type if version >= 1 else BROKERS
    if kind != BROKERS:
        mismatched = kind == CONTROLLERS
        code = MISMATCHED_ENDPOINT_TYPE if mismatched else UNSUPPORTED_ENDPOINT_TYPE
        request.answer({"error_code": code, "error_message": f"endpoints of type {kind} are not here"})
        return
    told = message.include_cluster_authorized_operations
    request.answer(
        {
            "error_code": ErrorCode.NONE,
            "endpoint_type": BROKERS,
            "cluster_id": broker.cluster.cluster_id,
            "controller_id": broker.cluster.assignment.controller,
            "brokers": brokers(broker, request.connection.listener),
            "cluster_authorized_operations": authorized_operations(request, Kind.CLUSTER, of=CLUSTER_OPERATIONS)
            if told
            else UNASKED_OPERATIONS,
        }
    )


def brokers(broker: Broker, listener: str) -> list[dict[str, Any]]:
    """The living brokers that have the listener of the request."""
    rows = []
    for one in broker.cluster.brokers:
        address = broker.cluster.address(one.id, listener)
        if address is not None:
            rows.append({"broker_id": one.id, "host": address[0], "port": address[1], "is_fenced": False})
    return rows
