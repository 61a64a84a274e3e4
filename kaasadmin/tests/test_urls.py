"""kaasadmin.urls."""

from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model
from django.urls import get_resolver, reverse

pytestmark = pytest.mark.django_db


def test_the_admin_pages_have_no_door_of_their_own(client, admin_user):
    answer = client.get("/admin/", follow=True)
    assert answer.redirect_chain[-1][0].startswith("/login/?next=")
    assert client.post("/admin/login/", {"username": "admin", "password": "x"}).status_code == 302
    client.force_login(admin_user)
    assert client.get("/admin/login/?next=/admin/", follow=True).redirect_chain == [("/admin/", 302)]


def test_whoever_is_no_administrator_is_told_so(client):
    client.force_login(get_user_model().objects.create_user("ann"))
    assert client.get("/admin/", follow=True).status_code == 403


@pytest.mark.parametrize(
    "model", ["groups.rolebinding", "groups.token", "groups.identity", "groups.auditrow", "auth.user", "auth.group"]
)
def test_rights_are_kept_in_the_admin_pages(client, admin_user, model):
    client.force_login(admin_user)
    app, name = model.split(".")
    assert client.get(reverse(f"admin:{app}_{name}_changelist")).status_code == 200


def test_a_password_is_changed_by_its_owner(client):
    user = get_user_model().objects.create_user("ann", password="first")
    client.force_login(user)
    assert client.get("/password/").status_code == 200
    wrong = {"old_password": "wrong", "new_password1": "second-Passw0rd", "new_password2": "second-Passw0rd"}
    assert client.post("/password/", wrong).status_code == 200
    assert client.post("/password/", {**wrong, "old_password": "first"}).status_code == 302
    user.refresh_from_db()
    assert user.check_password("second-Passw0rd")


def test_no_two_addresses_are_the_same():
    names = [pattern.name for pattern in get_resolver().url_patterns if getattr(pattern, "name", None)]
    assert len(names) == len(set(names))
