"""groups.openid and its pages, with a real OpenID provider behind real HTTP."""

from __future__ import annotations

import html
import re
import warnings
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.test import Client
from joserfc.jwk import RSAKey

from groups.models import AuditRow, Identity
from groups.openid import SESSION_S, _client
from groups.provider import Provider

BEGIN, RETURN = "/login/openid/", "/login/openid/return/"
ROLES = (("kafka-admins", "admin"), ("kafka-ops", "operator"))
ANN = {"preferred_username": "ann", "email": "ann@example.org", "groups": ["kafka-ops"]}


class ProviderServer:
    """The provider: its users by subject. `claims_of` sets what it says of one."""

    def __init__(self, port, users):
        self.url = f"http://localhost:{port}"
        self._users = users

    def claims_of(self, subject, **claims):
        put = requests.put(f"{self.url}/users/{subject}", json=claims, timeout=10)
        assert put.status_code == 204, put.text

    def signed_in(self, address, subject):
        """Somebody says at the provider who they are: the address that it sends the browser back to."""
        answer = requests.post(address, data={"sub": subject}, allow_redirects=False, timeout=10)
        assert answer.status_code == 302, answer.text
        return answer.headers["Location"]


@pytest.fixture(scope="module")
def server():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the provider is built on parts of Authlib that are on their way out
        from oidc_provider_mock import run_server_in_thread

        with run_server_in_thread() as running:
            yield ProviderServer(running.server_port, running)


@pytest.fixture
def openid(server, settings, feed, db):
    settings.KAAS_OPENID = Provider(
        issuer=server.url, client_id="console", client_secret="hush", name="Acme", roles=ROLES
    )
    server.claims_of("subject-1", **ANN)
    return settings


pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def sign_in(server, subject="subject-1", browser=None, onward=""):
    browser = browser or Client()
    began = browser.get(BEGIN, {"next": onward})
    assert began.status_code == 302, began.content
    return browser, browser.get(server.signed_in(began["Location"], subject))


def who(browser):
    return browser.session.get("_auth_user_id")


def roles(username="ann"):
    return set(get_user_model().objects.get(username=username).groups.values_list("name", flat=True))


def refused(answer, status=403):
    assert answer.status_code == status, answer.status_code
    return answer.content.decode()


def test_somebody_new_gets_in_with_the_roles_of_the_claim(server, openid):
    browser, back = sign_in(server)
    ann = get_user_model().objects.get(username="ann")
    assert (back.status_code, back["Location"], who(browser)) == (302, "/", str(ann.pk))
    assert roles() == {"operator"} and not ann.has_usable_password() and not ann.is_staff and not ann.is_superuser
    assert Identity.objects.get().subject == "subject-1"
    assert 0 < browser.session.get_expiry_age() <= SESSION_S
    row = AuditRow.objects.get()
    assert (row.action, row.before, row.after) == ("roles_set", {"roles": []}, {"roles": ["operator"]})


def test_the_same_subject_is_the_same_user_whatever_its_name_becomes(server, openid):
    sign_in(server)
    server.claims_of("subject-1", **{**ANN, "preferred_username": "ann-married"})
    sign_in(server)
    assert list(get_user_model().objects.values_list("username", flat=True)) == ["ann"]


def test_a_name_that_is_taken_is_not_taken_over(server, openid, admin_user):
    server.claims_of("subject-2", preferred_username="Admin", groups=["kafka-ops"])
    browser, _ = sign_in(server, "subject-2")
    assert who(browser) != str(admin_user.pk) and roles("Admin-2") == {"operator"}


def test_roles_follow_the_claim_at_each_sign_in_and_others_stay(server, openid):
    sign_in(server)
    get_user_model().objects.get().groups.add(Group.objects.create(name="by hand"))
    server.claims_of("subject-1", **{**ANN, "groups": ["kafka-admins"]})
    sign_in(server)
    assert roles() == {"admin", "by hand"}


@pytest.mark.parametrize("claim", [[], ["others"], None, "kafka"])
def test_who_has_no_role_does_not_get_in(server, openid, claim):
    server.claims_of("subject-3", preferred_username="<b>eve", groups=claim)
    browser, back = sign_in(server, "subject-3")
    assert "&lt;b&gt;eve has no role in this console" in refused(back)
    assert who(browser) is None and not get_user_model().objects.exists()


def test_a_user_who_is_switched_off_does_not_get_in(server, openid):
    sign_in(server)
    get_user_model().objects.update(is_active=False)
    browser, back = sign_in(server)
    assert "switched off" in refused(back) and who(browser) is None


def test_it_asks_with_pkce_state_and_nonce(server, openid):
    asked = parse_qs(urlsplit(Client().get(BEGIN)["Location"]).query)
    assert asked["code_challenge_method"] == ["S256"] and asked["state"] and asked["nonce"] and asked["code_challenge"]
    assert asked["redirect_uri"] == [f"http://testserver{RETURN}"] and asked["scope"] == ["openid profile email"]


def test_a_return_in_another_browser_is_refused(server, openid):
    address = server.signed_in(Client().get(BEGIN)["Location"], "subject-1")
    other = Client()
    assert "not completed" in refused(other.get(address)) and who(other) is None


def test_a_return_happens_once(server, openid):
    browser = Client()
    address = server.signed_in(browser.get(BEGIN)["Location"], "subject-1")
    assert browser.get(address).status_code == 302
    refused(browser.get(address))


