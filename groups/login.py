"""How many tries to sign in are too many.

Job: count tries by name and address, and say when to wait.
Rules: a try is counted before the password is looked at, so that tries at the same moment are counted too; a right
password gives the name its tries back at that address. A name has more tries from everywhere than from one address: who
guesses somebody's password elsewhere does not lock that somebody out at once.
Must not know: forms, pages.
"""

from __future__ import annotations

from groups.problems import RATE_LIMITED, Problem
from groups.rates import Rate, forgive, take

WINDOW_S = 600

OF_NAME_AND_ADDRESS = Rate(name="sign-in", count=10, window_s=WINDOW_S)
OF_NAME = Rate(name="sign-in-name", count=100, window_s=WINDOW_S)
OF_ADDRESS = Rate(name="sign-in-address", count=100, window_s=WINDOW_S)


def login_check(username: str, address: str) -> None:
    """Counts a try.

    Raises Problem (429) when this name or this address had too many in the last ten minutes.
    """
    waits = (take(OF_NAME_AND_ADDRESS, username, address), take(OF_NAME, username), take(OF_ADDRESS, address))
    wait_s = max((wait for wait in waits if wait is not None), default=None)
    if wait_s is not None:
        minutes = -(-wait_s // 60)
        message = f"Too many tries to sign in: wait {minutes} minute{'s' if minutes != 1 else ''}, then try again."
        raise Problem(kind=RATE_LIMITED, resource="sign-in", message=message, retry_after_s=wait_s)


def login_succeeded(username: str, address: str) -> None:
    """Gives a name its tries back at the address from which it signed in."""
    forgive(OF_NAME_AND_ADDRESS, username, address)
