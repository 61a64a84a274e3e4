"""PLAIN, the broker's side."""

import pytest

from kaas.broker.security.failure import AuthenticationFailed
from kaas.broker.security.plain import CHECKED_WITH, PlainExchange
from kaas.broker.security.scram import make_keys

KNOWN = {"alice": make_keys(CHECKED_WITH, "secret", salt=b"salt", iterations=4_096)}


@pytest.mark.parametrize("token", [b"\0alice\0secret", b"alice\0alice\0secret"])
def test_who_knows_the_password_is_let_in(token):
    exchange = PlainExchange(KNOWN.get)
    assert exchange.step(token) == b"" and exchange.user == "alice" and exchange.is_costly


@pytest.mark.parametrize(
    ("token", "name"),
    [
        (b"\0alice\0wrong", "alice"),
        (b"\0bob\0secret", "bob"),
        (b"bob\0alice\0secret", "alice"),
        (b"\0alice\0", "alice"),
        (b"\0\0secret", ""),
        (b"alice secret", ""),
        (b"\0alice\0secret\0more", ""),
        (b"\0\xff\0secret", ""),
        (b"", ""),
    ],
)
def test_everybody_else_is_not(token, name):
    exchange = PlainExchange(KNOWN.get)
    with pytest.raises(AuthenticationFailed) as failed:
        exchange.step(token)
    assert exchange.user is None and failed.value.user == name and "secret" not in failed.value.reason


def test_a_name_that_nobody_has_costs_as_much_as_a_wrong_password(monkeypatch):
    hashed = []
    monkeypatch.setattr("kaas.broker.security.plain.fits", lambda *arguments: hashed.append(arguments[0]))
    for token in (b"\0alice\0wrong", b"\0bob\0wrong"):
        with pytest.raises(AuthenticationFailed):
            PlainExchange(KNOWN.get).step(token)
    assert hashed == [CHECKED_WITH] * 2
