"""Exceptions to answers: the one place where a request that failed gets its status and its error object.

Rules: every failed request has the same object (groups.problems); what nobody expected is logged with its trace and
answered 500 without details.
"""

from __future__ import annotations

from typing import Any

import structlog
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.http import Http404, HttpRequest, JsonResponse
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import set_rollback

from groups import problems
from groups.problems import Kind, Problem

_log = structlog.get_logger(__name__)

_KINDS: tuple[tuple[type[Exception], Kind], ...] = (
    (exceptions.ValidationError, problems.INVALID),
    (exceptions.ParseError, problems.INVALID),
    (SuspiciousOperation, problems.INVALID),
    (exceptions.NotAuthenticated, problems.UNAUTHENTICATED),
    (exceptions.AuthenticationFailed, problems.UNAUTHENTICATED),
    (exceptions.PermissionDenied, problems.DENIED),
    (PermissionDenied, problems.DENIED),
    (exceptions.NotFound, problems.NOT_FOUND),
    (Http404, problems.NOT_FOUND),
    (exceptions.MethodNotAllowed, problems.METHOD_NOT_ALLOWED),
    (exceptions.NotAcceptable, problems.NOT_ACCEPTABLE),
    (exceptions.UnsupportedMediaType, problems.UNSUPPORTED_MEDIA_TYPE),
)


def problem_response(exception: Exception, context: dict[str, Any]) -> Response:
    """DRF's exception handler."""
    set_rollback()
    problem = exception if isinstance(exception, Problem) else _problem(exception)
    headers = {}
    if problem.retry_after_s is not None:
        headers["Retry-After"] = str(problem.retry_after_s)
    if authenticate := getattr(exception, "auth_header", None):
        headers["WWW-Authenticate"] = authenticate
    return Response(problem.as_dict(), status=problem.kind.status, headers=headers, content_type="application/json")


def problem_page(problem: Problem) -> JsonResponse:
    """The same object outside of DRF: for addresses under /api/ that nobody serves, and for metrics."""
    return JsonResponse(problem.as_dict(), status=problem.kind.status)


def not_found_page(request: HttpRequest) -> JsonResponse:
    """The answer to an address under /api/ that is none."""
    return problem_page(problems.not_found(f"address {request.path}"))


def _problem(exception: Exception) -> Problem:
    if isinstance(exception, exceptions.Throttled):
        return problems.too_often("API", exception.wait)
    for kind_of, kind in _KINDS:
        if isinstance(exception, kind_of):
            return Problem(kind=kind, resource="request", message=_sentence(exception), details=_details(exception))
    _log.error("request_failed", exc_info=exception)
    message = "The console met something it did not expect; its log has the request's id."
    return Problem(kind=problems.FAILED, resource="request", message=message)


def _sentence(exception: Exception) -> str:
    if isinstance(exception, exceptions.ValidationError):
        fields = ", ".join(sorted(_details(exception))) or "the request"
        return f"These values make no sense: {fields}."
    return str(getattr(exception, "detail", exception)) or "The request cannot be answered."


def _details(exception: Exception) -> dict[str, Any]:
    if not isinstance(exception, exceptions.ValidationError):
        return {}
    detail = exception.detail
    return detail if isinstance(detail, dict) else {"request": detail}
