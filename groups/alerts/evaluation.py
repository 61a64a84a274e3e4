"""Evaluating the rules of a cluster: one small step from this process's index into the database.

Job: open, fire and resolve alerts, and write the messages for webhooks.
Rules:
- Everything that is known stands in the database, so a worker that starts goes on where the last one ended. A state changes
  by a conditional update and its message is written in the same transaction: of two workers one fires, and none twice.
- While the feed is not read nothing is judged: alerts stay what they are.
- A rule has at most OPEN_PER_RULE open alerts on a cluster; the surplus is counted and shown, never silently dropped.
Must not know: Celery, HTTP.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

import msgspec
from django.db import transaction
from django.db.models import Count

from groups.access import Grant
from groups.alerts.conditions import Condition, Flaps, found
from groups.alerts.outbox import message_write
from groups.choices import AlertKind, AlertState, Role
from groups.feeds import ClusterFeed, feed_of
from groups.fields import id_digest
from groups.flapping import LOOKED_AT, TIMES, WITHIN_MS, flapping
from groups.models import Alert, AlertRule, Rebalance
from groups.times import moment, now_ms
from kaas.feed.types import RebalanceRecord

OPEN_PER_RULE = 1_000

OPEN = (AlertState.PENDING, AlertState.FIRING)


def alerts_evaluate(cluster: str) -> int:
    """Looks at every group of a cluster under every rule; how many alerts changed their state."""
    feed = feed_of(cluster)
    if not feed.loaded or feed.reader.is_cut_off():
        return 0
    enabled = AlertRule.objects.filter(enabled=True).select_related("webhook")
    rules = [rule for rule in enabled if _concerns(rule, cluster)]
    flaps = _flaps(cluster) if any(rule.kind == AlertKind.FLAPPING for rule in rules) else {}
    return sum(_evaluate(rule, feed, flaps) for rule in rules)


def condition_of(rule: AlertRule) -> Condition:
    """What a rule asks, without where it asks."""
    return Condition(
        kind=rule.kind, threshold=rule.threshold or 0, statuses=frozenset(rule.statuses), for_ms=rule.for_ms
    )


def alerts_end(rule: AlertRule, why: str) -> None:
    """Ends the open alerts of a rule that goes away, changes or is switched off."""
    for alert in rule.alerts.filter(state__in=OPEN):
        _end(alert, why, moment(now_ms()))


def _concerns(rule: AlertRule, cluster: str) -> bool:
    return Grant(role=Role.READ, cluster_pattern=rule.cluster_pattern).covers(cluster, "")


def _evaluate(rule: AlertRule, feed: ClusterFeed, flaps: Flaps) -> int:
    cluster, now = feed.cluster.name, now_ms()
    holding = _holding(rule, feed, flaps, now)
    open_ = {alert.group_id: alert for alert in rule.alerts.filter(cluster=cluster, state__in=OPEN)}
    room = max(0, OPEN_PER_RULE - len(open_.keys() & holding.keys()))
    fresh = [group_id for group_id in holding if group_id not in open_]
    _note_surplus(rule, max(0, len(fresh) - room))
    changed = _open(rule, cluster, {group_id: holding[group_id] for group_id in fresh[:room]}, moment(now))
    over = [alert for group_id, alert in open_.items() if group_id not in holding]
    changed += sum(_end(alert, _why_over(feed, alert.group_id), moment(now)) for alert in over)
    _say_anew([alert for group_id, alert in open_.items() if group_id in holding], holding)
    return changed + _fire_due(rule, cluster, moment(now))


def _holding(rule: AlertRule, feed: ClusterFeed, flaps: Flaps, now: int) -> dict[str, str]:
    """The groups for which the condition holds, with what was found."""
    condition, cluster = condition_of(rule), feed.cluster.name
    seen = Grant(role=Role.READ, cluster_pattern=rule.cluster_pattern, group_pattern=rule.group_pattern)
    rows = (row for row in feed.index.all() if seen.covers(cluster, row.group_id))
    told = ((row.group_id, found(condition, row, flaps, now)) for row in rows)
    return {group_id: text for group_id, text in told if text is not None}


def _note_surplus(rule: AlertRule, surplus: int) -> None:
    if surplus != rule.surplus:
        AlertRule.objects.filter(pk=rule.pk).update(surplus=surplus)


def _say_anew(alerts: Iterable[Alert], holding: Mapping[str, str]) -> None:
    """Keeps what open alerts say up to date."""
    changed = [alert for alert in alerts if alert.text != holding[alert.group_id]]
    for alert in changed:
        alert.text = holding[alert.group_id]
    Alert.objects.bulk_update(changed, ["text"], batch_size=200)


def _open(rule: AlertRule, cluster: str, holding: Mapping[str, str], now: datetime) -> int:
    """New alerts, pending. One that another worker opened meanwhile is left to it."""
    rows = [
        Alert(
            rule=rule,
            rule_name=rule.name,
            kind=rule.kind,
            cluster=cluster,
            group_id=group_id,
            group_digest=id_digest(group_id),
            text=text,
            since=now,
        )
        for group_id, text in holding.items()
    ]
    Alert.objects.bulk_create(rows, ignore_conflicts=True)
    return len(rows)


def _fire_due(rule: AlertRule, cluster: str, now: datetime) -> int:
    due = now - timedelta(milliseconds=condition_of(rule).waits_ms)
    pending = Alert.objects.filter(rule=rule, cluster=cluster, state=AlertState.PENDING, since__lte=due)
    return sum(_change(alert, rule, AlertState.FIRING, fired_at=now) for alert in pending)


def _end(alert: Alert, why: str, now: datetime) -> bool:
    """Ends an alert. One that never fired leaves nothing behind: nobody was told of it."""
    if alert.state == AlertState.PENDING:
        return bool(Alert.objects.filter(pk=alert.pk, state=AlertState.PENDING).delete()[0])
    return _change(alert, alert.rule, AlertState.RESOLVED, resolved_at=now, text=why)


def _change(alert: Alert, rule: AlertRule | None, state: AlertState, **more: object) -> bool:
    """Changes the state once, whoever tries, and writes the message for the webhook with it."""
    with transaction.atomic():
        if not Alert.objects.filter(pk=alert.pk, state=alert.state).update(state=state, **more):
            return False
        alert.refresh_from_db()
        if rule is not None and rule.webhook is not None:
            message_write(rule.webhook, alert.state, alert)
    return True


def _why_over(feed: ClusterFeed, group_id: str) -> str:
    if group_id not in feed.index.rows:
        return "The group is gone."
    return "The condition holds no longer."


def _flaps(cluster: str) -> dict[str, str]:
    """The groups that flap now, from the history."""
    now = now_ms()
    recent = Rebalance.objects.filter(cluster=cluster, ended_at__gte=moment(now - WITHIN_MS)).order_by()
    digests = recent.values_list("group_digest").annotate(count=Count("pk")).filter(count__gte=TIMES)
    told = {}
    for digest in digests.values_list("group_digest", flat=True):
        rows = list(Rebalance.objects.filter(cluster=cluster, group_digest=digest)[:LOOKED_AT])
        verdict = flapping([msgspec.convert(row.record, RebalanceRecord) for row in rows], now)
        if verdict is not None:
            told[rows[0].group_id] = verdict.text
    return told
