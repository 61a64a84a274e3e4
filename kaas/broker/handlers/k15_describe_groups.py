"""DescribeGroups (key 15), versions 0-6: classic groups with their members.

Versions: 1 throttle time; 3 authorized operations; 4 group instance ids; 5 flexible; 6 an unknown group is 69 with a message
(KIP-1043), where versions below say "Dead" without an error.
Left out: nothing. A group of another type is answered as an unknown one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kaas.coordinator import queries
from kaas.coordinator.queries import DescribedGroup
from kaas.errors import ErrorCode
from kaas.wire.apis import DESCRIBE_GROUPS

if TYPE_CHECKING:
    from kaas.broker.request import Request
    from kaas.broker.server import Broker

API = DESCRIBE_GROUPS
UNASKED = -(2**31)
READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS = 3, 6, 8, 10, 11
"""Kafka's numbers of operations (AclOperation)."""
ALL_OPERATIONS = sum(1 << n for n in (READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS))


def handle(broker: Broker, request: Request) -> None:
    """Serve a DescribeGroups."""
    message, version = request.decode(), request.version
    told = version >= 3 and message.include_authorized_operations
    found = [queries.describe_group(broker.groups.coordinator, group_id) for group_id in message.groups]
    request.answer({"groups": [values(group, version, told) for group in found]})


def values(group: DescribedGroup, version: int, told: bool) -> dict[str, Any]:
    unknown = group.code is ErrorCode.GROUP_ID_NOT_FOUND
    code = ErrorCode.NONE if unknown and version < 6 else group.code
    operations = ALL_OPERATIONS if told and not code else UNASKED
    return {
        "error_code": code,
        "error_message": f"Group {group.group_id} not found." if code and unknown else None,
        "group_id": group.group_id,
        "group_state": group.state,
        "protocol_type": group.protocol_type,
        "protocol_data": group.protocol_name,
        "members": [
            {
                "member_id": m.member_id,
                "group_instance_id": m.instance_id,
                "client_id": m.client_id,
                "client_host": m.client_host,
                "member_metadata": m.metadata,
                "member_assignment": m.assignment,
            }
            for m in group.members
        ],
        "authorized_operations": operations,
    }
