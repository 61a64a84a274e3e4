"""groups.alerts.evaluation."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import DatabaseError

from groups.alerts import evaluation
from groups.alerts.evaluation import alerts_end, alerts_evaluate
from groups.choices import AlertKind, AlertState
from groups.feeds import feed_of
from groups.history import history_write
from groups.models import Alert, AlertRule, Delivery, Webhook
from groups.testing.feed import rebalance_record
from groups.times import moment, now_ms

pytestmark = pytest.mark.django_db

MINUTE = 60_000


class Watch:
    """A world with a rule on it, and the time of looking."""

    def __init__(self, world):
        self.world, self.now = world, now_ms()
        self.webhook = Webhook.objects.create(name="pager", url="https://example.org/", secret="s" * 16)

    def rule(self, kind=AlertKind.LAG, threshold=100, **more):
        more.setdefault("webhook", self.webhook)
        return AlertRule.objects.create(name=f"{kind} rule", kind=kind, threshold=threshold, **more)

    def look(self, lag=None, passes=0):
        if lag is not None:
            self.world.topic("orders", 1_000)
            self.world.group("shop", {("orders", 0): 1_000 - lag})
            self.world.read()
        self.now += passes
        return alerts_evaluate("local")

    @property
    def told(self):
        return list(Delivery.objects.order_by("pk").values_list("event", flat=True))


@pytest.fixture
def watch(world, monkeypatch):
    watch = Watch(world)
    monkeypatch.setattr(evaluation, "now_ms", lambda: watch.now)
    return watch


def test_it_works(watch):
    watch.rule(for_ms=5 * MINUTE)
    assert watch.look(lag=50) == 0 and not Alert.objects.exists()
    assert watch.look(lag=150) == 1
    alert = Alert.objects.get()
    assert (alert.state, alert.text) == (AlertState.PENDING, "150 records wait; the rule says 100 or more.")
    watch.look(lag=200, passes=5 * MINUTE - 1)
    alert.refresh_from_db()
    assert (alert.state, alert.text[:3], watch.told) == (AlertState.PENDING, "200", [])
    assert watch.look(passes=1) == 1
    alert.refresh_from_db()
    assert (alert.state, alert.fired_at) == (AlertState.FIRING, moment(watch.now)) and watch.told == ["firing"]
    assert watch.look(passes=MINUTE) == 0
    assert watch.look(lag=10, passes=MINUTE) == 1
    alert.refresh_from_db()
    assert (alert.state, alert.resolved_at) == (AlertState.RESOLVED, moment(watch.now))
    assert alert.text == "The condition holds no longer." and watch.told == ["firing", "resolved"]


def test_a_condition_that_was_over_before_anybody_was_told_leaves_nothing(watch):
    watch.rule(for_ms=MINUTE)
    watch.look(lag=150)
    watch.look(lag=1, passes=MINUTE)
    assert not Alert.objects.exists() and watch.told == []


def test_without_a_wait_it_fires_at_once_and_again_when_it_comes_back(watch):
    watch.rule()
    for lag in (150, 150, 1, 150):
        watch.look(lag=lag, passes=1)
    assert watch.told == ["firing", "resolved", "firing"]
    assert list(Alert.objects.order_by("pk").values_list("state", flat=True)) == ["resolved", "firing"]


def test_patterns_choose_clusters_and_groups(watch):
    for cluster, groups in (("other", "*"), ("*", "team-*"), ("loc*", "sh?p")):
        watch.rule(cluster_pattern=cluster, group_pattern=groups, kind=AlertKind.LAG, webhook=None)
        AlertRule.objects.filter(name="lag rule").update(name=f"{cluster} {groups}")
    watch.look(lag=150)
    assert [alert.rule_name for alert in Alert.objects.all()] == ["loc* sh?p"]


def test_a_group_that_goes_ends_its_alert(watch):
    watch.rule()
    watch.look(lag=150)
    watch.world.feed.gone("shop")
    watch.world.read()
    watch.look()
    assert Alert.objects.get().text == "The group is gone."


def test_while_the_feed_is_cut_off_alerts_stay_what_they_are(watch, monkeypatch):
    watch.rule()
    watch.look(lag=150)
    monkeypatch.setattr(feed_of("local").reader, "is_cut_off", lambda: True)
    assert watch.look(lag=1) == 0
    assert Alert.objects.get().state == AlertState.FIRING


def test_a_worker_that_dies_between_the_state_and_the_message_changes_nothing(watch, monkeypatch):
    watch.rule()
    with monkeypatch.context() as dying:
        dying.setattr(evaluation, "message_write", lambda *_: (_ for _ in ()).throw(DatabaseError("died")))
        with pytest.raises(DatabaseError):
            watch.look(lag=150)
    assert (Alert.objects.get().state, watch.told) == (AlertState.PENDING, [])
    assert watch.look() == 1
    assert (Alert.objects.get().state, watch.told) == (AlertState.FIRING, ["firing"])


def test_of_two_workers_one_fires(watch, monkeypatch):
    watch.rule()
    fire = evaluation._fire_due

    def twin_is_faster(rule, cluster, now):
        pending = list(Alert.objects.filter(rule=rule))
        assert fire(rule, cluster, now) == 1
        return sum(evaluation._change(alert, rule, AlertState.FIRING, fired_at=now) for alert in pending)

    monkeypatch.setattr(evaluation, "_fire_due", twin_is_faster)
    watch.look(lag=150)
    assert watch.told == ["firing"]


def test_a_twin_that_opens_the_same_alert_opens_none(watch):
    rule = watch.rule(for_ms=MINUTE)
    watch.look(lag=150)
    evaluation._open(rule, "local", {"shop": "again"}, moment(watch.now))
    assert Alert.objects.count() == 1


def test_open_alerts_are_bounded_and_the_surplus_is_counted(watch, monkeypatch):
    monkeypatch.setattr(evaluation, "OPEN_PER_RULE", 3)
    rule = watch.rule(kind=AlertKind.NO_MEMBERS, threshold=None)
    for number in range(5):
        watch.world.group(f"g{number}")
    watch.world.read()
    watch.look()
    rule.refresh_from_db()
    assert (Alert.objects.count(), rule.surplus) == (3, 2)
    for number in range(3):
        watch.world.feed.gone(f"g{number}")
    watch.world.read()
    watch.look()
    rule.refresh_from_db()
    assert (Alert.objects.filter(state=AlertState.FIRING).count(), rule.surplus) == (2, 0)


def test_what_flaps_comes_from_the_history(watch):
    watch.rule(kind=AlertKind.FLAPPING, threshold=None)
    watch.look(lag=0)
    detail = {"client_id": "two", "silent_ms": 10_000, "timeout_ms": 10_000}
    for _ in range(3):
        record = rebalance_record(cause="session_expired", detail=detail)
        watch.world.feed.event("shop", "rebalance_completed", rebalance=record)
    history_write("local")
    watch.look()
    assert Alert.objects.get().text == "3 of the last 3 rebalances: two silent past its 10 s session."
    watch.look(passes=31 * MINUTE)
    assert Alert.objects.get().state == AlertState.RESOLVED


def test_a_rule_that_goes_away_ends_what_it_opened(watch):
    rule = watch.rule()
    watch.look(lag=150)
    alerts_end(rule, "The rule was deleted.")
    rule.delete()
    alert = Alert.objects.get()
    assert (alert.state, alert.text, alert.rule) == (AlertState.RESOLVED, "The rule was deleted.", None)
    assert watch.told == ["firing", "resolved"]


def test_the_message_says_what_happened(watch):
    watch.rule()
    watch.look(lag=150)
    body = Delivery.objects.get().body
    assert (body["version"], body["event"]) == (1, "firing")
    assert body["alert"]["group_id"] == "shop" and body["alert"]["rule"] == "lag rule"
    assert body["alert"]["fired_at"] == moment(watch.now).isoformat(timespec="milliseconds")
    assert Alert.objects.get().since <= moment(watch.now) + timedelta(seconds=1)
