"""Signing in with an OpenID provider: the way there, and the way back; and signing out, there as well.

Rules: what goes wrong is told on the sign-in page; a browser is only ever sent on to an address of our own, or to the provider.
"""

from __future__ import annotations

from django.contrib.auth import login, logout
from django.contrib.auth.forms import AuthenticationForm
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from groups.openid import SESSION_S, Provider, claims_of_return, provider, user_of_claims, way_out, way_to_provider
from groups.problems import Problem, too_often
from groups.rates import Rate, take
from groups.views.access import address_of

BEGUN = Rate(name="openid", count=60, window_s=60)
"""Sign-ins that one address may begin: each takes a row in the database."""

NEXT = "openid_next"
HINT = "openid_hint"
"""Where a session holds the address to go on to, and the token by which the provider knows somebody again."""

BACKEND = "django.contrib.auth.backends.ModelBackend"


@never_cache
@require_GET
def begin(request: HttpRequest) -> HttpResponse:
    """Sends the browser to the provider."""
    chosen = _provider()
    try:
        if wait_s := take(BEGUN, address_of(request)):
            raise too_often("sign-in", wait_s)
        request.session[NEXT] = _own(request, request.GET.get("next", ""))
        return way_to_provider(chosen, request, request.build_absolute_uri(reverse("openid_end")))
    except Problem as problem:
        return _refused(request, chosen, problem)


@never_cache
@require_GET
def end(request: HttpRequest) -> HttpResponse:
    """Takes whoever comes back from the provider in, or says why not."""
    chosen = _provider()
    try:
        claims, id_token = claims_of_return(chosen, request)
        user = user_of_claims(chosen, claims)
    except Problem as problem:
        return _refused(request, chosen, problem)
    onward = request.session.pop(NEXT, "")
    login(request, user, backend=BACKEND)
    request.session.set_expiry(SESSION_S)
    request.session[HINT] = id_token
    return redirect(onward or "home")


@never_cache
@require_POST
def leave(request: HttpRequest) -> HttpResponse:
    """Signs out here, and leads whoever came from the provider to its own way out.

    A page does that and no redirection: the content policy lets no form end at another host.
    """
    chosen, id_token = provider(), request.session.get(HINT)
    logout(request)
    back = reverse("login")
    way = way_out(chosen, id_token, request.build_absolute_uri(back)) if chosen and id_token else None
    if way is None:
        return redirect(back)
    return render(request, "registration/signed_out.html", {"openid": chosen, "way": way})


def _provider() -> Provider:
    chosen = provider()
    if chosen is None:
        raise Http404
    return chosen


def _own(request: HttpRequest, address: str) -> str:
    safe = url_has_allowed_host_and_scheme(
        address, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return address if safe else ""


def _refused(request: HttpRequest, chosen: Provider, problem: Problem) -> HttpResponse:
    context = {"problem": problem, "form": AuthenticationForm(request), "openid": chosen}
    response = render(request, "registration/login.html", context, status=problem.kind.status)
    if problem.retry_after_s is not None:
        response["Retry-After"] = str(problem.retry_after_s)
    return response
