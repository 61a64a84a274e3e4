"""Alerts, their rules, webhooks and messages over REST."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from groups.alerts import selectors, services
from groups.api import alert_shapes as shapes
from groups.api.base import ApiView, StrictSerializer, WriteParameters
from groups.api.parameters import PageParameters
from groups.api.schema import WRITES, failures
from groups.choices import AlertState, DeliveryState


class AlertListParameters(PageParameters):
    """Which alerts."""

    state = serializers.MultipleChoiceField(choices=AlertState.choices, required=False)
    cluster = serializers.CharField(required=False, max_length=64)
    group_id = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
    rule = serializers.CharField(required=False, max_length=200)


class DeliveryListParameters(PageParameters):
    """Which messages."""

    state = serializers.MultipleChoiceField(choices=DeliveryState.choices, required=False)


class AlertListView(ApiView):
    """Alerts."""

    @extend_schema(
        operation_id="alerts_list",
        parameters=[AlertListParameters],
        responses={200: shapes.AlertList, **failures(400)},
    )
    def get(self, request):
        """Alerts of the groups one may see: firing ones first, then pending, then those that are over."""
        given = self.parameters(AlertListParameters)
        return Response(selectors.alert_list(self.principal(), states=given.pop("state", ()), **given))


class RuleListView(ApiView):
    """Alert rules."""

    @extend_schema(operation_id="alert_rules_list", responses={200: shapes.RuleList, **failures()})
    def get(self, request):
        """What is watched, and how many alerts each rule has open."""
        self.parameters()
        return Response(selectors.rule_list(self.principal()))

    @extend_schema(
        operation_id="alert_rule_create",
        parameters=[WriteParameters, *WRITES],
        request=shapes.NewRule,
        responses={201: shapes.Rule, 200: shapes.Rule, **failures(400, 403, 404, 409)},
    )
    def post(self, request):
        """Makes a rule. Groups are looked at every five seconds."""
        dry_run = self.parameters(WriteParameters)["dry_run"]
        given, status = self.body(shapes.NewRule), 200 if dry_run else 201
        return self.once(lambda: (status, services.rule_create(self.principal(), dry_run=dry_run, **given)))


class RuleView(ApiView):
    """One alert rule."""

    @extend_schema(
        operation_id="alert_rule_change",
        parameters=[WriteParameters, *WRITES],
        request=shapes.ChangedRule,
        responses={200: shapes.Rule, **failures(400, 403, 404, 409)},
    )
    def patch(self, request, rule: int):
        """Changes some fields of a rule; its open alerts end, and begin anew where the condition holds."""
        dry_run = self.parameters(WriteParameters)["dry_run"]
        given = self.body(shapes.ChangedRule)
        return self.once(lambda: (200, services.rule_change(self.principal(), rule, dry_run=dry_run, **given)))

    @extend_schema(
        operation_id="alert_rule_delete",
        parameters=[WriteParameters, *WRITES],
        request=None,
        responses={204: None, **failures(400, 403, 404, 409)},
    )
    def delete(self, request, rule: int):
        """Deletes a rule; its alerts end and stay."""
        dry_run = self.parameters(WriteParameters)["dry_run"]

        def act():
            services.rule_delete(self.principal(), rule, dry_run=dry_run)
            return 204, None

        return self.once(act)


class WebhookListView(ApiView):
    """Webhooks."""

    @extend_schema(operation_id="webhooks_list", responses={200: shapes.WebhookList, **failures(403)})
    def get(self, request):
        """Where alerts are told; never the secrets."""
        self.parameters()
        return Response(selectors.webhook_list(self.principal()))

    @extend_schema(
        operation_id="webhook_create",
        parameters=[WriteParameters, *WRITES],
        request=shapes.NewWebhook,
        responses={201: shapes.Webhook, 200: shapes.Webhook, **failures(400, 403, 409)},
    )
    def post(self, request):
        """Makes a webhook. Messages are signed: X-Kaas-Signature holds `t=<seconds>,v1=<hex>`, the HMAC-SHA256 of
        `<seconds>.<body>` under the secret."""
        dry_run = self.parameters(WriteParameters)["dry_run"]
        given, status = self.body(shapes.NewWebhook), 200 if dry_run else 201
        return self.once(lambda: (status, services.webhook_create(self.principal(), dry_run=dry_run, **given)))


class WebhookView(ApiView):
    """One webhook."""

    @extend_schema(
        operation_id="webhook_delete",
        parameters=[WriteParameters, *WRITES],
        request=None,
        responses={204: None, **failures(400, 403, 404, 409)},
    )
    def delete(self, request, webhook: int):
        """Deletes a webhook; rules that told it tell nobody."""
        dry_run = self.parameters(WriteParameters)["dry_run"]

        def act():
            services.webhook_delete(self.principal(), webhook, dry_run=dry_run)
            return 204, None

        return self.once(act)


class WebhookTestView(ApiView):
    """A test of a webhook."""

    @extend_schema(
        operation_id="webhook_test",
        parameters=[WriteParameters, *WRITES],
        request=StrictSerializer,
        responses={202: shapes.Delivery, 204: None, **failures(400, 403, 404, 409)},
    )
    def post(self, request, webhook: int):
        """Sends a message that says no more than that it is a test; the deliveries show what came of it."""
        dry_run = self.parameters(WriteParameters)["dry_run"]
        self.body(StrictSerializer)
        status = 204 if dry_run else 202
        return self.once(lambda: (status, services.webhook_test(self.principal(), webhook, dry_run=dry_run)))


class DeliveryListView(ApiView):
    """Messages to webhooks."""

    @extend_schema(
        operation_id="deliveries_list",
        parameters=[DeliveryListParameters],
        responses={200: shapes.DeliveryList, **failures(400, 403)},
    )
    def get(self, request):
        """Messages, the newest first: waiting, delivered, given up, each with what the other side answered last."""
        given = self.parameters(DeliveryListParameters)
        return Response(selectors.delivery_list(self.principal(), states=given.pop("state", ()), **given))
