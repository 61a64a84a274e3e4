"""groups.provider."""

from __future__ import annotations

import pytest

from groups.provider import Provider

ROLES = (("kafka-admins", "admin"), ("staff", "viewer"))


@pytest.mark.parametrize(
    ("held", "groups"),
    [
        (["kafka-admins", "x"], {"admin"}),
        (["kafka-admins", "staff"], {"admin", "viewer"}),
        ("staff", {"viewer"}),
        ("kafka-admins staff", set()),
        (None, set()),
        ([None, 1, {}], set()),
        ({"staff": True}, set()),
        ([], set()),
    ],
)
def test_roles_come_from_whole_values_of_the_claim(held, groups):
    provider = Provider(issuer="https://login", client_id="c", roles=ROLES)
    assert provider.groups_of({"groups": held}) == groups
    assert provider.groups_of({}) == set()


def test_everybody_may_have_a_role():
    provider = Provider(issuer="https://login", client_id="c", role_claim="roles", roles=(*ROLES, ("*", "viewer")))
    assert provider.groups_of({"sub": "ann"}) == {"viewer"}
    assert provider.groups_of({"roles": "kafka-admins"}) == {"admin", "viewer"}


def test_its_secret_is_not_shown():
    assert "hush" not in repr(Provider(issuer="https://login", client_id="c", client_secret="hush"))
