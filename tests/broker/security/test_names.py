"""Principals, and the names that certificates give."""

import pytest

from kaas.broker.security.names import BadName, certificate_name, distinguished_name, mapping_rules, super_users

SUBJECT = ((("countryName", "DE"),), (("organizationName", "Example, Inc."),), (("commonName", "Alice"),))


def test_a_subject_is_written_with_the_most_special_part_first():
    assert distinguished_name(SUBJECT) == r"CN=Alice,O=Example\, Inc.,C=DE"


def test_parts_of_one_level_are_joined_by_a_plus():
    assert distinguished_name(((("userId", "a"), ("emailAddress", "a@b")),)) == "UID=a+emailAddress=a@b"


@pytest.mark.parametrize(
    ("value", "text"), [("#x", r"CN=\#x"), (" x", r"CN=\ x"), ("x ", r"CN=x\ "), ('a"b', r"CN=a\"b"), ("x", "CN=x")]
)
def test_what_would_be_misread_is_escaped(value, text):
    assert distinguished_name(((("commonName", value),),)) == text


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("", r"CN=Alice,O=Example\, Inc.,C=DE"),
        ("DEFAULT", r"CN=Alice,O=Example\, Inc.,C=DE"),
        ("RULE:^CN=(.*?),.*$/$1/", "Alice"),
        ("RULE:^CN=(.*?),.*$/$1/L", "alice"),
        ("RULE:^CN=(.*?),.*$/$1@x/U, DEFAULT", "ALICE@X"),
        ("RULE:^CN=Bob.*$/bob/,DEFAULT", r"CN=Alice,O=Example\, Inc.,C=DE"),
        ("RULE:^CN=(Bob)?.*$/<$1>/", "<>"),
    ],
)
def test_the_first_rule_that_fits_makes_the_name(text, name):
    assert certificate_name(SUBJECT, mapping_rules(text)) == name


def test_a_subject_that_no_rule_fits_is_refused():
    with pytest.raises(BadName, match="no rule"):
        certificate_name(SUBJECT, mapping_rules("RULE:^CN=Bob.*$/bob/"))


@pytest.mark.parametrize("text", ["ALICE", "RULE:x", "RULE:(/x/", "RULE:x/$1/", "RULE:a/b/X", "DEFAULT;DEFAULT"])
def test_rules_that_cannot_be_are_refused(text):
    with pytest.raises(ValueError):
        mapping_rules(text)


def test_super_users_are_principals():
    assert super_users("User:a; User:CN=b,O=c;") == {"User:a", "User:CN=b,O=c"}
    assert super_users("") == frozenset()
    with pytest.raises(ValueError, match="'b' is not of the form"):
        super_users("User:a;b")
