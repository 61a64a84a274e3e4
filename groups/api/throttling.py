"""How many requests one caller may send.

Job: DRF's throttle over the counters that every process shares.
Rules: a token has an allowance of its own, so has a user's session: one script that runs wild stops no other.
Must not know: how it is counted.
"""

from __future__ import annotations

from django.conf import settings
from rest_framework.throttling import BaseThrottle

from groups.rates import Rate, take

WINDOW_S = 60


class CallerThrottle(BaseThrottle):
    """So many requests a minute (KAAS_API_PER_MINUTE) for each token and for each user."""

    def allow_request(self, request, view) -> bool:
        principal = request.user.principal
        who = ("token", principal.token_id) if principal.token_id is not None else ("user", principal.user_id)
        self._wait_s = take(Rate(name="api", count=settings.KAAS_API_PER_MINUTE, window_s=WINDOW_S), *who)
        return self._wait_s is None

    def wait(self) -> int | None:
        """Seconds until there is more."""
        return self._wait_s
