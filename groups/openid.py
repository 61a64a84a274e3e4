"""Signing in with an OpenID provider, and out again.

Job: the way to the provider and back, from what it says of somebody to a user with roles, and the way out.
Rules: a provider's subject is one user for ever; a name that a user of the console has already is never taken over by
somebody who has the same name at the provider. Roles come from a claim, by the table of KAAS_OIDC_ROLES: at each sign-in the
user is put into exactly those of the table's Django groups, so that what the provider took away is gone. Who has none of
them does not get in. A session lasts half a day, then the provider is asked again. Signing out ends the session here, whatever
the provider does; where it has a way out, the browser is led there.
Must not know: pages. The protocol (discovery, PKCE, state, nonce, signatures) is Authlib's.
Source: OpenID Connect Core 1.0, OpenID Connect RP-Initiated Logout 1.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import requests
from authlib.common.errors import AuthlibBaseError
from authlib.common.urls import add_params_to_uri
from authlib.integrations.django_client import OAuth
from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractUser, Group
from django.db import transaction
from django.http import HttpRequest
from joserfc.errors import JoseError

from groups.audit import audited
from groups.models import Identity
from groups.problems import DENIED, Problem, not_connected
from groups.provider import Provider

SESSION_S = 12 * 3600
TIMEOUT_S = 10
_WHO_LENGTH = 150
_ID_LENGTH = 255
_RESOURCE = "identity provider"


def provider() -> Provider | None:
    """The provider that the settings name, null when there is none."""
    return settings.KAAS_OPENID


def way_to_provider(chosen: Provider, request: HttpRequest, back: str) -> Any:
    """A redirect to the provider, which sends the browser to the address `back`; what ties the two lies in the session.

    Raises Problem (503) while the provider does not answer.
    """
    try:
        return _client(chosen).authorize_redirect(request, back)
    except (requests.RequestException, ValueError, KeyError, RuntimeError) as problem:
        raise _away(problem) from problem


def claims_of_return(chosen: Provider, request: HttpRequest) -> tuple[dict[str, Any], str]:
    """What the provider says of whoever came back from it, proven by signature, issuer, audience and nonce; and the token
    that says so, by which the provider knows them again when they sign out.

    Raises Problem: 403 when it proves nothing, 503 when the provider does not answer.
    """
    options = {"iss": {"essential": True, "values": [chosen.issuer]}, "sub": {"essential": True}}
    try:
        client = _client(chosen)
        token = client.authorize_access_token(request, claims_options=options)
        claims = dict(token["userinfo"])
        if chosen.role_claim not in claims and client.load_server_metadata().get("userinfo_endpoint"):
            told = client.userinfo(token=token)
            claims = {**told, **claims} if told.get("sub") == claims["sub"] else claims
        return claims, token["id_token"]
    except requests.RequestException as problem:
        raise _away(problem) from problem
    except (AuthlibBaseError, JoseError, KeyError, ValueError, RuntimeError) as problem:
        why = getattr(problem, "description", "") or str(problem) or type(problem).__name__
        message = f"The sign-in was not completed: {why}. Start again from the sign-in page."
        raise Problem(kind=DENIED, resource=_RESOURCE, message=message) from problem


def way_out(chosen: Provider, id_token: str, back: str) -> str | None:
    """Where the provider signs somebody out and then sends the browser to the address `back`; null when it has no such
    place, or does not answer: then they are signed out of the console alone."""
    try:
        place = _client(chosen).load_server_metadata().get("end_session_endpoint")
    except (requests.RequestException, ValueError, KeyError, RuntimeError):
        return None
    if not isinstance(place, str) or not place.startswith(("https://", "http://")):
        return None
    asked = {"id_token_hint": id_token, "post_logout_redirect_uri": back, "client_id": chosen.client_id}
    return add_params_to_uri(place, list(asked.items()))


def user_of_claims(chosen: Provider, claims: Mapping[str, Any]) -> AbstractUser:
    """The user behind a provider's subject, made at the first sign-in, in the Django groups that the claims give.

    Raises Problem (403) for somebody without a role here, or whose user is switched off.
    """
    names = chosen.groups_of(claims)
    subject = str(claims["sub"])
    if not names or len(subject) > _ID_LENGTH:
        message = f"{_called(claims)} has no role in this console: ask whoever gives rights at {chosen.name}."
        raise Problem(kind=DENIED, resource=_RESOURCE, message=message)
    with transaction.atomic():
        user = _user(chosen, subject, claims)
        if not user.is_active:
            message = f"{user.get_username()} is switched off in this console."
            raise Problem(kind=DENIED, resource=_RESOURCE, message=message)
        _set_groups(chosen, user, names)
    return user


def _user(chosen: Provider, subject: str, claims: Mapping[str, Any]) -> AbstractUser:
    known = Identity.objects.filter(issuer=chosen.issuer, subject=subject).select_related("user").first()
    if known is not None:
        return known.user
    user = get_user_model()(username=_free_name(_called(claims)), email=str(claims.get("email") or "")[:254])
    user.set_unusable_password()
    user.save()
    Identity.objects.create(user=user, issuer=chosen.issuer, subject=subject)
    return user


def _set_groups(chosen: Provider, user: AbstractUser, names: set[str]) -> None:
    """Puts a user into these of the table's groups and out of its others; groups beside the table stay as they are."""
    table = {group for _, group in chosen.roles}
    held = set(user.groups.filter(name__in=table).values_list("name", flat=True))
    if held == names:
        return
    actor = f"{user.get_username()} (OpenID)"
    with audited(actor=actor, action="roles_set", before={"roles": sorted(held)}) as row:
        user.groups.remove(*Group.objects.filter(name__in=held - names))
        user.groups.add(*(Group.objects.get_or_create(name=name)[0] for name in sorted(names - held)))
        row.after = {"roles": sorted(names)}


def _called(claims: Mapping[str, Any]) -> str:
    """The name that somebody goes by, for people: the subject is for machines."""
    names = (claims.get(name) for name in ("preferred_username", "email", "name", "sub"))
    found = next((name for name in names if isinstance(name, str) and name.strip()), "somebody")
    return found.strip()[:_WHO_LENGTH]


def _free_name(name: str) -> str:
    """The name, or with the first free number behind it."""
    users, number, found = get_user_model().objects, 1, name
    while users.filter(username__iexact=found).exists():
        number += 1
        ending = f"-{number}"
        found = name[: _WHO_LENGTH - len(ending)] + ending
    return found


def _away(problem: Exception) -> Problem:
    return not_connected(_RESOURCE, str(problem) or type(problem).__name__)


@lru_cache(maxsize=4)
def _client(chosen: Provider) -> Any:
    return OAuth().register(
        name="provider",
        client_id=chosen.client_id,
        client_secret=chosen.client_secret or None,
        server_metadata_url=f"{chosen.issuer.rstrip('/')}/.well-known/openid-configuration",
        client_kwargs={
            "scope": chosen.scopes,
            "code_challenge_method": "S256",
            "default_timeout": TIMEOUT_S,
            "token_endpoint_auth_method": "client_secret_basic" if chosen.client_secret else "none",
        },
    )
