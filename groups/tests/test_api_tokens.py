"""/api/v1/tokens/."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.utils import timezone

from groups.models import AuditRow, RoleBinding, Token
from groups.testing.fixtures import CLUSTER, Caller

TOKENS = "/api/v1/tokens/"


def request(**more):
    return {"name": "script", "role": "read", "cluster": "*", "group_pattern": "*", "expires_at": None, **more}


def test_it_works(api, world):
    """https://github.com/kafbat/kafka-ui/issues/532
    https://github.com/kafbat/kafka-ui/issues/659
    """
    world.read()
    made = api("POST", TOKENS, request(), expect=201)
    assert made["token"].startswith("kaas_") and made["role"] == "read" and made["owner"] == "admin"
    assert Caller(made["token"])("GET", f"{CLUSTER}/groups/")["items"] == []


def test_it_is_kept_as_a_digest_and_listed_without_its_text(api):
    made = api("POST", TOKENS, request(), expect=201)
    assert made["token"] not in json.dumps(list(Token.objects.values()), default=str)
    listed = api("GET", TOKENS)
    assert [row["name"] for row in listed["items"]] == ["test", "script"]
    assert made["token"] not in json.dumps(listed)
    assert made["token"] not in json.dumps(list(AuditRow.objects.values("before", "after")))


def test_it_is_revoked(api, feed):
    made = api("POST", TOKENS, request(), expect=201)
    assert api("DELETE", f"{TOKENS}{made['id']}/", expect=204) is None
    Caller(made["token"])("GET", TOKENS, expect=401)
    api("DELETE", f"{TOKENS}{made['id']}/", expect=404)
    assert list(AuditRow.objects.filter(action__startswith="token").values_list("action", flat=True)) == [
        "token_delete",
        "token_create",
        "token_create",
    ]


def test_it_ends_when_it_says(api):
    soon = (timezone.now() + timedelta(hours=1)).isoformat()
    made = api("POST", TOKENS, request(expires_at=soon), expect=201)
    caller = Caller(made["token"])
    caller("GET", TOKENS)
    Token.objects.filter(pk=made["id"]).update(expires_at=timezone.now())
    caller("GET", TOKENS, expect=401)


def test_it_opens_nothing_when_its_owner_is_switched_off(make_caller):
    caller = make_caller("read")
    get_user_model().objects.filter(username="caller").update(is_active=False)
    caller("GET", TOKENS, expect=401)


def test_it_never_allows_more_than_its_owner_may(make_caller, world):
    world.group("shop")
    caller = make_caller("operate", group_pattern="shop")
    caller("GET", f"{CLUSTER}/groups/shop/")
    RoleBinding.objects.all().delete()
    caller("GET", f"{CLUSTER}/groups/shop/", expect=404)


@pytest.mark.parametrize("role", ["read", "operate"])
def test_only_an_administrators_own_token_makes_others(make_caller, role):
    caller = make_caller(role)
    caller("POST", TOKENS, request(), expect=403)
    mine = Token.objects.get(owner__username="caller")
    caller("DELETE", f"{TOKENS}{mine.pk}/", expect=403)


def test_a_narrow_administrators_token_makes_none_either(make_caller):
    make_caller("admin", group_pattern="team-*")("POST", TOKENS, request(role="admin"), expect=403)


def test_a_session_makes_tokens_of_its_own_user_up_to_its_own_rights(db, feed):
    user = get_user_model().objects.create_user("viewer")
    RoleBinding.objects.create(user=user, role="read")
    client = Client()
    client.force_login(user)

    def post(body):
        return client.post(TOKENS, json.dumps(body), content_type="application/json")

    assert post(request()).status_code == 201
    assert post(request(role="operate")).status_code == 403
    (row,) = client.get(TOKENS).json()["items"]
    assert client.delete(f"{TOKENS}{row['id']}/").status_code == 204


def test_a_session_needs_the_csrf_token_for_writes(db):
    client = Client(enforce_csrf_checks=True)
    client.force_login(get_user_model().objects.create_superuser("root"))
    answer = client.post(TOKENS, json.dumps(request()), content_type="application/json")
    assert answer.status_code == 403 and answer.json()["kind"] == "denied"


def test_others_tokens_are_hidden(make_caller, api):
    make_caller("read")
    theirs = Token.objects.get(owner__username="caller")
    client = Client()
    client.force_login(get_user_model().objects.create_user("third"))
    assert client.delete(f"{TOKENS}{theirs.pk}/").status_code == 404
    assert client.get(TOKENS).json()["items"] == []
    assert theirs.pk in [row["id"] for row in api("GET", TOKENS)["items"]]


def test_it_only_tells_in_a_dry_run(api):
    told = api("POST", f"{TOKENS}?dry_run=true", request())
    assert (told["id"], told["token"]) == (None, None)
    (own,) = api("GET", TOKENS)["items"]
    api("DELETE", f"{TOKENS}{own['id']}/?dry_run=true", expect=204)
    assert Token.objects.count() == 1


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"name": "x"},
        request(role="emperor"),
        request(name=""),
        request(name="x" * 201),
        request(colour="blue"),
        request(expires_at="soon"),
        request(expires_at="2020-01-01T00:00:00Z"),
        request(cluster=5 * ["x"]),
    ],
)
def test_it_refuses_what_makes_no_sense(api, body):
    assert api("POST", TOKENS, body, expect=400)["details"]
