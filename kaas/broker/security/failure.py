"""The one way in which authentication fails."""

from __future__ import annotations


class AuthenticationFailed(Exception):
    """`reason` is for the log and holds no secret; `user` is the name that the client gave, if it came so far.

    The client hears the same whatever the reason is.
    """

    def __init__(self, reason: str, user: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.user = user
