"""Members of a consumer group on their way to its target."""

from __future__ import annotations

from groups.reconciliation import away_members, away_named, classic_members, held_up, holders_of, session_end
from groups.testing.feed import consumer_group, consumer_member, member_view, snapshot
from kaas.feed.types import MemberView, Snapshot


def reconciling(*members: MemberView, **more: object) -> Snapshot:
    return consumer_group("g", *members, **{"state": "Reconciling", **more})


def test_a_member_waits_by_name_for_what_another_has_not_given_up_and_gets_what_is_free():
    giver = consumer_member(
        "giver-1", {"orders": [0]}, instance_id="pod-1", revoking={"orders": [1, 2]}, state="revoking"
    )
    taker = consumer_member("taker-1", {}, target={"orders": [1, 2], "refunds": [0]}, state="waiting")
    group = reconciling(giver, taker)
    assert held_up(group, taker, holders_of(group)) == {
        "gets": [{"topic": "refunds", "partitions": [0]}],
        "waits_for": [{"topic": "orders", "partitions": [1, 2], "member_id": "giver-1", "name": "pod-1"}],
    }
    assert held_up(group, giver, holders_of(group)) == {"gets": [], "waits_for": []}


def test_where_nobody_holds_anything_a_member_gets_it_all():
    taker = consumer_member("taker-1", {}, target={"orders": [0]}, state="behind")
    group = reconciling(taker)
    assert held_up(group, taker, holders_of(group))["gets"] == [{"topic": "orders", "partitions": [0]}]


def test_nobody_waits_in_a_stable_group_or_in_a_classic_one():
    owner = member_view("a-1", {"orders": [0]})
    for group in (snapshot("g", members=[owner]), reconciling(owner, state="Stable")):
        assert holders_of(group) is None and held_up(group, owner, None) == {"gets": [], "waits_for": []}


def test_classic_members_are_counted_in_consumer_groups_alone():
    """https://cwiki.apache.org/confluence/display/KAFKA/KIP-848, online migration"""
    assert classic_members(reconciling(consumer_member("a-1"), member_view("b-1"))) == 1
    assert classic_members(snapshot("g", members=[member_view("b-1")])) is None


def test_a_static_member_between_two_lives_is_waited_for_until_its_session_ends():
    away = consumer_member("a-1", instance_id="pod-1", state="away", epoch=-2, last_heartbeat_at=1_000)
    (row,) = away_members(reconciling(away))
    assert (row.member_id, row.timer, session_end(row, reconciling(away))) == ("a-1", "away", 46_000)
    assert session_end(row, reconciling(at=70_000)) == 70_000, "it went in the meantime"
    assert away_named(reconciling(away)) == (
        " pod-1 is away: a static member stays in the group until its session of 45 s ends."
    )
    assert away_named(reconciling(consumer_member("a-1"))) == ""
