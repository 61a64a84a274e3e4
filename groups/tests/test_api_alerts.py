"""/api/v1/alerts/ and below."""

from __future__ import annotations

import pytest

from groups.alerts.evaluation import alerts_evaluate
from groups.models import Alert, AlertRule, AuditRow, Delivery, Webhook

ALERTS = "/api/v1/alerts/"
RULES, WEBHOOKS, DELIVERIES = f"{ALERTS}rules/", f"{ALERTS}webhooks/", f"{ALERTS}deliveries/"
RULE = {"name": "lag", "kind": "lag", "threshold": 5}
HOOK = {"name": "pager", "url": "https://example.org/alerts", "secret": "0123456789abcdef"}


@pytest.fixture
def lagging(world):
    """Two groups that lag."""
    world.topic("orders", 10)
    for group_id in ("shop", "team-a"):
        world.group(group_id, {("orders", 0): 1})
    world.read()
    return world


def test_it_works(api, lagging):
    hook = api("POST", WEBHOOKS, HOOK, 201)
    rule = api("POST", RULES, {**RULE, "webhook": hook["id"], "group_pattern": "sh*"}, 201)
    alerts_evaluate("local")
    answer = api("GET", ALERTS)
    (alert,) = answer["items"]
    assert (alert["rule"], alert["group_id"], alert["state"], answer["total"]) == ("lag", "shop", "firing", 1)
    assert alert["text"] == "9 records wait; the rule says 5 or more." and alert["fired_at"].endswith("+00:00")
    (listed,) = api("GET", RULES)["items"]
    assert (listed["open_count"], listed["webhook_name"]) == (1, "pager")
    (sent,) = api("GET", DELIVERIES)["items"]
    assert (sent["event"], sent["state"], sent["group_id"], sent["attempts"]) == ("firing", "waiting", "shop", 0)
    api("DELETE", f"{RULES}{rule['id']}/", expect=204)
    assert api("GET", ALERTS)["items"][0]["text"] == "The rule was deleted."
    assert [row.action for row in AuditRow.objects.exclude(action="token_create").order_by("pk")] == [
        "webhook_create",
        "alert_rule_create",
        "alert_rule_delete",
    ]


def test_secrets_are_never_told(api, db):
    made = api("POST", WEBHOOKS, HOOK, 201)
    assert "secret" not in made and "secret" not in api("GET", WEBHOOKS)["items"][0]
    assert not AuditRow.objects.filter(after__contains=HOOK["secret"]).exists()


def test_a_change_ends_what_is_open_and_it_begins_anew(api, lagging):
    rule = api("POST", RULES, RULE, 201)
    alerts_evaluate("local")
    changed = api("PATCH", f"{RULES}{rule['id']}/", {"threshold": 9, "group_pattern": "team-*"})
    assert (changed["threshold"], changed["kind"]) == (9, "lag")
    assert {row["text"] for row in api("GET", ALERTS)["items"]} == {"The rule was changed."}
    alerts_evaluate("local")
    assert [row["group_id"] for row in api("GET", f"{ALERTS}?state=firing")["items"]] == ["team-a"]
    api("PATCH", f"{RULES}{rule['id']}/", {"enabled": False})
    alerts_evaluate("local")
    assert api("GET", f"{ALERTS}?state=firing")["total"] == 0


def test_firing_ones_come_first(api, lagging):
    api("POST", RULES, RULE, 201)
    alerts_evaluate("local")
    lagging.group("team-a", {("orders", 0): 10})
    lagging.read()
    alerts_evaluate("local")
    assert [(row["group_id"], row["state"]) for row in api("GET", ALERTS)["items"]] == [
        ("shop", "firing"),
        ("team-a", "resolved"),
    ]
    assert api("GET", f"{ALERTS}?group_id=shop&cluster=local&rule=lag")["total"] == 1


