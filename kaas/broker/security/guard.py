"""May this client do that? The one question that handlers ask before they do something or show something.

Rules: while there are no rules the answer is yes, and costs next to nothing. A handler asks only for what the table of rights
says of its API (kaas.broker.security.operations), so that the table is the whole truth.
Must not know: what an API means, where rules come from.
"""

from __future__ import annotations

from kaas.broker.request import Request
from kaas.broker.security.operations import CLUSTER_NAME, NEEDS, Kind, Operation
from kaas.broker.security.rules import Rules


def may(request: Request, operation: Operation, kind: Kind, name: str = CLUSTER_NAME) -> bool:
    """Whether the client of a request may do this with a resource."""
    rules = request.broker.rules
    return rules is None or _asked(rules, request, operation, kind, name)


def _asked(rules: Rules, request: Request, operation: Operation, kind: Kind, name: str) -> bool:
    assert any(need[:2] == (operation, kind) for need in NEEDS[request.key]), "the table of rights does not say so"
    connection = request.connection
    return rules.allows(connection.principal, connection.address, operation, kind, name)


def may_with_any(request: Request, operation: Operation, kind: Kind) -> bool:
    """Whether there can be a resource of a kind with which it may do this."""
    rules = request.broker.rules
    if rules is None:
        return True
    connection = request.connection
    return rules.allows_any(connection.principal, connection.address, operation, kind)


def authorized_operations(request: Request, kind: Kind, name: str = CLUSTER_NAME, *, of: int) -> int:
    """Those of some operations that the client may do with a resource, as bits of Kafka's numbers; none if it may not even
    describe it.
    """
    rules, connection = request.broker.rules, request.connection
    if rules is None:
        return of
    allowed = [
        operation
        for operation in Operation
        if of >> operation & 1 and rules.allows(connection.principal, connection.address, operation, kind, name)
    ]
    return sum(1 << operation for operation in allowed) if Operation.DESCRIBE in allowed else 0
