"""Alert rules, the alerts that they gave, webhooks, and the messages that wait for them.

Rules: of one rule and group one alert is open at a time. A message is written in the transaction in which its alert changes, so
that neither is lost without the other. What is over stays, also when its rule or webhook is deleted.
"""

from __future__ import annotations

from django.db import models

from groups.choices import AlertKind, AlertState, DeliveryState
from groups.fields import DIGEST_LENGTH, IdField, JsonTextField
from groups.models.access import PATTERN_LENGTH

NAME_LENGTH = 200


class Webhook(models.Model):
    """Where alerts are told. `secret` signs the messages; nothing ever shows it."""

    name = models.CharField(max_length=NAME_LENGTH, unique=True)
    url = models.CharField(max_length=2_000)
    secret = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class AlertRule(models.Model):
    """A condition on every group whose cluster and id match two shell patterns, and how long it must hold.

    `threshold` is records for a rule on lag, members for one on member loss; `statuses` are those of a rule on lag status.
    `surplus` is how many groups fulfilled the condition beyond those that alerts are kept of, when it was last looked at.
    """

    name = models.CharField(max_length=NAME_LENGTH, unique=True)
    kind = models.CharField(max_length=12, choices=AlertKind.choices)
    cluster_pattern = models.CharField(max_length=PATTERN_LENGTH, default="*")
    group_pattern = models.CharField(max_length=PATTERN_LENGTH, default="*")
    threshold = models.BigIntegerField(null=True)
    statuses = JsonTextField(default=list)
    for_ms = models.BigIntegerField(default=0)
    enabled = models.BooleanField(default=True)
    webhook = models.ForeignKey(Webhook, on_delete=models.SET_NULL, null=True, related_name="rules")
    surplus = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class Alert(models.Model):
    """A rule's condition that holds, or held, for one group. `text` says what was found, last."""

    rule = models.ForeignKey(AlertRule, on_delete=models.SET_NULL, null=True, related_name="alerts")
    rule_name = models.CharField(max_length=NAME_LENGTH)
    kind = models.CharField(max_length=12, choices=AlertKind.choices)
    cluster = models.CharField(max_length=64)
    group_id = IdField()
    group_digest = models.CharField(max_length=DIGEST_LENGTH)
    state = models.CharField(max_length=8, choices=AlertState.choices, default=AlertState.PENDING)
    text = JsonTextField()
    since = models.DateTimeField()
    fired_at = models.DateTimeField(null=True)
    resolved_at = models.DateTimeField(null=True, db_index=True)

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.UniqueConstraint(
                fields=["rule", "cluster", "group_digest"],
                condition=models.Q(state__in=["pending", "firing"]),
                name="alert_is_open_once_per_rule_and_group",
            ),
        )
        indexes = (models.Index(fields=["state", "-id"]), models.Index(fields=["cluster", "group_digest", "-id"]))

    def __str__(self) -> str:
        return f"{self.rule_name} of {self.cluster}/{self.group_id}: {self.state}"


class Delivery(models.Model):
    """One message to one webhook. `event` is firing, resolved or test; a test has no alert.

    `next_at` is when it is tried next, or given back if whoever tries it dies. `attempts` counts what was begun.
    """

    alert = models.ForeignKey(Alert, on_delete=models.CASCADE, null=True, related_name="deliveries")
    webhook = models.ForeignKey(Webhook, on_delete=models.SET_NULL, null=True, related_name="deliveries")
    webhook_name = models.CharField(max_length=NAME_LENGTH)
    event = models.CharField(max_length=10)
    body = JsonTextField()
    state = models.CharField(max_length=10, choices=DeliveryState.choices, default=DeliveryState.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0)
    created_at = models.DateTimeField(db_index=True)
    next_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    status = models.PositiveSmallIntegerField(null=True)
    error = JsonTextField(default="")

    class Meta:
        ordering = ("-id",)
        verbose_name_plural = "deliveries"
        constraints = (
            models.UniqueConstraint(fields=["alert", "webhook", "event"], name="delivery_is_one_per_event_and_webhook"),
        )
        indexes = (models.Index(fields=["state", "next_at"]),)

    def __str__(self) -> str:
        return f"{self.event} to {self.webhook_name}: {self.state}"
