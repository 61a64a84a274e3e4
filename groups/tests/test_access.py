"""groups.access."""

from __future__ import annotations

import pytest

from groups.access import (
    Grant,
    Principal,
    cluster_of,
    group_visible,
    refusal,
    require,
    require_admin,
    require_visible,
)
from groups.choices import Role
from groups.clusters import Cluster
from groups.problems import Problem

LOCAL = Cluster(name="local", bootstrap="h:1")
FROZEN = Cluster(name="frozen", bootstrap="h:1", read_only=True)


def who(*grants, limit=None):
    return Principal(actor="ann", user_id=1, grants=grants, limit=limit)


OPERATOR = Grant(role=Role.OPERATE, cluster_pattern="loc*", group_pattern="team-?.*")
EVERYTHING = Grant(role=Role.ADMIN)


@pytest.mark.parametrize(
    ("principal", "cluster", "group_id", "role"),
    [
        (who(), "local", "x", None),
        (who(EVERYTHING), "local", "x", Role.ADMIN),
        (who(OPERATOR), "local", "team-a.x", Role.OPERATE),
        (who(OPERATOR), "local", "team-ab.x", None),
        (who(OPERATOR), "prod", "team-a.x", None),
        (who(OPERATOR), "local", "TEAM-a.x", None),
        (who(OPERATOR, Grant(role=Role.READ)), "local", "x", Role.READ),
        (who(OPERATOR, Grant(role=Role.READ)), "local", "team-a.x", Role.OPERATE),
        (who(EVERYTHING, limit=Grant(role=Role.READ)), "local", "x", Role.READ),
        (who(EVERYTHING, limit=Grant(role=Role.ADMIN, group_pattern="y*")), "local", "x", None),
        (who(Grant(role=Role.READ), limit=EVERYTHING), "local", "x", Role.READ),
        (who(Grant(role=Role.READ, group_pattern="a\n*")), "local", "a\nb", Role.READ),
        (who(Grant(role=Role.READ, group_pattern="")), "local", "", Role.READ),
    ],
)
def test_the_highest_matching_grant_counts_within_the_limit(principal, cluster, group_id, role):
    assert principal.role_on(cluster, group_id) == role
    assert group_visible(principal, cluster)(group_id) == (role is not None)


def test_a_cluster_is_seen_by_whoever_sees_any_group_of_it(settings):
    settings.KAAS_CLUSTERS = {"local": LOCAL}
    assert cluster_of(who(OPERATOR), "local") is LOCAL
    for name, principal in (
        ("local", who(Grant(role=Role.ADMIN, cluster_pattern="prod"))),
        ("nowhere", who(EVERYTHING)),
    ):
        with pytest.raises(Problem, match="There is no cluster"):
            cluster_of(principal, name)


def test_what_is_invisible_is_not_there_and_what_is_visible_may_be_denied():
    with pytest.raises(Problem) as hidden:
        require(who(OPERATOR), Role.READ, LOCAL, "other")
    assert hidden.value.kind.status == 404
    with pytest.raises(Problem) as hidden:
        require_visible(who(OPERATOR), LOCAL, "other")
    assert hidden.value.kind.status == 404
    with pytest.raises(Problem) as denied:
        require(who(OPERATOR), Role.ADMIN, LOCAL, "team-a.x")
    assert denied.value.kind.status == 403 and "may operate here" in denied.value.message
    require(who(OPERATOR), Role.OPERATE, LOCAL, "team-a.x")


def test_a_read_only_cluster_takes_no_writes_from_anybody():
    """One of several ways in forgot to ask: here all stand above one guard.

    https://github.com/kafbat/kafka-ui/issues/1751
    """
    assert refusal(who(EVERYTHING), Role.OPERATE, FROZEN, "x").kind.name == "read_only"
    assert refusal(who(EVERYTHING), Role.READ, FROZEN, "x") is None


@pytest.mark.parametrize(
    ("principal", "is_admin"),
    [
        (who(EVERYTHING), True),
        (who(EVERYTHING, limit=EVERYTHING), True),
        (who(EVERYTHING, limit=Grant(role=Role.ADMIN, group_pattern="a*")), False),
        (who(EVERYTHING, limit=Grant(role=Role.OPERATE)), False),
        (who(Grant(role=Role.ADMIN, group_pattern="a*")), False),
        (who(Grant(role=Role.OPERATE)), False),
        (who(), False),
    ],
)
def test_an_administrator_is_one_everywhere(principal, is_admin):
    assert principal.is_admin() == is_admin
    if not is_admin:
        with pytest.raises(Problem):
            require_admin(principal, "tokens")


def test_whoever_sees_all_need_not_be_asked_for_each():
    assert who(EVERYTHING).sees_all("local") and not who(OPERATOR).sees_all("local")
    assert not who(EVERYTHING, limit=Grant(role=Role.READ, group_pattern="a*")).sees_all("local")
    assert not who(EVERYTHING, limit=Grant(role=Role.READ, cluster_pattern="prod")).role_anywhere("local")