def test_alerts_of_groups_that_one_may_not_see_do_not_exist(api, make_caller, lagging):
    api("POST", RULES, RULE, 201)
    alerts_evaluate("local")
    narrow = make_caller("operate", group_pattern="team-*")
    assert [row["group_id"] for row in narrow("GET", ALERTS)["items"]] == ["team-a"]
    assert narrow("GET", RULES)["total"] == 1
    for method, path, body in (
        ("POST", RULES, RULE),
        ("POST", WEBHOOKS, HOOK),
        ("GET", WEBHOOKS, None),
        ("GET", DELIVERIES, None),
        ("DELETE", f"{RULES}1/", None),
    ):
        assert narrow(method, path, body, 403)["kind"] == "denied"


@pytest.mark.parametrize(
    ("rule", "field"),
    [
        ({"name": "x", "kind": "boredom"}, "kind"),
        ({"name": "x", "kind": "lag"}, "threshold"),
        ({"name": "x", "kind": "member_loss", "threshold": 0}, "threshold"),
        ({"name": "x", "kind": "lag_status"}, "statuses"),
        ({"name": "x", "kind": "lag_status", "statuses": ["odd"]}, "statuses"),
        ({"name": "x", "kind": "no_commits"}, "for_ms"),
        ({"name": "x", "kind": "no_members", "for_ms": -1}, "for_ms"),
        ({"name": "x", "kind": "no_members", "colour": "red"}, "colour"),
        ({"kind": "no_members"}, "name"),
    ],
)
def test_a_rule_that_asks_nothing_is_refused(api, db, rule, field):
    assert field in api("POST", RULES, rule, 400)["details"]
    assert not AlertRule.objects.exists()


def test_a_name_is_taken_once_and_an_unknown_webhook_is_none(api, db):
    api("POST", RULES, RULE, 201)
    assert "name" in api("POST", RULES, RULE, 400)["details"]
    api("POST", RULES, {**RULE, "name": "other", "webhook": 77}, 404)
    api("PATCH", f"{RULES}77/", {"enabled": False}, 404)
    api("DELETE", f"{WEBHOOKS}77/", expect=404)
    api("POST", f"{WEBHOOKS}77/test/", {}, 404)


@pytest.mark.parametrize("url", ["http://127.0.0.1/", "http://[::1]:9/", "gopher://example.org/"])
def test_a_webhook_goes_to_no_address_inside(api, db, url):
    assert "url" in api("POST", WEBHOOKS, {**HOOK, "url": url}, 400)["details"]
    assert "secret" in api("POST", WEBHOOKS, {**HOOK, "secret": "short"}, 400)["details"]


def test_a_dry_run_writes_nothing(api, db):
    assert api("POST", f"{RULES}?dry_run=true", RULE)["id"] is None
    assert api("POST", f"{WEBHOOKS}?dry_run=true", HOOK)["id"] is None
    hook, rule = api("POST", WEBHOOKS, HOOK, 201), api("POST", RULES, RULE, 201)
    assert api("PATCH", f"{RULES}{rule['id']}/?dry_run=true", {"threshold": 7})["threshold"] == 7
    for path in (f"{RULES}{rule['id']}/", f"{WEBHOOKS}{hook['id']}/"):
        api("DELETE", f"{path}?dry_run=true", expect=204)
    api("POST", f"{WEBHOOKS}{hook['id']}/test/?dry_run=true", {}, 204)
    assert AlertRule.objects.get().threshold == 5 and Webhook.objects.exists() and not Delivery.objects.exists()


def test_a_write_with_a_key_is_done_once(api, db):
    key = {"Idempotency-Key": "k1"}
    first = api("POST", RULES, RULE, 201, **key)
    assert api("POST", RULES, RULE, 201, **key) == first and AlertRule.objects.count() == 1


def test_a_test_message_is_written(api, db):
    hook = api("POST", WEBHOOKS, HOOK, 201)
    sent = api("POST", f"{WEBHOOKS}{hook['id']}/test/", {}, 202)
    assert (sent["event"], sent["alert"]) == ("test", None)
    api("DELETE", f"{WEBHOOKS}{hook['id']}/", expect=204)
    assert api("GET", f"{DELIVERIES}?state=waiting")["items"][0]["webhook"] == "pager"
    assert not Alert.objects.exists()
