"""The one question that handlers ask."""

from types import SimpleNamespace

import pytest

from kaas.broker.security.guard import authorized_operations, may, may_with_any
from kaas.broker.security.operations import Kind, Operation
from kaas.broker.security.rules import Rule, Rules
from kaas.wire.apis import HEARTBEAT, INIT_PRODUCER_ID

ALL = 1 << Operation.READ | 1 << Operation.DELETE | 1 << Operation.DESCRIBE


def rules(*operations, kind=Kind.GROUP, name="g"):
    rule = Rule(
        permission_type="ALLOW",
        principal="User:alice",
        operations=[operation.name for operation in operations],
        resource_type=kind.name,
        resource_name=name,
    )
    return Rules((rule,), super_users=frozenset(), everyone_if_none=False)


def request(in_force, key=HEARTBEAT.key, principal="User:alice"):
    connection = SimpleNamespace(principal=principal, address="127.0.0.1")
    return SimpleNamespace(key=key, connection=connection, broker=SimpleNamespace(rules=in_force))


def test_without_rules_everything_is_allowed_and_nothing_is_looked_up():
    assert may(SimpleNamespace(broker=SimpleNamespace(rules=None)), Operation.READ, Kind.GROUP, "g")
    assert may_with_any(SimpleNamespace(broker=SimpleNamespace(rules=None)), Operation.WRITE, Kind.TOPIC)
    assert authorized_operations(request(None), Kind.GROUP, "g", of=ALL) == ALL


def test_rules_are_asked_for_the_principal_of_the_connection():
    in_force = rules(Operation.READ)
    assert may(request(in_force), Operation.READ, Kind.GROUP, "g")
    assert not may(request(in_force), Operation.READ, Kind.GROUP, "other")
    assert not may(request(in_force, principal="User:bob"), Operation.READ, Kind.GROUP, "g")


def test_a_handler_that_asks_for_what_the_table_does_not_say_is_a_fault():
    with pytest.raises(AssertionError, match="the table of rights"):
        may(request(rules(Operation.READ)), Operation.WRITE, Kind.TOPIC, "t")


def test_any_resource_of_a_kind_is_enough_where_that_is_asked():
    in_force = rules(Operation.WRITE, kind=Kind.TOPIC, name="t")
    assert may_with_any(request(in_force, INIT_PRODUCER_ID.key), Operation.WRITE, Kind.TOPIC)
    assert not may_with_any(request(in_force, INIT_PRODUCER_ID.key, "User:bob"), Operation.WRITE, Kind.TOPIC)


@pytest.mark.parametrize(
    ("allowed", "told"),
    [
        ([Operation.READ], {Operation.READ, Operation.DESCRIBE}),
        ([Operation.DESCRIBE], {Operation.DESCRIBE}),
        ([Operation.ALL], {Operation.READ, Operation.DELETE, Operation.DESCRIBE}),
        ([Operation.WRITE], {Operation.DESCRIBE}),
        ([Operation.ALTER_CONFIGS], set()),
    ],
)
def test_operations_are_told_as_far_as_they_are_allowed(allowed, told):
    found = authorized_operations(request(rules(*allowed)), Kind.GROUP, "g", of=ALL)
    assert found == sum(1 << operation for operation in told)
