"""Reads of alerts: alerts, rules, webhooks and their messages as rows in the API's shapes.

Rules: the principal comes first. Alerts of groups that somebody may not see do not exist for them; webhooks and messages are
for administrators, and no row has a secret.
Must not know: requests, templates.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db.models import Case, Count, IntegerField, Value, When

from groups.access import Principal, require_admin
from groups.choices import AlertState
from groups.fields import id_digest
from groups.keys import key_of
from groups.models import Alert, AlertRule, Delivery, Webhook
from groups.selectors import listing

Row = dict[str, Any]

ALERTS_SEARCHED = 10_000
"""How many alerts somebody who may not see everything is looked up in: each one has to be asked for."""

_ORDER = Case(
    When(state=AlertState.FIRING, then=Value(0)),
    When(state=AlertState.PENDING, then=Value(1)),
    default=Value(2),
    output_field=IntegerField(),
)


def alert_list(
    principal: Principal,
    *,
    states: Iterable[str] = (),
    cluster: str = "",
    group_id: str | None = None,
    rule: str = "",
    page: int,
    page_size: int,
) -> Row:
    """Alerts: firing ones first, then pending, then those that are over, the newest first."""
    rows = Alert.objects.order_by(_ORDER, "-pk")
    given = {"state__in": list(states), "cluster": cluster, "rule_name": rule}
    rows = rows.filter(**{name: value for name, value in given.items() if value})
    if group_id is not None:
        rows = rows.filter(group_digest=id_digest(group_id))
    first = (page - 1) * page_size
    if principal.is_admin():
        return listing(map_rows(alert_row, rows[first : first + page_size]), total=rows.count(), page=page)
    seen = [row for row in rows[:ALERTS_SEARCHED] if principal.role_on(row.cluster, row.group_id) is not None]
    return listing(map_rows(alert_row, seen[first : first + page_size]), total=len(seen), page=page)


def rule_list(principal: Principal) -> Row:
    """Every rule, with how many alerts it has open; whoever may see anything may see what is watched."""
    open_ = Count(Case(When(alerts__state__in=(AlertState.PENDING, AlertState.FIRING), then=1)))
    rows = AlertRule.objects.select_related("webhook").annotate(open_count=open_)
    return listing([{**rule_row(row), "open_count": row.open_count} for row in rows])


def webhook_list(principal: Principal) -> Row:
    """Webhooks, without their secrets.

    Raises Problem (403) for anybody but an administrator.
    """
    require_admin(principal, "webhooks")
    return listing(map_rows(webhook_row, Webhook.objects.all()))


def delivery_list(principal: Principal, *, states: Iterable[str] = (), page: int, page_size: int) -> Row:
    """Messages to webhooks, the newest first.

    Raises Problem (403) for anybody but an administrator.
    """
    require_admin(principal, "deliveries")
    rows = Delivery.objects.select_related("alert")
    if wanted := list(states):
        rows = rows.filter(state__in=wanted)
    first = (page - 1) * page_size
    return listing(map_rows(delivery_row, rows[first : first + page_size]), total=rows.count(), page=page)


def map_rows(shape: Any, rows: Iterable[Any]) -> list[Row]:
    """Database rows as rows of an answer."""
    return [shape(row) for row in rows]


def alert_row(alert: Alert) -> Row:
    """An alert."""
    return {
        "id": alert.pk,
        "rule": alert.rule_name,
        "kind": alert.kind,
        "cluster": alert.cluster,
        "group_id": alert.group_id,
        "key": key_of(alert.group_id),
        "state": alert.state,
        "text": alert.text,
        "since": _iso(alert.since),
        "fired_at": _iso(alert.fired_at),
        "resolved_at": _iso(alert.resolved_at),
    }


def rule_row(rule: AlertRule) -> Row:
    """A rule; one that is not saved yet has no id."""
    return {
        "id": rule.pk,
        "name": rule.name,
        "kind": rule.kind,
        "cluster": rule.cluster_pattern,
        "group_pattern": rule.group_pattern,
        "threshold": rule.threshold,
        "statuses": rule.statuses,
        "for_ms": rule.for_ms,
        "enabled": rule.enabled,
        "webhook": rule.webhook_id,
        "webhook_name": rule.webhook.name if rule.webhook else None,
        "surplus": rule.surplus,
    }


def webhook_row(webhook: Webhook) -> Row:
    """A webhook without its secret; one that is not saved yet has no id."""
    return {"id": webhook.pk, "name": webhook.name, "url": webhook.url, "created_at": _iso(webhook.created_at)}


def delivery_row(delivery: Delivery) -> Row:
    """A message and how far it is."""
    alert = delivery.alert
    return {
        "id": delivery.pk,
        "event": delivery.event,
        "webhook": delivery.webhook_name,
        "alert": alert.pk if alert else None,
        "cluster": alert.cluster if alert else None,
        "group_id": alert.group_id if alert else None,
        "state": delivery.state,
        "attempts": delivery.attempts,
        "created_at": _iso(delivery.created_at),
        "next_at": _iso(delivery.next_at) if delivery.ended_at is None else None,
        "ended_at": _iso(delivery.ended_at),
        "status": delivery.status,
        "error": delivery.error,
    }


def _iso(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat(timespec="milliseconds")
