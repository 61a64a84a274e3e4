"""How authentication fails."""

from kaas.broker.security.failure import AuthenticationFailed


def test_it_tells_the_log_why_and_for_whom():
    failure = AuthenticationFailed("wrong credentials", "alice")
    assert (failure.reason, failure.user, str(failure)) == ("wrong credentials", "alice", "wrong credentials")


def test_a_client_need_not_have_given_a_name():
    assert AuthenticationFailed("a token that is no text").user == ""
