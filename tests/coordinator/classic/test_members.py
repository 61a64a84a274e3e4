"""A member's session and its parked requests stay in step, and it goes by one way."""

from __future__ import annotations

import pytest

from kaas.coordinator import timers
from kaas.coordinator.announcements import MemberChange
from kaas.coordinator.classic import members
from kaas.errors import ErrorCode
from tests.support.groups import GROUP, OTHER_TOPIC, Groups


def session(groups, member):
    return timers.session(GROUP, member.id) in groups.timers


def test_a_session_runs_exactly_while_nothing_of_the_member_is_parked():
    groups = Groups()
    a, b = groups.settled(*groups.members(2))
    assert session(groups, a) and session(groups, b)
    a.joins()
    assert not session(groups, a) and session(groups, b)
    b.joins()
    assert session(groups, a) and session(groups, b)
    b.syncs()
    assert session(groups, a) and not session(groups, b)
    a.syncs({b: b""})
    assert session(groups, a) and session(groups, b)


def test_a_member_that_joins_while_its_sync_is_parked_has_no_session():
    groups = Groups()
    a, b = groups.gathered(*groups.members(2))
    b.syncs()
    b.joins(protocols=OTHER_TOPIC)
    assert b.last_sync.code == 27 and b.last_join.waits
    assert not session(groups, b) and session(groups, a)


@pytest.mark.parametrize("parked", ["nothing", "join", "sync"])
def test_a_member_that_goes_takes_its_timers_along_and_leaves_no_request_unanswered(parked):
    groups = Groups()
    a, b = groups.gathered(*groups.members(2)) if parked == "sync" else groups.settled(*groups.members(2))
    asked = {"nothing": lambda: None, "join": a.joins, "sync": b.syncs}[parked]()
    gone = b if parked == "sync" else a
    groups.leaves((gone.id, None))
    assert asked is None or asked.code == 25
    assert not [key for key in groups.timers if gone.id in key]
    assert groups.heard(MemberChange)[-1].member_id == gone.id


def test_everybody_who_waits_is_sent_away_with_their_ids():
    groups = Groups()
    a, b = groups.settled(*groups.members(2))
    a.joins()
    classic = groups.classic()
    members.send_away(groups.core, classic, ErrorCode.NOT_COORDINATOR)
    sent = [effect.answer for effect in groups.core.out.take()]
    assert [(answer.code, answer.member_id) for answer in sent] == [(ErrorCode.NOT_COORDINATOR, a.id)]
    assert not classic.members[b.id].waits and classic.waiting_count == 0


def test_a_member_that_is_heard_all_the_time_sets_its_timer_ten_times_a_second_and_lives_as_long_as_any():
    groups = Groups()
    (a,) = groups.settled(groups.member(session_timeout_ms=6_000))
    key, deadlines = timers.session(GROUP, a.id), []
    for _ in range(30):
        groups.passes(10)
        assert a.beats() == 0
        deadlines.append(groups.timers[key])
    assert len(set(deadlines)) == 4 and deadlines[-1] - groups.now_ms in range(5_900, 6_001)
    groups.passes(5_999)
    assert a.id in groups.classic().members
    groups.passes(1)
    assert a.id not in groups.classic().members
    assert (groups.heard(MemberChange)[-1].kind, groups.heard(MemberChange)[-1].silent_ms) == ("member_expired", 6_000)
