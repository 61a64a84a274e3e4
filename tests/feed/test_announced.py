"""Announcements as events."""

from __future__ import annotations

import typing

import pytest

from kaas.coordinator import announcements
from kaas.coordinator.announcements import (
    Cause,
    GroupCreated,
    GroupGone,
    MemberChange,
    MemberProgressed,
    MembersChanged,
    OffsetsChanged,
    PartitionsChanged,
    RebalanceCompleted,
    RebalanceStarted,
    StateChanged,
    SubscriptionChanged,
)
from kaas.coordinator.topics import Topics
from kaas.feed.announced import TELL, event_fields, members_touched
from kaas.feed.types import KINDS

EXPIRED = MemberChange(
    kind="member_expired", member_id="m", instance_id="i", client_id="c", client_host="/h", silent_ms=9, timeout_ms=8
)


@pytest.mark.parametrize(
    ("what", "fields"),
    [
        (EXPIRED, {"kind": "member_expired", "member_id": "m", "instance_id": "i", "silent_ms": 9, "timeout_ms": 8}),
        (StateChanged(before="Empty", after="Dead"), {"kind": "state_changed", "before": "Empty", "after": "Dead"}),
        (
            RebalanceStarted(cause=Cause(kind="member_left", member_id="m", detail={"reason": "bye"})),
            {"kind": "rebalance_started", "cause": "member_left", "member_id": "m", "detail": {"reason": "bye"}},
        ),
        (
            OffsetsChanged(kind="offsets_deleted", rows=[("b", 0), ("a", 1), ("a", 0)], why="expired"),
            {"kind": "offsets_deleted", "topics": ["a", "b"], "count": 3, "reason": "expired"},
        ),
        (
            SubscriptionChanged(member_id="m", topics=("t",)),
            {"kind": "subscription_changed", "member_id": "m", "topics": ["t"]},
        ),
        (PartitionsChanged(topic="t"), {"kind": "partitions_changed", "topics": ["t"]}),
        (GroupCreated(), {"kind": "group_created"}),
        (
            GroupGone(kind="coordinator_lost", assignment_version=4),
            {"kind": "coordinator_lost", "assignment_version": 4},
        ),
    ],
)
def test_an_announcement_says_what_it_knows(what: announcements.Announcement, fields: dict[str, object]) -> None:
    told = event_fields(what, "range", Topics())
    assert told is not None and told["kind"] in KINDS
    assert {k: told[k] for k in fields} == fields


def test_what_only_makes_a_view_out_of_date_is_no_event() -> None:
    assert event_fields(MembersChanged(member_ids=("m",)), "range", Topics()) is None
    progress = MemberProgressed(member_id="m", let_go=True, is_done=False)
    assert event_fields(progress, "range", Topics()) is None and members_touched(progress) == ("m",)


def test_every_announcement_is_told_or_silent_on_purpose() -> None:
    assert set(typing.get_args(announcements.Announcement)) == set(TELL) | {
        MembersChanged,
        MemberProgressed,
        RebalanceCompleted,
    }


def test_who_is_touched() -> None:
    assert members_touched(EXPIRED) == ("m",)
    assert members_touched(MembersChanged(member_ids=None)) is None
    assert members_touched(StateChanged(before="a", after="b")) is None
    assert members_touched(GroupCreated()) == ()