@pytest.mark.parametrize("query", ["", "?code=x", "?code=x&state=y", "?error=access_denied", "?state=%00&code=%ff"])
def test_a_return_that_proves_nothing_is_refused(openid, query):
    browser = Client()
    browser.get(BEGIN)
    refused(browser.get(RETURN + query))
    assert who(browser) is None


def test_another_issuer_proves_nothing(server, openid):
    openid.KAAS_OPENID = replace(
        openid.KAAS_OPENID, issuer=f"{server.url}/"
    )  # what the provider says of itself has no slash
    browser, back = sign_in(server)
    assert "iss" in refused(back) and who(browser) is None


def test_a_signature_by_another_key_proves_nothing(server, openid):
    openid.KAAS_OPENID = replace(openid.KAAS_OPENID, client_id="a console that was lied to about keys")
    client = _client(openid.KAAS_OPENID)
    (published,) = client.fetch_jwk_set()["keys"]
    forged = RSAKey.generate_key(2048, {"kid": published["kid"]} if "kid" in published else None)
    client.server_metadata["jwks"] = {"keys": [forged.as_dict(private=False)]}
    browser, back = sign_in(server)
    assert "not completed" in refused(back) and who(browser) is None


def test_a_provider_that_is_away_is_said(openid):
    openid.KAAS_OPENID = replace(openid.KAAS_OPENID, issuer="http://localhost:9")
    assert "identity provider does not answer" in refused(Client().get(BEGIN), 503)


def test_it_leads_on_to_where_somebody_wanted_to_go_but_never_away(server, openid):
    assert sign_in(server, onward="/audit/?page=2")[1]["Location"] == "/audit/?page=2"
    for away in ("https://evil.example/", "//evil.example", "javascript:alert(1)"):
        assert sign_in(server, onward=away)[1]["Location"] == "/"


def test_a_session_from_before_is_not_kept(server, openid):
    browser = Client()
    browser.get(BEGIN)
    before = browser.session.session_key
    sign_in(server, browser=browser)
    assert browser.session.session_key != before


def test_the_sign_in_page_offers_it_only_when_there_is_one(openid, settings):
    page = Client().get("/login/", {"next": "/audit/?a=1&b=2"}).content.decode()
    assert "Sign in with Acme" in page and f"{BEGIN}?next=%2Faudit%2F%3Fa%3D1%26b%3D2" in page
    settings.KAAS_OPENID = None
    assert "Acme" not in Client().get("/login/").content.decode()
    assert Client().get(BEGIN).status_code == Client().get(RETURN).status_code == 404


def test_one_address_may_not_begin_without_end(openid, monkeypatch):
    from groups.views import openid as pages

    monkeypatch.setattr(pages, "BEGUN", replace(pages.BEGUN, count=1))
    assert Client().get(BEGIN).status_code == 302
    again = Client().get(BEGIN)
    assert again.status_code == 429 and int(again["Retry-After"]) > 0


def left(browser):
    return browser.post("/logout/")


def way_of(answer):
    assert answer.status_code == 200
    (address,) = re.findall(r'http-equiv="refresh" content="0; url=([^"]+)"', answer.content.decode())
    return html.unescape(address)


def test_signing_out_ends_the_session_here_and_leads_to_the_providers_way_out(server, openid):
    browser, _ = sign_in(server)
    token = browser.session["openid_hint"]
    answer = left(browser)
    assert who(browser) is None and "openid_hint" not in browser.session
    way = way_of(answer)
    asked = parse_qs(urlsplit(way).query)
    assert way.startswith(f"{server.url}/oauth2/end_session?")
    assert asked == {
        "id_token_hint": [token],
        "post_logout_redirect_uri": ["http://testserver/login/"],
        "client_id": ["console"],
    }
    assert "Signed out" in answer.content.decode() and answer["Cache-Control"].count("no-store") == 1
    assert requests.get(way, timeout=10).status_code == 200
    back = requests.post(
        f"{server.url}/oauth2/end_session/confirm",
        data={"redirect_uri": asked["post_logout_redirect_uri"][0]},
        allow_redirects=False,
        timeout=10,
    )
    assert back.headers["Location"] == "http://testserver/login/"


def test_a_provider_without_a_way_out_or_that_is_away_ends_the_session_here_alone(server, openid, monkeypatch):
    for place in (None, 7, "javascript:alert(1)"):
        browser, _ = sign_in(server)
        monkeypatch.setitem(_client(openid.KAAS_OPENID).load_server_metadata(), "end_session_endpoint", place)
        assert left(browser)["Location"] == "/login/" and who(browser) is None
    browser, _ = sign_in(server)
    openid.KAAS_OPENID = replace(openid.KAAS_OPENID, issuer="http://localhost:9")
    assert left(browser)["Location"] == "/login/" and who(browser) is None


def test_who_signed_in_with_a_password_signs_out_here(openid, admin_user):
    browser = Client()
    browser.force_login(admin_user)
    assert left(browser)["Location"] == "/login/" and who(browser) is None
    assert browser.get("/logout/").status_code == 405


def test_a_way_out_keeps_what_its_address_asks_already(server, openid, monkeypatch):
    browser, _ = sign_in(server)
    metadata = _client(openid.KAAS_OPENID).load_server_metadata()
    monkeypatch.setitem(metadata, "end_session_endpoint", "https://acme.example/out?tenant=7")
    asked = parse_qs(urlsplit(way_of(left(browser))).query)
    assert asked["tenant"] == ["7"] and asked["client_id"] == ["console"]
