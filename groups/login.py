"""How many failed sign-ins are too many.

Job: count failures by user and by address, and say when to wait.
Rules: counted in the database, so that every web process knows; a right password clears the user's failures.
Must not know: forms, pages.
"""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from groups.models import LoginFailure
from groups.problems import RATE_LIMITED, Problem

WINDOW = timedelta(minutes=10)
FAILURES_OF_USER = 10
FAILURES_OF_ADDRESS = 50


def login_check(username: str, address: str) -> None:
    """Raises Problem (429) when this user or this address failed too often in the last ten minutes."""
    recent = LoginFailure.objects.filter(at__gt=timezone.now() - WINDOW)
    of_user = recent.filter(username=_name(username)).count()
    of_address = recent.filter(address=address).count()
    if of_user >= FAILURES_OF_USER or of_address >= FAILURES_OF_ADDRESS:
        minutes = int(WINDOW.total_seconds() // 60)
        message = f"Too many failed sign-ins: wait {minutes} minutes, then try again."
        raise Problem(kind=RATE_LIMITED, resource="sign-in", message=message)


def login_failed(username: str, address: str) -> None:
    """Counts one failure."""
    LoginFailure.objects.create(at=timezone.now(), username=_name(username), address=address)


def login_succeeded(username: str) -> None:
    """Forgets a user's failures."""
    LoginFailure.objects.filter(username=_name(username)).delete()


def _name(username: str) -> str:
    return username.replace("\x00", "")[: LoginFailure._meta.get_field("username").max_length]
