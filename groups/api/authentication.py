"""Who sent a request: a bearer token, or the session of a browser.

Rules: a token that opens nothing is refused at once and never falls through to the session; an address that tries many of
them is told to wait; a session's writes need the CSRF token.
"""

from __future__ import annotations

from django.conf import settings
from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, SessionAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed

from groups.access import Principal
from groups.authentication import principal_of_token, principal_of_user
from groups.problems import too_often
from groups.rates import Rate, take

SCHEME = "Bearer"

REFUSED_TOKENS = Rate(name="refused-tokens", count=100, window_s=60)
"""Tokens that open nothing, from one address."""


class Caller:
    """What REST calls the user: the principal, and that it is somebody."""

    is_authenticated = True
    is_active = True

    def __init__(self, principal: Principal) -> None:
        self.principal = principal
        self.pk = principal.user_id


class BearerAuthentication(BaseAuthentication):
    """`Authorization: Bearer <token>`."""

    def authenticate(self, request):
        scheme, _, text = get_authorization_header(request).decode("latin-1").partition(" ")
        if scheme.lower() != SCHEME.lower():
            return None
        principal = principal_of_token(text.strip(), timezone.now())
        if principal is None:
            if wait_s := take(REFUSED_TOKENS, request.META.get("REMOTE_ADDR")):
                raise too_often("API", wait_s)
            raise AuthenticationFailed("This token opens nothing: it is wrong, over or revoked.")
        return Caller(principal), text

    def authenticate_header(self, request) -> str:
        return SCHEME


class CsrfSessionAuthentication(SessionAuthentication):
    """The session cookie of a signed-in browser; writes carry the CSRF token."""

    def authenticate(self, request):
        signed_in = super().authenticate(request)
        if signed_in is None:
            return None
        user, _ = signed_in
        return Caller(principal_of_user(user)), None


class BearerScheme(OpenApiAuthenticationExtension):
    """How the documentation shows tokens."""

    target_class = BearerAuthentication
    name = "token"

    def get_security_definition(self, auto_schema):
        return {"type": "http", "scheme": "bearer", "description": "A personal token, from POST /api/v1/tokens/."}


class SessionScheme(OpenApiAuthenticationExtension):
    """How the documentation shows sessions."""

    target_class = CsrfSessionAuthentication
    name = "session"

    def get_security_definition(self, auto_schema):
        return {"type": "apiKey", "in": "cookie", "name": settings.SESSION_COOKIE_NAME}
