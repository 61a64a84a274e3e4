"""What the APIs of transactions say alike.

Must not know: a single API.
Source: PROTOCOL 7.2 in docs/PROTOCOL.md; KIP-98, KIP-588 (the code of a fenced producer).
"""

from __future__ import annotations

from kaas.broker.request import Request
from kaas.broker.security.guard import may
from kaas.broker.security.operations import Kind, Operation
from kaas.coordinator.transactions.events import ProducerAnswer
from kaas.errors import ErrorCode

NOT_GIVEN = -1
"""A producer id or an epoch that a request leaves open."""
NO_ID = ProducerAnswer(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
"""The disk gives no new producer ids now: ask again."""


def fenced_code(version: int, since: int) -> ErrorCode:
    """What a producer of another epoch hears: from a version on that it must stop, before that its epoch is wrong."""
    return ErrorCode.PRODUCER_FENCED if version >= since else ErrorCode.INVALID_PRODUCER_EPOCH


def refusal_of(request: Request, transactional_id: str, group_id: str) -> ErrorCode | None:
    """Why the client may not commit offsets of this group in this transaction."""
    if not may(request, Operation.WRITE, Kind.TRANSACTIONAL_ID, transactional_id):
        return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    if not may(request, Operation.READ, Kind.GROUP, group_id):
        return ErrorCode.GROUP_AUTHORIZATION_FAILED
    return None
