"""Who may do what: decisions as Apache's authoriser makes them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaas.broker.security.operations import Kind, Operation
from kaas.broker.security.rules import Rule, Rules, parse
from tests.support.laws import law

ALICE, BOB, HOST = "User:alice", "User:bob", "10.0.0.1"


def rule(permission="ALLOW", operation="READ", name="orders", principal=ALICE, **more):
    return Rule(
        permission_type=permission,
        principal=principal,
        operations=[operation],
        resource_type=more.pop("kind", "TOPIC"),
        resource_name=name,
        **more,
    )


def asked(*rules, principal=ALICE, operation=Operation.READ, kind=Kind.TOPIC, name="orders", host=HOST, **more):
    made = Rules(rules, **{"super_users": frozenset(), "everyone_if_none": False, **more})
    return made.allows(principal, host, operation, kind, name)


def test_who_is_allowed_may():
    assert asked(rule())


@pytest.mark.parametrize(
    "question",
    [
        {"principal": BOB},
        {"operation": Operation.WRITE},
        {"name": "other"},
        {"name": "orders2"},
        {"kind": Kind.GROUP},
    ],
)
def test_what_no_rule_allows_is_refused(question):
    assert not asked(rule(), **question)


def test_everybody_is_a_principal():
    assert asked(rule(principal="User:*"), principal=BOB)


def test_one_rule_may_be_about_every_resource_of_its_kind():
    assert asked(rule(name="*"), name="whatever") and not asked(rule(name="*"), kind=Kind.GROUP)


def test_a_prefix_is_about_every_name_that_begins_with_it():
    prefixed = rule(name="ord", pattern_type="PREFIXED")
    assert asked(prefixed, name="orders") and asked(prefixed, name="ord") and not asked(prefixed, name="or")


def test_a_host_counts_where_a_rule_names_one():
    assert asked(rule(host=HOST)) and not asked(rule(host="10.0.0.2"))


@pytest.mark.parametrize(
    "deny",
    [rule("DENY"), rule("DENY", "ALL"), rule("DENY", name="*"), rule("DENY", name="o", pattern_type="PREFIXED")],
)
def test_what_is_denied_is_refused_whatever_else_is_allowed(deny):
    assert not asked(rule(), rule(name="*"), deny)
    assert asked(rule(), rule(operation="WRITE"), deny, operation=Operation.WRITE) is ("ALL" not in deny.operations)


@pytest.mark.parametrize("operation", ["READ", "WRITE", "DELETE", "ALTER", "ALL", "DESCRIBE"])
def test_who_may_do_something_with_it_may_describe_it(operation):
    assert asked(rule(operation=operation), operation=Operation.DESCRIBE)


def test_to_deny_one_operation_denies_no_other():
    assert asked(rule(operation="DESCRIBE"), rule("DENY", "READ"), operation=Operation.DESCRIBE)


def test_who_may_alter_settings_may_see_them():
    assert asked(rule(operation="ALTER_CONFIGS"), operation=Operation.DESCRIBE_CONFIGS)
    assert not asked(rule(operation="ALTER"), operation=Operation.DESCRIBE_CONFIGS)


def test_a_super_user_may_do_everything():
    assert asked(rule("DENY"), super_users=frozenset({ALICE}))


def test_what_no_rule_names_is_open_only_where_a_setting_says_so():
    assert not asked() and asked(everyone_if_none=True)
    assert not asked(rule(principal=BOB), everyone_if_none=True)


@pytest.mark.parametrize(
    ("rules", "any_allowed"),
    [
        ([], False),
        ([rule()], True),
        ([rule(), rule("DENY")], False),
        ([rule(), rule("DENY", name="o", pattern_type="PREFIXED")], False),
        ([rule(), rule("DENY", name="*")], False),
        ([rule(name="*"), rule("DENY")], True),
        ([rule(name="*"), rule("DENY", name="o", pattern_type="PREFIXED")], True),
        ([rule(name="o", pattern_type="PREFIXED"), rule("DENY")], True),
        ([rule(principal=BOB)], False),
        ([rule(operation="WRITE")], False),
    ],
)
def test_whether_there_can_be_a_resource_is_known(rules, any_allowed):
    made = Rules(tuple(rules), super_users=frozenset(), everyone_if_none=False)
    assert made.allows_any(ALICE, HOST, Operation.READ, Kind.TOPIC) is any_allowed
    assert not made.allows_any(ALICE, HOST, Operation.READ, Kind.GROUP)


NAMES = st.sampled_from(["a", "ab", "abc", "b"])
RULES = st.lists(
    st.builds(
        rule,
        st.sampled_from(["ALLOW", "DENY"]),
        st.sampled_from(["READ", "WRITE", "ALL"]),
        NAMES | st.just("*"),
        st.sampled_from([ALICE, "User:*"]),
        pattern_type=st.sampled_from(["LITERAL", "PREFIXED"]),
    ),
    max_size=6,
)


@given(RULES, NAMES)
@law
def test_a_rule_that_denies_never_gives_and_one_that_allows_never_takes(rules, name):
    before = asked(*rules, name=name)
    assert not (asked(*rules, rule("DENY", name="*"), name=name) and not before)
    assert asked(*rules, rule(name="*"), name=name) or not before


@given(RULES, NAMES)
@law
def test_where_one_may_there_can_be_a_resource_with_which_one_may(rules, name):
    made = Rules(tuple(rules), super_users=frozenset(), everyone_if_none=False)
    if made.allows(ALICE, HOST, Operation.READ, Kind.TOPIC, name):
        assert made.allows_any(ALICE, HOST, Operation.READ, Kind.TOPIC)


GOOD = {
    "permission_type": "ALLOW",
    "principal": "User:alice",
    "operations": ["READ", "DESCRIBE"],
    "resource_type": "GROUP",
    "resource_name": "orders-",
    "pattern_type": "PREFIXED",
}


def test_a_file_of_rules_is_read():
    (read,) = parse(json.dumps({"rules": [GOOD]}).encode())
    assert read.allows and read.host == "*" and read.covers("orders-1")


@pytest.mark.parametrize(
    "changes",
    [
        {"permission_type": "PERMIT"},
        {"principal": "alice"},
        {"operations": ["FLY"]},
        {"operations": "READ"},
        {"resource_type": "PLANET"},
        {"pattern_type": "MATCH"},
        {"resouce": "x"},
        {"resource_name": None},
    ],
)
def test_a_rule_that_cannot_be_is_refused(changes):
    with pytest.raises(ValueError):
        parse(json.dumps({"rules": [{**GOOD, **changes}]}).encode())


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"rules": null}'])
def test_a_file_without_rules_is_not_a_file_of_rules(data):
    with pytest.raises(ValueError):
        parse(data)
