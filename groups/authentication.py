"""Who asks: a user of a session, or the owner of a token, as a principal for the guard.

Job: tokens made and recognised, principals made from the database, and asked again for as long as a socket is open.
Rules: a token's text is shown once and kept as a digest; one that is over, or whose owner is switched off, opens nothing.
A session ends with its sign-out, with a new password and with its user.
Must not know: requests, sockets (both hand in what they got).
"""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime, timedelta

from django.contrib.auth import get_user, get_user_model
from django.contrib.auth.models import AbstractUser
from django.contrib.sessions.backends.db import SessionStore
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from groups.access import Grant, Principal
from groups.choices import Role
from groups.models import RoleBinding, Token

TOKEN_PREFIX = "kaas_"  # noqa: S105 - a prefix by which scanners and people recognise a token
_TOKEN_BYTES = 32
_USE_IS_NOTED_EVERY = timedelta(minutes=1)


def token_text() -> str:
    """A new token: a prefix that tells what it is, and 256 random bits."""
    return TOKEN_PREFIX + secrets.token_urlsafe(_TOKEN_BYTES)


def token_digest(text: str) -> str:
    """What the database keeps of a token. A plain hash is enough, because the text is random and long."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


def principal_of_token(text: str, now: datetime) -> Principal | None:
    """The principal behind a token's text, null when it opens nothing (any more). That it was used is noted."""
    token = _live_token(Token.objects.filter(digest=token_digest(text)), now)
    if token is None:
        return None
    if token.last_used_at is None or now - token.last_used_at >= _USE_IS_NOTED_EVERY:
        Token.objects.filter(pk=token.pk).update(last_used_at=now)
    return _of_token(token)


def principal_again(principal: Principal, now: datetime) -> Principal | None:
    """The same principal as the database knows it now, null when its token, its session or its user is gone or over."""
    if principal.token_id is not None:
        token = _live_token(Token.objects.filter(pk=principal.token_id, owner=principal.user_id), now)
        return None if token is None else _of_token(token)
    if principal.session_key is not None:
        user = user_of_session(principal.session_key)
    else:
        user = get_user_model().objects.filter(pk=principal.user_id, is_active=True).first()
    if user is None or user.pk != principal.user_id:
        return None
    return principal_of_user(user, principal.session_key)


def principal_of_user(user: AbstractUser, session_key: str | None = None) -> Principal:
    """The principal of a signed-in user; with the key of its session it lasts only as long as that."""
    return Principal(actor=user.get_username(), user_id=user.pk, grants=_grants(user), session_key=session_key)


def user_of_session(session_key: str) -> AbstractUser | None:
    """The user who is signed in with a session, null when it is over or its password was changed since."""
    request = HttpRequest()
    request.session = SessionStore(session_key)
    user = get_user(request)
    return user if user.is_authenticated else None


def _live_token(tokens: QuerySet[Token], now: datetime) -> Token | None:
    lasting = tokens.filter(Q(expires_at=None) | Q(expires_at__gt=now), owner__is_active=True)
    return lasting.select_related("owner").first()


def _of_token(token: Token) -> Principal:
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
