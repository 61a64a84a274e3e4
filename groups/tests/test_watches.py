"""groups.watches."""

from __future__ import annotations

import json

import msgspec
import pytest

from groups.access import Grant, Principal, group_visible
from groups.choices import Role
from groups.clusters import Cluster
from groups.hub import Told
from groups.index import GroupIndex
from groups.query import GroupQuery, Regex, everything
from groups.testing.feed import member_view, snapshot
from groups.watches import GroupWatch, ListWatch

LOCAL = Cluster(name="local", bootstrap="h:1")


def who(role=Role.READ, pattern="*", user_id=1):
    return Principal(actor="ann", user_id=user_id, grants=(Grant(role=role, group_pattern=pattern),))


def row_of(group_id, *members):
    return GroupIndex().put(msgspec.json.encode(snapshot(group_id, members=list(members))))


def told(group_id="shop", before=None, after=None, **more):
    event = {"kind": "state_changed", "cluster": "local", "group_id": group_id}
    return Told(id="1-0", event=event, group_id=group_id, before=before, after=after, **more)


def test_lists_of_the_same_filters_are_one_whatever_their_page_and_whoever_looks():
    ann, bob = who(pattern="team-*"), Principal(actor="bob", user_id=2, grants=who(pattern="team-*").grants, token_id=7)
    first = ListWatch.of(GroupQuery(regex=Regex("^a"), page=3, ordering="-state"), group_visible(ann, "local"))
    second = ListWatch.of(GroupQuery(regex=Regex("^a"), page_size=9), group_visible(bob, "local"))
    assert first == second and hash(first) == hash(second)


@pytest.mark.parametrize(
    "other",
    [
        ListWatch.of(GroupQuery(regex=Regex("^b")), everything),
        ListWatch.of(GroupQuery(regex=Regex("^a"), topic="orders"), everything),
        ListWatch.of(GroupQuery(regex=Regex("^a")), group_visible(who(pattern="team-*"), "local")),
        GroupWatch("", None),
    ],
)
def test_lists_that_may_differ_in_what_they_show_are_not(other):
    assert ListWatch.of(GroupQuery(regex=Regex("^a")), everything) != other


def test_a_list_shows_what_matches_or_matched():
    stable = ListWatch.of(GroupQuery(states=frozenset({"Stable"})), everything)
    empty, full = row_of("shop"), row_of("shop", member_view("one-1"))
    shown = [
        stable.shows(told(before=b, after=a)) for b, a in ((empty, full), (full, empty), (full, None), (empty, empty))
    ]
    assert shown == [True, True, True, False]


def test_of_a_group_that_has_no_row_whoever_may_see_it_is_told():
    narrow = ListWatch.of(GroupQuery(states=frozenset({"Stable"})), group_visible(who(pattern="team-*"), "local"))
    assert narrow.shows(told("team-a")) and not narrow.shows(told("vault"))


def test_a_group_is_told_with_the_actions_that_its_audience_may_do():
    changed = {"state": "Empty", "actions": {"delete": {"allowed": True, "reason": None}}}
    may, may_not = (GroupWatch.of(who(role), LOCAL, "shop") for role in (Role.OPERATE, Role.READ))
    assert may != may_not and may == GroupWatch.of(who(Role.ADMIN, user_id=3), LOCAL, "shop")
    assert json.loads(may.text(told(changes=changed)))["changes"] == changed
    refused = json.loads(may_not.text(told(changes=changed)))["changes"]
    assert refused["state"] == "Empty" and refused["actions"]["delete"] == {"allowed": False, "reason": may_not.refused}
    assert json.loads(may_not.text(told(changes=None)))["changes"] is None
    assert json.loads(may.text(told(changes=changed), known=True))["changes"] == {}


def test_a_group_shows_only_itself():
    assert GroupWatch("shop", None).shows(told()) and not GroupWatch("shop", None).shows(told("ship"))
