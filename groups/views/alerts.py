"""The page of alerts: what fires, the rules, webhooks and their messages.

Rules: everybody sees the alerts of groups they may see, and the rules; the forms, webhooks and messages are for
administrators. A form that is refused comes back filled, with the reason.
"""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST

from groups.access import Principal
from groups.alerts import selectors, services
from groups.api import alert_shapes as shapes
from groups.api.alerts import AlertListParameters
from groups.choices import AlertKind, AlertState, LagStatus
from groups.problems import Problem
from groups.views.base import Context, checked_or_problem, given, page, show
from groups.views.listing import pages

DELIVERIES_SHOWN = 20
UNITS_MS = {"s": 1_000, "min": 60_000, "h": 3_600_000}


@require_GET
@page
def alerts(request: HttpRequest, principal: Principal) -> HttpResponse:
    """What fires, what is watched, who was told."""
    return _alerts(request, principal)


@require_POST
@page
def rule_create(request: HttpRequest, principal: Principal) -> HttpResponse:
    """Makes a rule from the form."""
    try:
        rule = services.rule_create(principal, **checked_or_problem(shapes.NewRule, _rule_of(request)))
    except Problem as problem:
        return _alerts(request, principal, problem, refused="rule")
    messages.success(request, f"The rule {rule['name']} is made: groups are looked at every five seconds.")
    return redirect("alerts")


@require_POST
@page
def rule_switch(request: HttpRequest, principal: Principal, rule: int) -> HttpResponse:
    """Switches a rule on or off."""
    services.rule_change(principal, rule, enabled=request.POST.get("enabled") == "true")
    return redirect("alerts")


@require_POST
@page
def rule_delete(request: HttpRequest, principal: Principal, rule: int) -> HttpResponse:
    """Deletes a rule; its alerts end and stay."""
    services.rule_delete(principal, rule)
    messages.success(request, "The rule is deleted; the alerts that it had open are over.")
    return redirect("alerts")


@require_POST
@page
def webhook_create(request: HttpRequest, principal: Principal) -> HttpResponse:
    """Makes a webhook from the form."""
    try:
        webhook = services.webhook_create(principal, **checked_or_problem(shapes.NewWebhook, given(request.POST)))
    except Problem as problem:
        return _alerts(request, principal, problem, refused="webhook")
    messages.success(request, f"The webhook {webhook['name']} is made: send it a test message.")
    return redirect("alerts")


@require_POST
@page
def webhook_delete(request: HttpRequest, principal: Principal, webhook: int) -> HttpResponse:
    """Deletes a webhook."""
    services.webhook_delete(principal, webhook)
    messages.success(request, "The webhook is deleted; rules that told it tell nobody now.")
    return redirect("alerts")


@require_POST
@page
def webhook_test(request: HttpRequest, principal: Principal, webhook: int) -> HttpResponse:
    """Sends a test message."""
    services.webhook_test(principal, webhook)
    messages.success(request, "A test message waits; the deliveries below show what comes of it.")
    return redirect("alerts")


def _alerts(
    request: HttpRequest, principal: Principal, problem: Problem | None = None, refused: str = ""
) -> HttpResponse:
    asked = checked_or_problem(AlertListParameters, given(request.GET, ["state"]))
    found = selectors.alert_list(principal, states=asked.get("state", ()), **_without(asked, "state"))
    context: Context = {
        "answer": found,
        "asked": asked,
        "states": AlertState.choices,
        "pages": pages(page=asked["page"], page_size=asked["page_size"], total=found["total"]),
        "rules": selectors.rule_list(principal)["items"],
        "problem": problem.as_dict() if problem else None,
        "refused": refused,
        "form": request.POST if problem else {},
        "chosen": request.POST.getlist("statuses"),
        "section": "alerts",
    }
    if principal.is_admin():
        context |= {
            "kinds": AlertKind.choices,
            "statuses": LagStatus.choices,
            "webhooks": selectors.webhook_list(principal)["items"],
            "deliveries": selectors.delivery_list(principal, page=1, page_size=DELIVERIES_SHOWN),
        }
    status = problem.kind.status if problem else 200
    return show(request, principal, "alerts/alerts.html", context, status=status)


def _rule_of(request: HttpRequest) -> dict[str, Any]:
    """The form's fields as a rule: a time is written as a number and its unit."""
    values = given(request.POST, ["statuses"])
    number, unit = values.pop("for", None), values.pop("unit", "s")
    if number is not None:
        # What is no number is left as it is, for the check to refuse.
        values["for_ms"] = int(number) * UNITS_MS.get(unit, 1_000) if number.isdecimal() else number
    return values


def _without(values: dict[str, Any], name: str) -> dict[str, Any]:
    return {one: value for one, value in values.items() if one != name}
