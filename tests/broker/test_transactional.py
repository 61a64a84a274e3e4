"""What the APIs of transactions say alike."""

from types import SimpleNamespace

import pytest

from kaas.broker.security.rules import Rule, Rules
from kaas.broker.transactional import fenced_code, refusal_of
from kaas.errors import ErrorCode
from kaas.wire.apis import ADD_OFFSETS_TO_TXN


def test_a_producer_is_told_that_it_is_fenced_from_a_version_on():
    assert [fenced_code(version, 2) for version in (1, 2, 3)] == [
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.PRODUCER_FENCED,
    ]


def rule(operation, kind, name):
    return Rule(
        permission_type="ALLOW", principal="User:alice", operations=[operation], resource_type=kind, resource_name=name
    )


WRITES = rule("WRITE", "TRANSACTIONAL_ID", "pay")
READS = rule("READ", "GROUP", "g")


@pytest.mark.parametrize(
    ("rules", "code"),
    [
        ((), ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        ((READS,), ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        ((WRITES,), ErrorCode.GROUP_AUTHORIZATION_FAILED),
        ((WRITES, READS), None),
    ],
)
def test_offsets_in_a_transaction_need_a_right_on_both_and_the_transaction_is_asked_first(rules, code):
    in_force = Rules(rules, super_users=frozenset(), everyone_if_none=False)
    request = SimpleNamespace(
        key=ADD_OFFSETS_TO_TXN.key,
        connection=SimpleNamespace(principal="User:alice", address="127.0.0.1"),
        broker=SimpleNamespace(rules=in_force),
    )
    assert refusal_of(request, "pay", "g") is code
