"""groups.api.throttling, and tokens that open nothing."""

from __future__ import annotations

import pytest

from groups.api.authentication import REFUSED_TOKENS
from groups.testing.fixtures import Caller

TOKENS = "/api/v1/tokens/"


@pytest.fixture(autouse=True)
def few(feed, settings):
    settings.KAAS_API_PER_MINUTE = 3


def test_a_token_that_asks_too_often_is_told_to_wait_and_for_how_long(api):
    for _ in range(3):
        api("GET", TOKENS)
    answer = api.raw("GET", TOKENS)
    problem = answer.json()
    assert answer.status_code == 429 and 0 < int(answer["Retry-After"]) <= 60
    assert (problem["kind"], problem["retriable"]) == ("rate_limited", True)
    assert f"{answer['Retry-After']} s" in problem["message"]


def test_each_token_and_each_user_has_an_allowance_of_its_own(api, make_caller, client, admin_user):
    for _ in range(4):
        api.raw("GET", TOKENS)
    make_caller("read")("GET", TOKENS)
    client.force_login(admin_user)
    assert [client.get(TOKENS).status_code for _ in range(4)] == [200, 200, 200, 429]


def test_a_write_that_was_not_allowed_is_not_done(api):
    for _ in range(3):
        api("GET", TOKENS)
    api("POST", TOKENS, {"name": "x", "role": "read"}, expect=429)


def test_many_tokens_that_open_nothing_close_the_door_for_others_like_them(db, api):
    stranger = Caller("kaas_nonsense")
    statuses = [stranger.raw("GET", TOKENS).status_code for _ in range(REFUSED_TOKENS.count + 1)]
    assert statuses == [401] * REFUSED_TOKENS.count + [429]
    assert int(stranger.raw("GET", TOKENS)["Retry-After"]) > 0
    api("GET", TOKENS)
