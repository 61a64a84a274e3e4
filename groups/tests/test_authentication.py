"""groups.authentication."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db import IntegrityError, transaction
from django.utils import timezone

from groups.authentication import principal_again, principal_of_token, principal_of_user, token_digest, token_text
from groups.choices import Role
from groups.models import RoleBinding, Token


@pytest.fixture
def ann(db):
    return get_user_model().objects.create_user("ann")


def token(owner, **more):
    text = token_text()
    Token.objects.create(owner=owner, name="t", digest=token_digest(text), role=Role.READ, **more)
    return text


@pytest.mark.parametrize(("name", "role"), [("viewer", Role.READ), ("operator", Role.OPERATE), ("admin", Role.ADMIN)])
def test_djangos_own_groups_give_their_role_everywhere(ann, name, role):
    ann.groups.add(Group.objects.get(name=name))
    assert principal_of_user(ann).role_on("local", "x") == role


def test_bindings_of_the_user_and_of_its_groups_add_up(ann):
    team = Group.objects.create(name="team")
    ann.groups.add(team)
    RoleBinding.objects.create(group=team, role=Role.READ)
    RoleBinding.objects.create(user=ann, role=Role.OPERATE, group_pattern="mine*")
    principal = principal_of_user(ann)
    assert principal.role_on("local", "mine-1") == Role.OPERATE and principal.role_on("local", "x") == Role.READ


def test_a_user_without_rights_sees_nothing_and_a_superuser_everything(ann):
    assert principal_of_user(ann).role_anywhere("local") is None
    assert principal_of_user(get_user_model().objects.create_superuser("root")).is_admin()


def test_a_binding_is_for_one_user_or_one_group(ann):
    team = Group.objects.create(name="team")
    for who in ({}, {"user": ann, "group": team}):
        with pytest.raises(IntegrityError), transaction.atomic():
            RoleBinding.objects.create(role=Role.READ, **who)


def test_a_token_is_its_owner_with_a_limit(ann):
    RoleBinding.objects.create(user=ann, role=Role.ADMIN)
    principal = principal_of_token(token(ann, group_pattern="a*"), timezone.now())
    assert principal.actor == "ann (t)" and principal.role_on("local", "ab") == Role.READ
    assert principal.role_on("local", "b") is None


def test_a_token_that_is_over_wrong_or_switched_off_opens_nothing(ann):
    now = timezone.now()
    assert principal_of_token(token(ann, expires_at=now), now) is None
    assert principal_of_token(token(ann, expires_at=now + timedelta(seconds=1)), now) is not None
    for nonsense in ("", "kaas_", "\ud800", "x" * 100_000):
        assert principal_of_token(nonsense, now) is None
    text = token(ann)
    ann.is_active = False
    ann.save()
    assert principal_of_token(text, now) is None


def test_a_principal_is_asked_again(ann):
    now = timezone.now()
    RoleBinding.objects.create(user=ann, role=Role.ADMIN)
    session, bearer = principal_of_user(ann), principal_of_token(token(ann), now)
    assert principal_again(session, now) == session and principal_again(bearer, now) == bearer
    Token.objects.all().delete()
    assert principal_again(bearer, now) is None and principal_again(session, now) == session
    RoleBinding.objects.all().delete()
    assert principal_again(session, now).grants == ()
    ann.delete()
    assert principal_again(session, now) is None


def test_two_tokens_are_never_alike():
    assert len({token_text() for _ in range(100)}) == 100


def test_a_tokens_use_is_noted_once_a_minute(ann):
    now = timezone.now()
    text = token(ann)
    assert Token.objects.get().last_used_at is None
    principal_of_token(text, now)
    principal_of_token(text, now + timedelta(seconds=59))
    assert Token.objects.get().last_used_at == now
    principal_of_token(text, now + timedelta(seconds=60))
    assert Token.objects.get().last_used_at == now + timedelta(seconds=60)


def test_asking_again_is_no_use(ann):
    now = timezone.now()
    bearer = principal_of_token(token(ann), now)
    principal_again(bearer, now + timedelta(hours=1))
    assert Token.objects.get().last_used_at == now


def test_a_principal_of_a_session_ends_with_it(ann, client):
    ann.set_password("first")
    ann.save()
    client.force_login(ann)
    key = client.session.session_key
    principal = principal_of_user(ann, key)
    assert principal_again(principal, timezone.now()) == principal and key not in repr(principal)
    ann.set_password("second")
    ann.save()
    assert principal_again(principal, timezone.now()) is None
    assert principal_again(principal_of_user(ann, "nonsense"), timezone.now()) is None


def test_somebody_elses_session_is_not_ones_own(ann, client):
    client.force_login(get_user_model().objects.create_user("bob"))
    assert principal_again(principal_of_user(ann, client.session.session_key), timezone.now()) is None
