"""The one guard: who may see and do what. REST, pages, sockets and tasks all ask here.

Job: a principal (somebody with grants), and the questions about it.
Rules: what nobody granted does not exist for them (404), what is visible but not granted is denied (403); a token never
allows more than its owner may at this moment; a read-only cluster takes no writes from anybody.
Must not know: requests, sockets, tasks.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fnmatch import translate
from functools import lru_cache

from groups.choices import Role
from groups.clusters import Cluster, clusters
from groups.problems import DENIED, READ_ONLY, Problem, not_found
from groups.query import everything

EVERYTHING = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A role on the clusters and groups whose names match two shell patterns."""

    role: Role
    cluster_pattern: str = EVERYTHING
    group_pattern: str = EVERYTHING

    def covers(self, cluster: str, group_id: str) -> bool:
        return _matches(self.cluster_pattern, cluster) and _matches(self.group_pattern, group_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Somebody who asks. `actor` is the name in audit rows; `limit` is what a token allows of its owner's grants.

    `session_key` is the session that somebody signed in with who keeps a socket open: the socket ends with it.
    """

    actor: str
    user_id: int
    grants: tuple[Grant, ...]
    token_id: int | None = None
    limit: Grant | None = None
    session_key: str | None = field(default=None, repr=False)

    def role_on(self, cluster: str, group_id: str) -> Role | None:
        """The highest role on one group, null when it is not to be seen."""
        if self.limit is not None and not self.limit.covers(cluster, group_id):
            return None
        roles = [grant.role for grant in self.grants if grant.covers(cluster, group_id)]
        return self._limited(max(roles, key=lambda role: role.rank)) if roles else None

    def role_anywhere(self, cluster: str) -> Role | None:
        """The highest role on any group of a cluster, null when the cluster is not to be seen."""
        if self.limit is not None and not _matches(self.limit.cluster_pattern, cluster):
            return None
        roles = [grant.role for grant in self.grants if _matches(grant.cluster_pattern, cluster)]
        return self._limited(max(roles, key=lambda role: role.rank)) if roles else None

    def sees_all(self, cluster: str) -> bool:
        """Whether every group of the cluster is visible, so that nobody need ask for each."""
        if self.limit is not None and self.limit.group_pattern != EVERYTHING:
            return False
        return any(
            grant.group_pattern == EVERYTHING and _matches(grant.cluster_pattern, cluster) for grant in self.grants
        )

    def is_admin(self) -> bool:
        """Whether this is an administrator of everything: may manage tokens of others and read every audit row."""
        whole = (grant for grant in self.grants if (grant.cluster_pattern, grant.group_pattern) == (EVERYTHING,) * 2)
        owner = any(grant.role == Role.ADMIN for grant in whole)
        limit = self.limit
        return owner and (limit is None or limit == Grant(role=Role.ADMIN))

    def _limited(self, role: Role) -> Role:
        return role if self.limit is None else min(role, self.limit.role, key=lambda one: one.rank)


def cluster_of(principal: Principal, name: str) -> Cluster:
    """A cluster by its name in an address.

    Raises Problem (404) when there is none, or none for this principal.
    """
    cluster = clusters().get(name)
    if cluster is None or principal.role_anywhere(name) is None:
        raise not_found(f"cluster {name}")
    return cluster


@dataclass(frozen=True, slots=True)
class _Eyes:
    """What somebody with these rights sees of a cluster."""

    anybody: Principal
    cluster: str

    def __call__(self, group_id: str) -> bool:
        return self.anybody.role_on(self.cluster, group_id) is not None


def group_visible(principal: Principal, cluster: str) -> Callable[[str], bool]:
    """The question "may this principal see that group", made once for many groups of one cluster.

    Equal for principals with equal rights.
    """
    if principal.sees_all(cluster):
        return everything
    # Who it is does not matter, so that what people with the same rights see is the same.
    return _Eyes(replace(principal, actor="", user_id=0, token_id=None, session_key=None), cluster)


def require_visible(principal: Principal, cluster: Cluster, group_id: str) -> None:
    """Raises Problem (404) for a group that this principal may not see."""
    if principal.role_on(cluster.name, group_id) is None:
        raise not_found(f"group {group_id}")


def require(principal: Principal, role: Role, cluster: Cluster, group_id: str) -> None:
    """Raises Problem: 404 for an invisible group, 403 for one on which the role is not granted or no write is taken."""
    if why := refusal(principal, role, cluster, group_id):
        raise why


def refusal(principal: Principal, role: Role, cluster: Cluster, group_id: str) -> Problem | None:
    """Why a principal may not act in a role on a group, null when it may. Pages show the reason beside the button."""
    held = principal.role_on(cluster.name, group_id)
    resource = f"group {group_id}"
    if held is None:
        return not_found(resource)
    if held.rank < role.rank:
        message = f"{principal.actor} may {held.label.lower()} here; this needs the right to {role.label.lower()}."
        return Problem(kind=DENIED, resource=resource, message=message)
    if role != Role.READ and cluster.read_only:
        message = f"The cluster {cluster.name} is read-only in this console: nothing on it can be changed here."
        return Problem(kind=READ_ONLY, resource=f"cluster {cluster.name}", message=message)
    return None


def require_admin(principal: Principal, resource: str) -> None:
    """Raises Problem (403) for anybody but an administrator of everything."""
    if not principal.is_admin():
        raise Problem(
            kind=DENIED, resource=resource, message=f"{principal.actor} may not do this: administrators only."
        )


@lru_cache(maxsize=1_000)
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(translate(pattern))


def _matches(pattern: str, name: str) -> bool:
    return pattern == EVERYTHING or _pattern(pattern).match(name) is not None
