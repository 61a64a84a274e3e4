"""ListGroups (key 16), versions 0-5: every group that this broker coordinates.

Versions: 1 throttle time; 3 flexible; 4 states, and a filter by them (KIP-518); 5 types, and a filter by them (KIP-848).
Left out: nothing.
"""

from __future__ import annotations

from kaas.broker.broker import Broker
from kaas.broker.request import Request
from kaas.broker.security.guard import may
from kaas.broker.security.operations import Kind, Operation
from kaas.coordinator import queries
from kaas.wire.apis import LIST_GROUPS

API = LIST_GROUPS


def handle(broker: Broker, request: Request) -> None:
    """Serve a ListGroups."""
    message, version = request.decode(), request.version
    states = message.states_filter if version >= 4 else ()
    types = message.types_filter if version >= 5 else ()
    code, rows = queries.list_groups(broker.groups.coordinator, states, types)
    if not may(request, Operation.DESCRIBE, Kind.CLUSTER):
        rows = [g for g in rows if may(request, Operation.DESCRIBE, Kind.GROUP, g.group_id)]
    request.answer(
        {
            "error_code": code,
            "groups": [
                {"group_id": g.group_id, "protocol_type": g.protocol_type, "group_state": g.state, "group_type": g.type}
                for g in rows
            ],
        }
    )
