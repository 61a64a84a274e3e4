"""A group as it is shown: what classic and consumer groups share."""

from __future__ import annotations

from kaas.coordinator.group import Group, new_group
from kaas.coordinator.modern.group import Member, ModernGroup
from kaas.coordinator.offset_entry import OffsetEntry
from kaas.coordinator.topics import Topics
from kaas.feed import views
from tests.feed.test_classic_views import member

OFFSET = 1_000_000


def consumer_group() -> Group:
    """A consumer group with one static member that was just heard."""
    group = new_group("g")
    group.modern = ModernGroup(group_id="g", epoch=2, target_epoch=1, target_assignor="range", heard_ms={"a": 7})
    group.modern.put(
        Member(member_id="a", instance_id="i", client_id="c", client_host="/h", rebalance_timeout_ms=9, epoch=1)
    )
    return group


def test_an_offset_shows_the_ends_of_its_log_or_that_they_are_not_known() -> None:
    entry = OffsetEntry(5, 1, "note", 99)
    assert views.offset_view(entry, (0, 9, 8)).log_end == 9
    assert views.offset_view(entry, None).log_end is None


def test_a_group_is_shown_by_the_membership_that_it_has() -> None:
    group = consumer_group()
    shown = views.header(group, OFFSET, None)
    assert (shown["type"], shown["group_epoch"], shown["assignment_epoch"]) == ("consumer", 2, 1)
    assert [one.kind for one in views.member_views(group, Topics(), 45_000, OFFSET).values()] == ["consumer"]
    group.modern = None
    assert views.header(group, OFFSET, None)["type"] == "simple"
    assert views.member_views(group, Topics(), 45_000, OFFSET) == {}


def test_names_heartbeats_and_the_protocol_come_from_the_membership_that_the_group_has() -> None:
    group = consumer_group()
    assert views.names_of(group) == {"a": "i"} and views.protocol_of(group) == "range"
    assert (views.heard_ms(group, "a"), views.heard_ms(group, "gone")) == (7, None)
    group.modern = None
    group.classic.add(member("b", heard_ms=5))
    assert views.names_of(group) == {"b": "c"} and views.protocol_of(group) == ""
    assert (views.heard_ms(group, "b"), views.heard_ms(group, "a")) == (5, None)


def test_a_group_that_is_gone_has_no_names() -> None:
    assert (views.names_of(None), views.protocol_of(None), views.heard_ms(None, "a")) == ({}, "", None)
