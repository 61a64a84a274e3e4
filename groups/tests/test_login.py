"""groups.login."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from groups.login import FAILURES_OF_ADDRESS, FAILURES_OF_USER, WINDOW, login_check, login_failed, login_succeeded
from groups.models import LoginFailure
from groups.problems import Problem

pytestmark = pytest.mark.django_db


def fail(count, username="ann", address="10.0.0.1"):
    for _ in range(count):
        login_failed(username, address)


def test_a_few_failures_are_forgiven_and_many_close_the_door():
    fail(FAILURES_OF_USER - 1)
    login_check("ann", "10.0.0.1")
    fail(1)
    with pytest.raises(Problem) as closed:
        login_check("ann", "10.9.9.9")
    assert closed.value.kind.status == 429 and "10 minutes" in closed.value.message
    login_check("bob", "10.0.0.1")


def test_one_address_may_not_try_many_names():
    for number in range(FAILURES_OF_ADDRESS):
        fail(1, username=f"user-{number}")
    with pytest.raises(Problem):
        login_check("somebody", "10.0.0.1")
    login_check("somebody", "10.0.0.2")


def test_the_door_opens_again_with_time_or_with_the_right_password():
    fail(FAILURES_OF_USER)
    LoginFailure.objects.update(at=timezone.now() - WINDOW - timedelta(seconds=1))
    login_check("ann", "10.0.0.1")
    fail(FAILURES_OF_USER)
    login_succeeded("ann")
    login_check("ann", "10.0.0.1")


def test_names_of_any_length_and_characters_are_counted():
    fail(FAILURES_OF_USER, username="x\x00" * 500)
    with pytest.raises(Problem):
        login_check("x\x00" * 500, "10.9.9.9")
