"""Idempotency-Key: a write that is repeated with the same key is done once, and answered alike.

Job: claim a key, keep the answer, give it again.
Rules: a key belongs to its actor; the same key with another request is refused; a write that failed frees its key, so
that it may be tried again. Keys are kept for a day. An answer may hold a secret (a new token): it is kept sealed, and only
the key that it was asked for with opens it again; of the key itself there is only a digest.
Must not know: what is written.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from cryptography.fernet import Fernet, InvalidToken
from django.utils import timezone
from django.utils.crypto import salted_hmac

from groups.fields import id_digest
from groups.models import IdempotentRequest
from groups.problems import CONFLICT, WRONG_STATE, Problem

KEPT = timedelta(days=1)
ABANDONED = timedelta(minutes=2)
"""After so long a first request without an answer is taken for one whose process died."""

KEY_LENGTH = 255
KEY_PATTERN = f"[!-~]{{1,{KEY_LENGTH}}}"

Answer = tuple[int, Any]
"""HTTP status and JSON body."""


def answered_once(*, actor: str, key: str, request: str, act: Callable[[], Answer]) -> Answer:
    """What `act` answers, or what it answered when this key came first. `request` tells one request from another.

    Raises Problem (409) for a key that stands for another request, or whose first request still runs; and what `act` does.
    """
    row, is_first = IdempotentRequest.objects.get_or_create(
        actor=actor, key_digest=id_digest(key), defaults={"request_digest": id_digest(request)}
    )
    if not is_first and not _taken_over(row):
        return _answer_of(row, key, id_digest(request))
    try:
        status, body = act()
    except BaseException:
        row.delete()
        raise
    row.status, row.answer = status, _seal(key).encrypt(json.dumps(body).encode()).decode()
    row.save(update_fields=["status", "answer"])
    return status, body


def _taken_over(row: IdempotentRequest) -> bool:
    now = timezone.now()
    abandoned = IdempotentRequest.objects.filter(pk=row.pk, status=None, created_at__lt=now - ABANDONED)
    return abandoned.update(created_at=now) == 1


def _answer_of(row: IdempotentRequest, key: str, request_digest: str) -> Answer:
    resource = "request with this Idempotency-Key"
    if row.request_digest != request_digest:
        message = "This Idempotency-Key was used for another request: take a new one."
        raise Problem(kind=WRONG_STATE, resource=resource, message=message, code="IDEMPOTENCY_KEY_REUSED")
    if row.status is None:
        message = "The first request with this Idempotency-Key still runs: ask again in a moment."
        raise Problem(kind=CONFLICT, resource=resource, message=message, code="STILL_RUNNING")
    try:
        return row.status, json.loads(_seal(key).decrypt(row.answer.encode()))
    except InvalidToken:
        message = "The answer can no longer be read: it was done, look at what came of it."
        raise Problem(kind=WRONG_STATE, resource=resource, message=message, code="ANSWER_LOST") from None


def _seal(key: str) -> Fernet:
    """Opens with the request's own key and the installation's secret together, with neither alone."""
    secret = salted_hmac("groups.idempotency", key, algorithm="sha256").digest()
    return Fernet(base64.urlsafe_b64encode(secret))
