"""An OpenID provider as the settings name it, and the roles that its claims stand for.

Must not know: the protocol, the database (settings are made from this before there is one).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

EVERYBODY = "*"
"""Stands in the table of roles for whoever the provider knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """One OpenID provider. `roles` are pairs: a value of the claim, and the Django group that it stands for."""

    issuer: str
    client_id: str
    client_secret: str = field(default="", repr=False)
    name: str = "OpenID"
    scopes: str = "openid profile email"
    role_claim: str = "groups"
    roles: tuple[tuple[str, str], ...] = ()

    def groups_of(self, claims: Mapping[str, Any]) -> set[str]:
        """The names of the Django groups that somebody with these claims is in."""
        held = claims.get(self.role_claim)
        values = held if isinstance(held, list) else [held]
        return {group for value, group in self.roles if value == EVERYBODY or value in values}
