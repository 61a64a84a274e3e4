"""What every answer gets: a request id that the logs carry too, and the headers that browsers heed.

Must not know: what is answered.
"""

from __future__ import annotations

import re
import uuid
from abc import ABC, abstractmethod

import structlog
from asgiref.sync import iscoroutinefunction, markcoroutinefunction

REQUEST_ID = "X-Request-ID"

_SANE = re.compile(r"[A-Za-z0-9._-]{1,64}")

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)


class _Middleware(ABC):
    """Serves sync and async stacks alike: a sync one here would send every async view through a thread."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response) -> None:
        self.get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request):
        self.before(request)
        if iscoroutinefunction(self):
            return self._answered(request)
        return self.after(request, self.get_response(request))

    async def _answered(self, request):
        return self.after(request, await self.get_response(request))

    def before(self, request) -> None:  # noqa: B027 - most have nothing to do before the view
        """Before the view."""

    @abstractmethod
    def after(self, request, response):
        """The response, with what this middleware adds."""


class RequestIdMiddleware(_Middleware):
    """Gives each request an id, or keeps the one that a proxy gave it."""

    def before(self, request) -> None:
        given = request.headers.get(REQUEST_ID, "")
        request.request_id = given if _SANE.fullmatch(given) else uuid.uuid4().hex
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request.request_id)

    def after(self, request, response):
        response[REQUEST_ID] = request.request_id
        return response


class SecurityHeadersMiddleware(_Middleware):
    """Scripts and styles from our own files only, and no frame around us."""

    def after(self, request, response):
        response.headers.setdefault("Content-Security-Policy", CONTENT_SECURITY_POLICY)
        response.headers.setdefault("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
        return response
