"""DeleteGroups (key 42), versions 0-2: removes groups without members, with all of their offsets.

Versions: 1 throttle time; 2 flexible. A group named twice is answered once.
Left out: nothing.
"""

from __future__ import annotations

import functools

from kaas.broker.broker import Broker
from kaas.broker.gathering import Gathering
from kaas.broker.request import Request
from kaas.broker.security.guard import may
from kaas.broker.security.operations import Kind, Operation
from kaas.coordinator import events
from kaas.coordinator.answers import DeleteGroupAnswer
from kaas.errors import ErrorCode
from kaas.wire.apis import DELETE_GROUPS

API = DELETE_GROUPS


def handle(broker: Broker, request: Request) -> None:
    """Serve a DeleteGroups."""
    group_ids = list(dict.fromkeys(request.decode().groups_names))
    gathering: Gathering[str, ErrorCode] = Gathering(group_ids, functools.partial(reply, request))
    for group_id in group_ids:
        if not may(request, Operation.DELETE, Kind.GROUP, group_id):
            gathering.put(group_id, ErrorCode.GROUP_AUTHORIZATION_FAILED)
            continue
        broker.groups.submit(
            events.DeleteGroup(reply_to=functools.partial(take, gathering, group_id), group_id=group_id)
        )


def take(gathering: Gathering[str, ErrorCode], group_id: str, answer: DeleteGroupAnswer) -> None:
    gathering.put(group_id, answer.code)


def reply(request: Request, codes: dict[str, ErrorCode]) -> None:
    request.answer({"results": [{"group_id": group_id, "error_code": code} for group_id, code in codes.items()]})
