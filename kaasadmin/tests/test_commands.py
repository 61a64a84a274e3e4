"""manage.py administrator_ensure and token_create."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from django.contrib.auth import authenticate, get_user_model
from django.core.management import CommandError, call_command

from groups.models import Token
from groups.testing.fixtures import Caller

pytestmark = pytest.mark.django_db


def run(*command, **options):
    out = io.StringIO()
    call_command(*command, stdout=out, **options)
    return out.getvalue().splitlines()


def test_the_first_administrator_has_the_given_password(settings):
    settings.KAAS = replace(settings.KAAS, admin_password="given-Passw0rd")
    lines = run("administrator_ensure")
    assert lines == ["Administrator: admin"]
    assert authenticate(username="admin", password="given-Passw0rd").is_superuser
    assert run("administrator_ensure") == ["There is an administrator already."]


def test_or_a_made_one_that_is_printed_once(settings):
    settings.KAAS = replace(settings.KAAS, admin_password="")
    password = run("administrator_ensure")[-1].rpartition(": ")[2]
    assert len(password) >= 12 and authenticate(username="admin", password=password)


def test_a_token_is_the_last_line_printed(feed):
    get_user_model().objects.create_superuser("admin")
    text = run("token_create", "script")[-1]
    assert Caller(text)("GET", "/api/v1/tokens/")["items"][0]["name"] == "script"
    assert Token.objects.get().role == "admin"


def test_a_token_may_be_somebody_elses_and_narrow():
    get_user_model().objects.create_superuser("other")
    run("token_create", "script", "--user", "other", "--role", "read", "--cluster", "local", "--group-pattern", "a*")
    token = Token.objects.get()
    assert (token.owner.username, token.role, token.cluster_pattern, token.group_pattern) == (
        "other",
        "read",
        "local",
        "a*",
    )


def test_a_token_needs_an_owner_who_may():
    with pytest.raises(CommandError, match="no such user"):
        run("token_create", "script")
    get_user_model().objects.create_user("nobody")
    with pytest.raises(CommandError, match="no such right"):
        run("token_create", "script", "--user", "nobody")
