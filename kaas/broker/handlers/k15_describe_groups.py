"""DescribeGroups (key 15), versions 0-6: classic groups with their members.

Versions: 1 throttle time; 3 authorized operations; 4 group instance ids; 5 flexible; 6 an unknown group is 69 with a message
(KIP-1043), where versions below say "Dead" without an error.
Left out: nothing. A group of another type is answered as an unknown one.
"""

from __future__ import annotations

from typing import Any

from kaas.broker.broker import Broker
from kaas.broker.partitions import UNASKED_OPERATIONS
from kaas.broker.request import Request
from kaas.broker.security.guard import authorized_operations, may
from kaas.broker.security.operations import GROUP_OPERATIONS, Kind, Operation
from kaas.coordinator import queries
from kaas.coordinator.queries import DescribedGroup
from kaas.errors import ErrorCode
from kaas.wire.apis import DESCRIBE_GROUPS

API = DESCRIBE_GROUPS


def handle(broker: Broker, request: Request) -> None:
    """Serve a DescribeGroups."""
    message, version = request.decode(), request.version
    told = version >= 3 and message.include_authorized_operations
    request.answer({"groups": [described(broker, request, group_id, told) for group_id in message.groups]})


def described(broker: Broker, request: Request, group_id: str, told: bool) -> dict[str, Any]:
    """One group, as far as the client may know of it."""
    if not may(request, Operation.DESCRIBE, Kind.GROUP, group_id):
        return {
            "error_code": ErrorCode.GROUP_AUTHORIZATION_FAILED,
            "group_id": group_id,
            "authorized_operations": UNASKED_OPERATIONS,
        }
    operations = (
        authorized_operations(request, Kind.GROUP, group_id, of=GROUP_OPERATIONS) if told else UNASKED_OPERATIONS
    )
    return values(queries.describe_group(broker.groups.coordinator, group_id), request.version, operations)


def values(group: DescribedGroup, version: int, operations: int) -> dict[str, Any]:
    unknown = group.code is ErrorCode.GROUP_ID_NOT_FOUND
    code = ErrorCode.NONE if unknown and version < 6 else group.code
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
        "authorized_operations": UNASKED_OPERATIONS if code else operations,
    }
