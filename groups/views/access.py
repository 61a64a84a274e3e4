"""Signing in and out, tokens, audit rows.

Rules: sign-in is closed for a while after too many tries; a token's text is shown once, on the page that made it.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.views import LoginView as DjangoLoginView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_GET, require_POST

from groups import selectors, services
from groups.access import Principal
from groups.api import serializers as shapes
from groups.api.parameters import AuditParameters
from groups.audit import OF_CLUSTERS
from groups.choices import Role
from groups.login import login_check, login_succeeded
from groups.openid import provider
from groups.problems import Problem
from groups.views.base import checked_or_problem, given, page, show
from groups.views.listing import pages

THEMES = ("light", "dark")
THEME_COOKIE = "kaas_theme"
_YEAR_S = 365 * 24 * 3600


class LoginView(DjangoLoginView):
    """The sign-in form; too many tries close it for a while."""

    template_name = "registration/login.html"
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args, **kwargs) -> HttpResponse:
        username, address = request.POST.get("username", ""), address_of(request)
        try:
            login_check(username, address)
        except Problem as problem:
            form = self.get_form_class()(request)
            context = self.get_context_data(form=form, problem=problem)
            wait = {"Retry-After": str(problem.retry_after_s)}
            return self.render_to_response(context, status=problem.kind.status, headers=wait)
        return super().post(request, *args, **kwargs)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return {**super().get_context_data(**kwargs), "openid": provider()}

    def form_invalid(self, form) -> HttpResponse:
        response = super().form_invalid(form)
        response.status_code = 400
        return response

    def form_valid(self, form) -> HttpResponse:
        login_succeeded(form.data.get("username", ""), address_of(self.request))
        return super().form_valid(form)


def address_of(request: HttpRequest) -> str:
    """The address that tries are counted by: the one the connection came from."""
    return request.META.get("REMOTE_ADDR") or "unknown"


@require_POST
def theme_set(request: HttpRequest) -> HttpResponse:
    """Remembers light or dark in a cookie, so that the next page comes in it from its first pixel."""
    back = request.POST.get("next", "")
    safe = url_has_allowed_host_and_scheme(back, allowed_hosts={request.get_host()})
    response = redirect(back if safe else "home")
    theme = request.POST.get("theme")
    if theme in THEMES:
        response.set_cookie(THEME_COOKIE, theme, max_age=_YEAR_S, samesite="Lax")
    else:
        response.delete_cookie(THEME_COOKIE, samesite="Lax")
    return response


@require_GET
@page
def audit(request: HttpRequest, principal: Principal) -> HttpResponse:
    """Who did what, the newest first."""
    asked = checked_or_problem(AuditParameters, given(request.GET))
    rows = selectors.audit_list(principal, **asked)
    context = {
        "rows": rows,
        "asked": asked,
        "of_clusters": OF_CLUSTERS,
        "pages": pages(page=asked["page"], page_size=asked["page_size"], total=rows["total"]),
        "section": "audit",
    }
    return show(request, principal, "access/audit.html", context, cluster=asked.get("cluster"))


@page
def tokens(request: HttpRequest, principal: Principal) -> HttpResponse:
    """One's tokens, and the form for another one."""
    made, problem = None, None
    if request.method == "POST":
        try:
            made = services.token_create(principal, **checked_or_problem(shapes.NewToken, given(request.POST)))
        except Problem as refused:
            problem = refused
    context: dict[str, Any] = {
        "rows": selectors.token_list(principal),
        "roles": Role.choices,
        "made": made,
        "problem": problem.as_dict() if problem else None,
        "form": request.POST if problem else {},
        "section": "tokens",
    }
    return show(request, principal, "access/tokens.html", context, status=problem.kind.status if problem else 200)


@require_POST
@page
def token_delete(request: HttpRequest, principal: Principal, token: int) -> HttpResponse:
    """Revokes a token."""
    services.token_delete(principal, token)
    return redirect("tokens")
