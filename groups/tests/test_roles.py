"""groups.roles."""

from __future__ import annotations

from django.contrib.auth.models import Group

from groups.models import RoleBinding
from groups.roles import roles_ensure


def test_the_three_groups_are_there_after_a_migration(db):
    names = RoleBinding.objects.values_list("group__name", "role").order_by("pk")
    assert list(names) == [("viewer", "read"), ("operator", "operate"), ("admin", "admin")]


def test_what_an_administrator_took_away_stays_away(db):
    RoleBinding.objects.filter(group__name="viewer").delete()
    Group.objects.filter(name="operator").delete()
    roles_ensure()
    assert not RoleBinding.objects.filter(group__name="viewer").exists()
    assert RoleBinding.objects.filter(group__name="operator").count() == 1
