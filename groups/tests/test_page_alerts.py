"""The page of alerts."""

from __future__ import annotations

import pytest

from groups.alerts.evaluation import alerts_evaluate
from groups.models import AlertRule, Delivery, Webhook
from groups.tests.test_pages import somebody, text_of, words

ALERTS = "/alerts/"


@pytest.fixture
def client(admin_client, world):
    world.topic("orders", 10)
    world.group("shop", {("orders", 0): 1})
    world.read()
    return admin_client


def shown(response, status=200):
    assert response.status_code == status, response.content[:500]
    return words(text_of(response))


def test_it_works(client):
    assert "There is no rule yet, so nothing can fire." in shown(client.get(ALERTS))
    hook = {"name": "pager", "url": "https://example.org/x", "secret": "0123456789abcdef"}
    assert client.post(f"{ALERTS}webhooks/", hook).status_code == 302
    webhook = Webhook.objects.get()
    rule = {"name": "behind", "kind": "lag", "threshold": "5", "for": "0", "unit": "min", "webhook": webhook.pk}
    assert client.post(f"{ALERTS}rules/", {**rule, "cluster": "*", "group_pattern": "sh*"}).status_code == 302
    alerts_evaluate("local")
    page = shown(client.get(ALERTS))
    assert "Firing shop local 9 records wait; the rule says 5 or more. behind" in page
    assert "behind lag of 5 or more at once * sh* pager 1" in page
    assert "Waiting firing shop pager" in page and "0123456789abcdef" not in page
    assert "No alert matches" in shown(client.get(ALERTS, {"state": "resolved"}))


def test_a_time_has_its_unit(client):
    rule = {"name": "quiet", "kind": "no_commits", "for": "2", "unit": "h", "threshold": ""}
    client.post(f"{ALERTS}rules/", rule)
    assert AlertRule.objects.get().for_ms == 7_200_000


def test_a_form_that_is_refused_comes_back_filled(client):
    rule = {"name": "behind", "kind": "lag_status", "for": "soon", "statuses": ["warn"]}
    response = client.post(f"{ALERTS}rules/", rule)
    assert "A valid integer is required." in shown(response, 400)
    assert 'value="behind"' in text_of(response) and 'value="warn" checked' in text_of(response)
    hook = {"name": "inside", "url": "http://127.0.0.1/", "secret": "0123456789abcdef"}
    assert "KAAS_WEBHOOK_PRIVATE" in shown(client.post(f"{ALERTS}webhooks/", hook), 400)
    assert not AlertRule.objects.exists() and not Webhook.objects.exists()


def test_rules_are_switched_and_deleted_and_webhooks_tested(client):
    client.post(f"{ALERTS}rules/", {"name": "empty", "kind": "no_members"})
    rule = AlertRule.objects.get()
    client.post(f"{ALERTS}rules/{rule.pk}/switch/", {"enabled": "false"})
    assert "empty off" in shown(client.get(ALERTS))
    client.post(f"{ALERTS}rules/{rule.pk}/delete/")
    assert not AlertRule.objects.exists()
    webhook = Webhook.objects.create(name="pager", url="https://example.org/", secret="s" * 16)
    client.post(f"{ALERTS}webhooks/{webhook.pk}/test/")
    assert Delivery.objects.get().event == "test"
    client.post(f"{ALERTS}webhooks/{webhook.pk}/delete/")
    assert not Webhook.objects.exists()


def test_who_is_no_administrator_sees_alerts_and_rules_and_no_forms(client, db):
    AlertRule.objects.create(name="behind", kind="lag", threshold=5)
    alerts_evaluate("local")
    viewer = somebody("ann", "read", "sh*")
    page = shown(viewer.get(ALERTS))
    assert "Firing shop" in page and "Make a rule" not in page and "Webhooks" not in page
    assert viewer.post(f"{ALERTS}rules/", {"name": "x", "kind": "no_members"}).status_code == 403
    assert "Nothing has fired" in shown(somebody("bob", "read", "team-*").get(ALERTS))
