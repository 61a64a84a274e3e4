"""groups.login."""

from __future__ import annotations

import pytest

from groups.login import OF_ADDRESS, OF_NAME, OF_NAME_AND_ADDRESS, WINDOW_S, login_check, login_succeeded
from groups.problems import Problem

pytestmark = pytest.mark.usefixtures("feed")


def attempt(count, username="ann", address="10.0.0.1"):
    for _ in range(count):
        login_check(username, address)


def closed(username="ann", address="10.0.0.1"):
    with pytest.raises(Problem) as refused:
        login_check(username, address)
    assert refused.value.kind.status == 429 and 0 < refused.value.retry_after_s <= WINDOW_S
    return refused.value.message


def test_a_few_tries_are_forgiven_and_many_close_the_door():
    attempt(OF_NAME_AND_ADDRESS.count)
    assert "10 minutes" in closed()


def test_a_name_that_is_closed_at_one_address_is_open_at_another():
    attempt(OF_NAME_AND_ADDRESS.count)
    closed()
    attempt(1, address="10.9.9.9")
    attempt(1, username="bob")


def test_a_name_is_closed_everywhere_after_many_tries_from_many_addresses():
    for number in range(OF_NAME.count):
        attempt(1, address=f"10.0.1.{number}")
    closed(address="10.9.9.9")


def test_one_address_may_not_try_many_names():
    for number in range(OF_ADDRESS.count):
        attempt(1, username=f"user-{number}")
    closed(username="somebody")
    attempt(1, username="somebody", address="10.0.0.2")


def test_the_right_password_gives_the_tries_back():
    attempt(OF_NAME_AND_ADDRESS.count)
    login_succeeded("ann", "10.0.0.1")
    attempt(1)


def test_names_of_any_length_and_characters_are_counted():
    name = "x\x00\ud800" * 500
    attempt(OF_NAME_AND_ADDRESS.count, username=name)
    closed(username=name)
