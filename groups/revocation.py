"""A right that is taken away reaches the open sockets at once, whoever took it away and wherever.

Job: receivers of Django's signals about role bindings, tokens, users, memberships and sessions; each makes the sockets of
every process ask again for what they may see.
Rules: told when the transaction is over, so that nobody asks too early. What was over anyway is not told: a sweep that
deletes thousands of expired rows disturbs nobody. A new right is not told either: sockets find it by themselves.
Must not know: sockets, requests, the admin pages.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models.signals import m2m_changed, post_delete, post_save
from django.utils import timezone

from groups.control import access_changed
from groups.models import RoleBinding, Token

_ONLY_TELLS_THAT_SOMEBODY_CAME = frozenset({"last_login"})


def revocation_connect() -> None:
    """Connects the receivers: once, when the apps are loaded."""
    users = get_user_model()
    for signal in (post_save, post_delete):
        signal.connect(_binding_changed, sender=RoleBinding)
        signal.connect(_token_changed, sender=Token)
        signal.connect(_user_changed, sender=users)
    post_delete.connect(_django_group_deleted, sender=Group)
    m2m_changed.connect(_membership_changed, sender=users.groups.through)
    post_delete.connect(_session_ended, sender=Session)


def _binding_changed(instance: RoleBinding, created: bool = False, **_: Any) -> None:
    if not created:
        _tell(instance.user_id)


def _token_changed(instance: Token, created: bool = False, **_: Any) -> None:
    is_over = instance.expires_at is not None and instance.expires_at <= timezone.now()
    if not created and not is_over:
        _tell(instance.owner_id)


def _user_changed(instance: Any, created: bool = False, update_fields: Any = None, **_: Any) -> None:
    if not created and update_fields != _ONLY_TELLS_THAT_SOMEBODY_CAME:
        _tell(instance.pk)


def _django_group_deleted(**_: Any) -> None:
    _tell(None)


def _membership_changed(instance: Any, action: str, reverse: bool, **_: Any) -> None:
    if action in ("post_remove", "post_clear"):
        _tell(None if reverse else instance.pk)


def _session_ended(instance: Session, **_: Any) -> None:
    user_id = instance.get_decoded().get("_auth_user_id")
    if user_id is not None and instance.expire_date > timezone.now():
        _tell(int(user_id))


def _tell(user_id: int | None) -> None:
    transaction.on_commit(partial(access_changed, user_id))
