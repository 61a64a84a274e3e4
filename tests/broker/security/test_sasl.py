"""The states of an authentication."""

import pytest

from kaas.broker.security.failure import AuthenticationFailed
from kaas.broker.security.names import ANONYMOUS
from kaas.broker.security.sasl import Phase, SaslSession


class Exchange:
    """Knows its user at once."""

    is_costly = False

    def __init__(self, user):
        self.user = user

    def step(self, token):
        return token


def session(*users):
    names = iter(users)
    return SaslSession({"PLAIN": lambda: Exchange(next(names)), "OTHER": lambda: Exchange("other")})


def signed_in(one, now_ms=0, lifetime_ms=0, mechanism="PLAIN"):
    one.begin(mechanism, raw=False)
    return one.settle(now_ms, lifetime_ms)


def test_it_goes_from_handshake_to_tokens_to_open():
    one = session("alice")
    assert one.phase is Phase.HANDSHAKE and one.principal == ANONYMOUS and one.mechanisms == ("PLAIN", "OTHER")
    one.begin("PLAIN", raw=True)
    assert one.phase is Phase.TOKENS and one.is_raw and not one.may_begin
    assert one.settle(0, 0) and one.phase is Phase.OPEN
    assert one.principal == "User:alice" and one.expires_at_ms is None and not one.has_expired(10**12)


def test_an_exchange_that_is_not_complete_is_waited_for():
    one = session(None)
    assert not signed_in(one) and one.phase is Phase.TOKENS


def test_a_mechanism_that_is_not_offered_fails():
    with pytest.raises(AuthenticationFailed, match="'GSSAPI' is not offered"):
        session().begin("GSSAPI", raw=False)


def test_what_was_shown_holds_for_its_time():
    one = session("alice", "alice")
    signed_in(one, 1_000, 500)
    assert not one.has_expired(1_499) and one.has_expired(1_500) and one.may_begin
    signed_in(one, 1_600, 500)
    assert not one.has_expired(2_099)


def test_who_signs_in_again_must_be_the_same():
    one = session("alice", "bob")
    signed_in(one, lifetime_ms=500)
    with pytest.raises(AuthenticationFailed, match="it was User:alice before"):
        signed_in(one)


def test_who_signs_in_again_keeps_to_the_mechanism():
    one = session("alice")
    signed_in(one, lifetime_ms=500)
    with pytest.raises(AuthenticationFailed, match="the mechanism changes"):
        one.begin("OTHER", raw=False)


def test_nothing_comes_of_one_that_failed():
    one = session("alice")
    one.begin("PLAIN", raw=False)
    one.fail()
    assert one.phase is Phase.FAILED and not one.may_begin
