"""What every answer gets: a request id that the logs carry too, and the headers that browsers heed.

Must not know: what is answered.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod

import structlog
from asgiref.sync import iscoroutinefunction, markcoroutinefunction

from kaasadmin.logs import REQUEST_ID, bind_request_id

UNLOGGED = ("/healthz", "/readyz", "/metrics")
"""What machines ask all day."""

_log = structlog.get_logger(__name__)

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


PERMISSIONS_POLICY = ", ".join(
    f"{feature}=()"
    for feature in (
        "accelerometer",
        "camera",
        "geolocation",
        "gyroscope",
        "magnetometer",
        "microphone",
        "payment",
        "usb",
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
    """Gives each request an id, or keeps the one that a proxy gave it, and logs what was answered: reads only at DEBUG."""

    def before(self, request) -> None:
        request.request_id = bind_request_id(request.headers.get(REQUEST_ID, ""))
        request.began_at = time.monotonic()

    def after(self, request, response):
        response[REQUEST_ID] = request.request_id
        if request.path_info not in UNLOGGED:
            told = {"method": request.method, "path": request.path, "status": response.status_code}
            reads = request.method in ("GET", "HEAD") and response.status_code < 500
            (_log.debug if reads else _log.info)("answered", **told, duration_ms=_ms_since(request.began_at))
        return response


def _ms_since(began_at: float) -> int:
    return round((time.monotonic() - began_at) * 1_000)


class SecurityHeadersMiddleware(_Middleware):
    """Scripts and styles from our own files only, and no frame around us."""

    def after(self, request, response):
        response.headers.setdefault("Content-Security-Policy", CONTENT_SECURITY_POLICY)
        response.headers.setdefault("Permissions-Policy", PERMISSIONS_POLICY)
        response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        return response
