"""Writes on alert rules and webhooks.

Job: make, change and delete them; send a test message.
Rules: for administrators; each write has its audit row, in which no secret stands; `dry_run` checks everything and writes
nothing. A rule that changes, goes away or is switched off ends its open alerts: what it says from then on begins anew.
Must not know: requests, templates.
"""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError, transaction

from groups.access import Principal, require_admin
from groups.alerts.evaluation import alerts_end
from groups.alerts.outbox import message_write
from groups.alerts.selectors import delivery_row, rule_row, webhook_row
from groups.alerts.targets import RefusedTarget, target_check
from groups.audit import audited
from groups.choices import AlertKind
from groups.models import AlertRule, Webhook
from groups.problems import invalid, not_found

Row = dict[str, Any]

TEST = "test"
_NEEDS_THRESHOLD = {AlertKind.LAG: "records", AlertKind.MEMBER_LOSS: "members"}
_FIELDS = {
    "name": "name",
    "kind": "kind",
    "cluster": "cluster_pattern",
    "group_pattern": "group_pattern",
    "threshold": "threshold",
    "statuses": "statuses",
    "for_ms": "for_ms",
    "enabled": "enabled",
    "webhook": "webhook_id",
}
"""What a rule's fields are called outside and in the database."""


def rule_create(principal: Principal, *, dry_run: bool = False, **given: Any) -> Row:
    """A new rule.

    Raises Problem: 403 for anybody but an administrator, 400 for a rule that asks nothing or a name that is taken, 404 for an
    unknown webhook.
    """
    require_admin(principal, "alert rules")
    rule = AlertRule(**_columns(given))
    _check_rule(rule)
    if dry_run:
        return rule_row(rule)
    with audited(actor=principal.actor, action="alert_rule_create") as audit:
        _save(rule)
        audit.after = rule_row(rule)
    return rule_row(rule)


def rule_change(principal: Principal, rule_id: int, *, dry_run: bool = False, **given: Any) -> Row:
    """A rule with some of its fields changed; its open alerts end.

    Raises Problem as rule_create does, and 404 for an unknown rule.
    """
    require_admin(principal, "alert rules")
    rule = _rule(rule_id)
    before = rule_row(rule)
    for name, value in _columns(given).items():
        setattr(rule, name, value)
    _check_rule(rule)
    if dry_run:
        return rule_row(rule)
    with audited(actor=principal.actor, action="alert_rule_change", before=before) as audit:
        with transaction.atomic():
            alerts_end(rule, "The rule was changed." if rule.enabled else "The rule was switched off.")
            _save(rule)
        audit.after = rule_row(rule)
    return rule_row(rule)


def rule_delete(principal: Principal, rule_id: int, *, dry_run: bool = False) -> None:
    """Deletes a rule; its open alerts end, and stay as rows.

    Raises Problem: 403, 404.
    """
    require_admin(principal, "alert rules")
    rule = _rule(rule_id)
    if dry_run:
        return
    with audited(actor=principal.actor, action="alert_rule_delete", before=rule_row(rule)), transaction.atomic():
        alerts_end(rule, "The rule was deleted.")
        rule.delete()


def webhook_create(principal: Principal, *, name: str, url: str, secret: str, dry_run: bool = False) -> Row:
    """A new webhook; its secret is never shown again.

    Raises Problem: 403, or 400 for an address that webhooks may not have or a name that is taken.
    """
    require_admin(principal, "webhooks")
    try:
        target_check(url)
    except RefusedTarget as refused:
        raise invalid(str(refused), resource="webhooks", url=[str(refused)]) from refused
    webhook = Webhook(name=name, url=url, secret=secret)
    if dry_run:
        return webhook_row(webhook)
    with audited(actor=principal.actor, action="webhook_create") as audit:
        _save(webhook)
        audit.after = webhook_row(webhook)
    return webhook_row(webhook)


def webhook_delete(principal: Principal, webhook_id: int, *, dry_run: bool = False) -> None:
    """Deletes a webhook; rules that told it tell nobody, and what waits for it is given up.

    Raises Problem: 403, 404.
    """
    require_admin(principal, "webhooks")
    webhook = _webhook(webhook_id)
    if dry_run:
        return
    with audited(actor=principal.actor, action="webhook_delete", before=webhook_row(webhook)):
        webhook.delete()


def webhook_test(principal: Principal, webhook_id: int, *, dry_run: bool = False) -> Row | None:
    """Writes a message that says no more than that it is a test; null in a dry run.

    Raises Problem: 403, 404.
    """
    require_admin(principal, "webhooks")
    webhook = _webhook(webhook_id)
    if dry_run:
        return None
    with audited(actor=principal.actor, action="webhook_test", before=webhook_row(webhook)):
        return delivery_row(message_write(webhook, TEST))


def _columns(given: Row) -> Row:
    return {_FIELDS[name]: value for name, value in given.items()}


def _check_rule(rule: AlertRule) -> None:
    """Raises Problem (400, 404) for a rule that asks nothing."""
    needed = _NEEDS_THRESHOLD.get(AlertKind(rule.kind))
    if needed and not rule.threshold:
        raise invalid(f"This rule needs a threshold: how many {needed}.", threshold=["is missing"])
    if rule.kind == AlertKind.LAG_STATUS and not rule.statuses:
        raise invalid("This rule needs at least one lag status.", statuses=["is missing"])
    if rule.kind == AlertKind.NO_COMMITS and not rule.for_ms:
        raise invalid("This rule needs a time: how old the newest commit may be.", for_ms=["is missing"])
    if rule.webhook_id is not None:
        _webhook(rule.webhook_id)


def _save(row: AlertRule | Webhook) -> None:
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError as problem:
        raise invalid(f"The name {row.name} is taken.", name=["is taken"]) from problem


def _rule(rule_id: int) -> AlertRule:
    rule = AlertRule.objects.select_related("webhook").filter(pk=rule_id).first()
    if rule is None:
        raise not_found(f"alert rule {rule_id}")
    return rule


def _webhook(webhook_id: int) -> Webhook:
    webhook = Webhook.objects.filter(pk=webhook_id).first()
    if webhook is None:
        raise not_found(f"webhook {webhook_id}")
    return webhook
