"""The shapes of alerts, rules, webhooks and messages: what comes in, and what is answered."""

from __future__ import annotations

from rest_framework import serializers

from groups.api.base import StrictSerializer
from groups.api.serializers import Listing
from groups.choices import AlertKind, AlertState, DeliveryState, LagStatus
from groups.models.access import PATTERN_LENGTH
from groups.models.alerts import NAME_LENGTH

LONGEST_MS = 30 * 86_400_000
SECRET_AT_LEAST = 16


class NewRule(StrictSerializer):
    """A rule to make. Patterns are shell patterns.

    `threshold`: records for `lag`, the least members for `member_loss`. `statuses`: for `lag_status`. `for_ms`: how long the
    condition must hold before the alert fires; for `no_commits` how old the newest commit may be.
    """

    name = serializers.CharField(max_length=NAME_LENGTH)
    kind = serializers.ChoiceField(choices=AlertKind.choices)
    cluster = serializers.CharField(default="*", max_length=PATTERN_LENGTH)
    group_pattern = serializers.CharField(default="*", max_length=PATTERN_LENGTH, trim_whitespace=False)
    threshold = serializers.IntegerField(default=None, allow_null=True, min_value=1, max_value=2**63 - 1)
    statuses = serializers.ListField(
        child=serializers.ChoiceField(choices=LagStatus.choices), default=list, max_length=len(LagStatus)
    )
    for_ms = serializers.IntegerField(default=0, min_value=0, max_value=LONGEST_MS)
    enabled = serializers.BooleanField(default=True)
    webhook = serializers.IntegerField(default=None, allow_null=True, min_value=1, max_value=2**63 - 1)


class ChangedRule(StrictSerializer):
    """The fields of a rule that change; the others stay."""

    name = serializers.CharField(required=False, max_length=NAME_LENGTH)
    cluster = serializers.CharField(required=False, max_length=PATTERN_LENGTH)
    group_pattern = serializers.CharField(required=False, max_length=PATTERN_LENGTH, trim_whitespace=False)
    threshold = serializers.IntegerField(required=False, allow_null=True, min_value=1, max_value=2**63 - 1)
    statuses = serializers.ListField(
        child=serializers.ChoiceField(choices=LagStatus.choices), required=False, max_length=len(LagStatus)
    )
    for_ms = serializers.IntegerField(required=False, min_value=0, max_value=LONGEST_MS)
    enabled = serializers.BooleanField(required=False)
    webhook = serializers.IntegerField(required=False, allow_null=True, min_value=1, max_value=2**63 - 1)


class Rule(serializers.Serializer):
    """A rule. `surplus`: groups that fulfil it beyond the thousand that alerts are kept of."""

    id = serializers.IntegerField(allow_null=True)
    name = serializers.CharField()
    kind = serializers.ChoiceField(choices=AlertKind.choices)
    cluster = serializers.CharField()
    group_pattern = serializers.CharField()
    threshold = serializers.IntegerField(allow_null=True)
    statuses = serializers.ListField(child=serializers.ChoiceField(choices=LagStatus.choices))
    for_ms = serializers.IntegerField()
    enabled = serializers.BooleanField()
    webhook = serializers.IntegerField(allow_null=True)
    webhook_name = serializers.CharField(allow_null=True)
    surplus = serializers.IntegerField()


class ListedRule(Rule):
    open_count = serializers.IntegerField()


class RuleList(Listing):
    items = ListedRule(many=True)


class Alert(serializers.Serializer):
    """An alert: since when its condition holds, when it fired, when it was over, and what was found last."""

    id = serializers.IntegerField()
    rule = serializers.CharField()
    kind = serializers.ChoiceField(choices=AlertKind.choices)
    cluster = serializers.CharField()
    group_id = serializers.CharField()
    key = serializers.CharField()
    state = serializers.ChoiceField(choices=AlertState.choices)
    text = serializers.CharField()
    since = serializers.DateTimeField()
    fired_at = serializers.DateTimeField(allow_null=True)
    resolved_at = serializers.DateTimeField(allow_null=True)


class AlertList(Listing):
    items = Alert(many=True)


class NewWebhook(StrictSerializer):
    """A webhook to make; the secret signs its messages and is never shown again."""

    name = serializers.CharField(max_length=NAME_LENGTH)
    url = serializers.CharField(max_length=2_000)
    secret = serializers.CharField(min_length=SECRET_AT_LEAST, max_length=200, write_only=True, trim_whitespace=False)


class Webhook(serializers.Serializer):
    id = serializers.IntegerField(allow_null=True)
    name = serializers.CharField()
    url = serializers.CharField()
    created_at = serializers.DateTimeField(allow_null=True)


class WebhookList(Listing):
    items = Webhook(many=True)


class Delivery(serializers.Serializer):
    """A message. `next_at`: when it is tried next; `status` and `error`: what came of the last try."""

    id = serializers.IntegerField()
    event = serializers.ChoiceField(choices=["firing", "resolved", "test"])
    webhook = serializers.CharField()
    alert = serializers.IntegerField(allow_null=True)
    cluster = serializers.CharField(allow_null=True)
    group_id = serializers.CharField(allow_null=True)
    state = serializers.ChoiceField(choices=DeliveryState.choices)
    attempts = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    next_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    status = serializers.IntegerField(allow_null=True)
    error = serializers.CharField(allow_blank=True)


class DeliveryList(Listing):
    items = Delivery(many=True)
