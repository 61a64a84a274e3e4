"""Announcements speak the words of the feed."""

from __future__ import annotations

from kaas.coordinator.announcements import (
    Cause,
    GroupCreated,
    GroupGone,
    MemberChange,
    OffsetsChanged,
    RebalanceStarted,
    member_change,
)
from kaas.coordinator.events import TopicDeleted
from kaas.feed.types import CAUSES, KINDS
from tests.support.groups import OTHER_TOPIC, Groups


def lived() -> Groups:
    """A group to which most things have happened."""
    groups = Groups(offsets_retention_ms=1, offsets_retention_check_interval_ms=200_000)
    a, b, c = groups.settled(groups.member("i0"), groups.member(), groups.member())
    b.joins(protocols=OTHER_TOPIC)
    groups.passes(60_000)
    b.joins()
    a.restarts().joins()
    a.commits()
    c.leaves()
    groups.passes(120_000)
    groups.commits({("t", 0): 1})
    groups.submit(TopicDeleted(topic="t"))
    groups.passes(400_000)
    return groups


def test_what_is_announced_is_named_as_the_feed_names_it():
    groups = lived()
    named = [what for _, what in groups.announced if isinstance(what, MemberChange | OffsetsChanged | GroupGone)]
    assert {what.kind for what in named} <= set(KINDS)
    assert {what.cause.kind for what in groups.heard(RebalanceStarted)} <= set(CAUSES)
    assert groups.heard(GroupCreated) and groups.heard(GroupGone)


def test_a_cause_says_what_a_sentence_about_it_needs_and_no_more():
    assert Cause(kind="member_left") == Cause(kind="member_left", member_id=None, detail={})


def test_a_change_of_a_member_names_it_and_what_is_to_be_said_of_it():
    groups = Groups()
    (a,) = groups.settled(groups.member("i0", client_id="app", client_host="/10.1.1.1"))
    member = groups.classic().members[a.id]
    change = member_change("member_left", member, reason="bye")
    assert change == MemberChange(
        kind="member_left",
        member_id=a.id,
        instance_id="i0",
        client_id="app",
        client_host="/10.1.1.1",
        reason="bye",
    )
