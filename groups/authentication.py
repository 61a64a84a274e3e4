"""Who asks: a user of a session, or the owner of a token, as a principal for the guard.

Job: tokens made and recognised, principals made from the database.
Rules: a token's text is shown once and kept as a digest; one that is over, or whose owner is switched off, opens nothing.
Must not know: requests, sockets (both hand in the text they got).
"""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractUser
from django.db.models import Q

from groups.access import Grant, Principal
from groups.choices import Role
from groups.models import RoleBinding, Token

TOKEN_PREFIX = "kaas_"  # noqa: S105 - a prefix by which scanners and people recognise a token
_TOKEN_BYTES = 32


def token_text() -> str:
    """A new token: a prefix that tells what it is, and 256 random bits."""
    return TOKEN_PREFIX + secrets.token_urlsafe(_TOKEN_BYTES)


def token_digest(text: str) -> str:
    """What the database keeps of a token. A plain hash is enough, because the text is random and long."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


def principal_of_token(text: str, now: datetime) -> Principal | None:
    """The principal behind a token's text, null when it opens nothing (any more)."""
    return _of_token(Token.objects.filter(digest=token_digest(text)), now)


def principal_again(principal: Principal, now: datetime) -> Principal | None:
    """The same principal as the database knows it now, null when its token or its user is gone or over."""
    if principal.token_id is not None:
        return _of_token(Token.objects.filter(pk=principal.token_id, owner=principal.user_id), now)
    user = get_user_model().objects.filter(pk=principal.user_id, is_active=True).first()
    return principal_of_user(user) if user else None


def principal_of_user(user: AbstractUser) -> Principal:
    """The principal of a signed-in user."""
    return Principal(actor=user.get_username(), user_id=user.pk, grants=_grants(user))


def _of_token(tokens, now: datetime) -> Principal | None:
    token = (
        tokens.filter(Q(expires_at=None) | Q(expires_at__gt=now), owner__is_active=True).select_related("owner").first()
    )
    if token is None:
        return None
    return Principal(
        actor=f"{token.owner.get_username()} ({token.name})",
        user_id=token.owner_id,
        grants=_grants(token.owner),
        token_id=token.pk,
        limit=Grant(role=Role(token.role), cluster_pattern=token.cluster_pattern, group_pattern=token.group_pattern),
    )


def _grants(user: AbstractUser) -> tuple[Grant, ...]:
    if user.is_superuser:
        return (Grant(role=Role.ADMIN),)
    bindings = RoleBinding.objects.filter(Q(user=user) | Q(group__user=user)).distinct().order_by("pk")
    return tuple(
        Grant(role=Role(row.role), cluster_pattern=row.cluster_pattern, group_pattern=row.group_pattern)
        for row in bindings
    )
