"""kaas.cli.watched."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groups.changes import changes
from groups.changes import merged as merged_by_the_console
from kaas.cli.watched import (
    ABSENT,
    EVENTS_KEPT,
    JOINING,
    LANE_TICKS,
    MISSING,
    SILENT,
    STABLE,
    SYNCING,
    Watched,
    mark_of,
    merged,
    silence_ms,
)
from tests.cli.watching import NOW, described, event, member, snapshot

DESCRIPTIONS = st.none() | st.builds(
    lambda members, lag: described(
        *(member(one, state=state) for one, state in sorted(members.items())), total_lag=lag
    ),
    st.dictionaries(st.sampled_from("abc"), st.sampled_from(["stable", "joining"])),
    st.integers(0, 3),
)


@given(DESCRIPTIONS, DESCRIPTIONS)
def test_a_description_and_its_differences_are_the_newest_description(before, after):
    difference = changes(before, after)
    assert merged(before, difference) == after == merged_by_the_console(before, difference)


def test_a_group_that_is_not_there_yet_is_known_to_be_none():
    watched = Watched()
    assert not watched.known
    watched.take(snapshot(None))
    watched.take(event("member_joined", {}))
    assert watched.known and watched.group is None and watched.members() == []
    watched.take(event("group_created", changes(None, described(member("a")))))
    assert [one["member_id"] for one in watched.members()] == ["a"]
    watched.take(event("group_deleted", None))
    assert watched.group is None


def test_pings_tell_heartbeats_and_lag():
    watched = Watched()
    watched.take({"type": "ping", "heartbeats": {}})
    watched.take(snapshot(described(member("a"), member("b"))))
    later = (NOW + timedelta(seconds=3)).isoformat()
    watched.take({"type": "ping", "heartbeats": {"a": later}, "total_lag": 99, "lag_status": "warn"})
    assert [one["last_heartbeat_at"] for one in watched.members()] == [later, NOW.isoformat()]
    assert (watched.group["total_lag"], watched.group["lag_status"]) == (99, "warn")


def test_a_difference_without_heartbeats_leaves_them_as_they_were():
    watched = Watched()
    watched.take(snapshot(described(member("a"))))
    changed = {name: value for name, value in member("a", state="joining").items() if name != "last_heartbeat_at"}
    watched.take(event("rebalance_started", {"members": {"a": changed, "b": {**changed, "member_id": "b"}}}))
    assert [one["last_heartbeat_at"] for one in watched.members()] == [NOW.isoformat(), None]
    later = (NOW + timedelta(seconds=1)).isoformat()
    watched.take({"type": "ping", "heartbeats": {"b": later}})
    assert [one["last_heartbeat_at"] for one in watched.members()] == [NOW.isoformat(), later]


def test_commits_push_nothing_out_of_sight_and_events_are_bounded():
    watched = Watched()
    watched.take(snapshot(described()))
    for _ in range(EVENTS_KEPT + 10):
        watched.take(event("member_joined", {}))
        watched.take(event("offsets_committed", {}))
    assert [told["kind"] for told in watched.events] == ["member_joined"] * EVENTS_KEPT


def test_lanes_grow_with_time_and_outlive_their_members_for_a_while():
    watched = Watched()
    watched.take(snapshot(described(member("a"), member("b", state="joining"))))
    watched.tick(NOW)
    watched.take(event("member_left", {"members": {"b": None}}))
    watched.tick(NOW)
    assert {one: "".join(lane) for one, lane in watched.lanes.items()} == {"a": STABLE * 2, "b": JOINING + ABSENT}
    for _ in range(LANE_TICKS):
        watched.tick(NOW)
    assert list(watched.lanes) == ["a"] and len(watched.lanes["a"]) == LANE_TICKS


@pytest.mark.parametrize(
    ("state", "mark"),
    [
        ("joining", JOINING),
        ("waiting", SYNCING),
        ("missing", MISSING),
        ("syncing", SYNCING),
        ("unsynced", SYNCING),
        ("revoking", MISSING),
        ("away", SILENT),
        ("stable", STABLE),
        ("what comes later", STABLE),
    ],
)
def test_every_state_has_a_mark(state, mark):
    assert mark_of(member("a", state=state), NOW) == mark


def test_a_member_is_silent_after_half_its_session():
    assert mark_of(member("a"), NOW + timedelta(seconds=5)) == STABLE
    assert mark_of(member("a"), NOW + timedelta(seconds=6)) == SILENT
    assert silence_ms(member("a", last_heartbeat_at=None), NOW) is None


def test_a_gap_is_kept():
    watched = Watched()
    watched.take({"type": "gap", "reason": "overflow"})
    assert watched.gap == "overflow"
