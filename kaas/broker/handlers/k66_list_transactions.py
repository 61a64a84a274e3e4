"""ListTransactions (key 66), versions 0-2: transactional ids that this broker coordinates (KIP-664).

Versions: 1 a filter by how long ago a transaction began (KIP-994); 2 a filter by pattern of the id (KIP-1152). A state that
nobody knows is told back; it matches nothing. As on an Apache broker, an id that has begun nothing since its producer came is
as old as can be, and a transaction that is complete goes on ageing: who looks for hanging ones asks for Ongoing as well.
Left out: nothing.
"""

from __future__ import annotations

from typing import Any

import re2

from kaas.broker.broker import Broker
from kaas.broker.request import Request
from kaas.broker.security.guard import may
from kaas.broker.security.operations import Kind, Operation
from kaas.coordinator.transactions.state import TransactionState
from kaas.coordinator.transactions.states import TxnState
from kaas.errors import ErrorCode
from kaas.wire.apis import LIST_TRANSACTIONS

API = LIST_TRANSACTIONS
STATES = frozenset(state.value for state in TxnState) | {"PrepareEpochFence"}
"""Words that are known; the last one is Apache's for a moment that does not exist here."""


def handle(broker: Broker, request: Request) -> None:
    """Serve a ListTransactions."""
    message, version, core = request.decode(), request.version, broker.groups.coordinator
    if core.loading:
        request.answer({"error_code": ErrorCode.COORDINATOR_LOAD_IN_PROGRESS})
        return
    longer_than_ms = message.duration_filter if version >= 1 else -1
    text = message.transactional_id_pattern if version >= 2 else None
    try:
        pattern = re2.compile(text) if text else None
    except re2.error:
        request.answer({"error_code": ErrorCode.INVALID_REGULAR_EXPRESSION})
        return
    now_ms = broker.clock.wall_ms()
    states = [holder.durable for holder in core.transactions.values() if holder.durable is not None]
    rows = [
        {"transactional_id": s.transactional_id, "producer_id": s.producer_id, "transaction_state": s.state}
        for s in states
        if matches(s, message)
        and (longer_than_ms < 0 or now_ms - s.started_at > longer_than_ms)
        and (not pattern or pattern.fullmatch(s.transactional_id))
        and may(request, Operation.DESCRIBE, Kind.TRANSACTIONAL_ID, s.transactional_id)
    ]
    unknown = [state for state in message.state_filters if state not in STATES]
    request.answer({"error_code": ErrorCode.NONE, "unknown_state_filters": unknown, "transaction_states": rows})


def matches(state: TransactionState, message: Any) -> bool:
    """Whether the filters by state and producer id take it; an empty filter takes all."""
    by_state = not message.state_filters or state.state in message.state_filters
    by_producer = not message.producer_id_filters or state.producer_id in message.producer_id_filters
    return by_state and by_producer
