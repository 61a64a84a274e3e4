"""DescribeTransactions (key 65), version 0: the state of transactional ids, for `kafka-transactions.sh` (KIP-664).

An id that is not known is 105.
Left out: nothing.
"""

from __future__ import annotations

from typing import Any

from kaas.broker.broker import Broker
from kaas.broker.request import Request
from kaas.broker.security.guard import may
from kaas.broker.security.operations import Kind, Operation
from kaas.coordinator.transactions.state import TransactionState
from kaas.errors import ErrorCode
from kaas.wire.apis import DESCRIBE_TRANSACTIONS

API = DESCRIBE_TRANSACTIONS
NOT_STARTED = -1


def handle(broker: Broker, request: Request) -> None:
    """Serve a DescribeTransactions."""
    core = broker.groups.coordinator
    rows = []
    for transactional_id in request.decode().transactional_ids:
        holder = core.transactions.get(transactional_id)
        if not may(request, Operation.DESCRIBE, Kind.TRANSACTIONAL_ID, transactional_id):
            code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
            rows.append({"error_code": code, "transactional_id": transactional_id})
        elif core.is_loading_transaction(transactional_id):
            rows.append({"error_code": ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "transactional_id": transactional_id})
        elif holder is None or holder.durable is None:
            rows.append({"error_code": ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, "transactional_id": transactional_id})
        else:
            rows.append(values(request, holder.durable))
    request.answer({"transaction_states": rows})


def values(request: Request, state: TransactionState) -> dict[str, Any]:
    """One transactional id, with those of its partitions that the client may know of."""
    topics: dict[str, list[int]] = {}
    for topic, partition in state.partitions:
        if not may(request, Operation.DESCRIBE, Kind.TOPIC, topic):
            continue
        topics.setdefault(topic, []).append(partition)
    return {
        "error_code": ErrorCode.NONE,
        "transactional_id": state.transactional_id,
        "transaction_state": state.state,
        "transaction_timeout": state.timeout_ms,
        "transaction_start_time": state.started_at or NOT_STARTED,
        "producer_id": state.producer_id,
        "producer_epoch": state.epoch,
        "topics": [{"topic": topic, "partitions": partitions} for topic, partitions in topics.items()],
    }
