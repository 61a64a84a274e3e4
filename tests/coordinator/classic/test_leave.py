"""LeaveGroup by the member or an operator, row by row, and the end of a session."""

from __future__ import annotations

from kaas.coordinator.announcements import MemberChange, RebalanceStarted
from kaas.coordinator.answers import JoinAnswer, LeaveAnswer, LeftMember
from kaas.coordinator.classic.states import State
from kaas.coordinator.records import GroupEmpty
from kaas.errors import ErrorCode
from tests.support.groups import GROUP, Groups

NONE, UNKNOWN, FENCED = ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID


def test_an_empty_group_id_is_refused_as_a_whole_and_an_unknown_group_row_by_row():
    groups = Groups()
    assert groups.leaves(("who", None), group_id="").answer == LeaveAnswer(code=ErrorCode.INVALID_GROUP_ID)
    assert groups.leaves(("who", None), ("", "i0")).answer.members == (
        LeftMember("who", None, UNKNOWN),
        LeftMember("", "i0", UNKNOWN),
    )


def test_a_leave_while_groups_are_loaded_is_told_so():
    groups = Groups()
    groups.starts_loading()
    assert groups.leaves(("who", None)).code == 14


def test_a_leave_takes_effect_and_the_others_rebalance():
    groups = Groups()
    a, b = groups.settled(*groups.members(2))
    assert b.leaves() == 0
    assert (b.beats(), a.beats()) == (25, 27)
    a.joins()
    assert list(a.listed) == [a.id]


def test_several_members_leave_in_one_request_and_each_has_its_answer_in_order():
    groups = Groups()
    a, b, c = groups.settled(*groups.members(3))
    rows = [("who", None), (c.id, None), ("", None), (b.id, None), (c.id, None), (a.id, "i9")]
    answer = groups.leaves(*rows).answer
    assert [(r.member_id, r.instance_id, int(r.code)) for r in answer.members] == [
        ("who", None, 25),
        (c.id, None, 0),
        ("", None, 25),
        (b.id, None, 0),
        (c.id, None, 25),
        (a.id, "i9", 25),
    ]
    assert groups.ids == [a.id]
    assert len(groups.heard(RebalanceStarted)) == 3  # the first join, the gathering, and one for both leaves


def test_an_operator_removes_static_members_by_instance_id_alone():
    """K14: a leave by instance id failed."""
    groups = Groups()
    a, b, c = groups.settled(groups.member("i0"), groups.member("i1"), groups.member("i2"))
    answer = groups.leaves(("", "i1"), ("", "i9"), ("", "i2"), ("", "i1")).answer
    assert [r.code for r in answer.members] == [NONE, UNKNOWN, NONE, UNKNOWN]
    assert (a.beats(), b.beats(), c.beats()) == (27, 25, 25)
    assert groups.heard(RebalanceStarted)[-1].cause.kind == "member_removed"


def test_a_static_member_leaves_by_its_member_id_with_or_without_its_instance():
    groups = Groups()
    a, b, c = groups.settled(groups.member("i0"), groups.member("i1"), groups.member("i2"))
    assert groups.leaves((b.id, None)).answer.members[0].code is NONE
    assert groups.leaves((c.id, "i0")).answer.members[0].code is FENCED
    assert groups.leaves((c.id, "i2")).answer.members[0].code is NONE
    assert groups.ids == [a.id]


def test_a_removal_with_the_reason_of_an_admin_client_is_told_as_one():
    groups = Groups()
    _, b = groups.settled(*groups.members(2))
    groups.leaves((b.id, None), reason="member was removed by an admin: stuck")
    cause = groups.heard(RebalanceStarted)[-1].cause
    assert (cause.kind, cause.member_id) == ("member_removed", b.id)


def test_the_reason_of_a_leave_is_told():
    """KIP-800."""
    groups = Groups()
    _, b = groups.settled(*groups.members(2))
    b.leaves(reason="shutting down")
    left = groups.heard(MemberChange)[-1]
    assert (left.kind, left.reason) == ("member_left", "shutting down")


def test_a_pending_id_that_leaves_lets_the_join_phase_end_and_is_gone():
    groups = Groups()
    (a,) = groups.settled(groups.member())
    b = groups.member()
    told = b.takes_id()
    a.joins()
    assert groups.leaves((told, None)).answer.members == (LeftMember(told, None, NONE),)
    assert a.joined.generation == 2
    assert groups.joins(member_id=told).code == 25


def test_a_pending_id_leaves_whatever_instance_id_stands_beside_it():
    groups = Groups()
    groups.settled(groups.member())
    told = groups.member().takes_id()
    assert groups.leaves((told, "i9")).answer.members == (LeftMember(told, "i9", NONE),)
    assert groups.joins(member_id=told).code == 25


def test_a_pending_id_that_leaves_disturbs_nobody():
    groups = Groups()
    (a,) = groups.settled(groups.member())
    groups.leaves((groups.member().takes_id(), None))
    assert a.beats() == 0


def test_a_parked_join_of_a_member_that_leaves_is_answered_that_it_is_unknown():
    groups = Groups()
    a, b = groups.settled(*groups.members(2))
    asked = a.joins()
    assert a.leaves() == 0
    assert asked.answer == JoinAnswer(code=UNKNOWN, member_id="")
    b.joins()
    assert b.leads and b.generation == 3


def test_a_leave_while_completing_starts_over():
    """K11: a leader that went between Join and Sync left its followers hanging."""
    groups = Groups()
    a, b = groups.gathered(*groups.members(2))
    asked = b.syncs()
    a.leaves()
    assert asked.code == 27
    b.joins()
    assert b.leads and b.generation == 3


def test_when_the_leader_leaves_the_one_who_came_next_leads():
    groups = Groups()
    a, b, c = groups.settled(*groups.members(3))
    a.leaves()
    c.joins()
    b.joins()
    assert b.leads and c.joined.leader == b.id


def test_a_member_that_left_is_unknown_to_an_empty_group():
    groups = Groups()
    (a,) = groups.settled(groups.member())
    a.leaves()
    assert (a.beats(), a.syncs().code, a.leaves(), groups.joins(member_id=a.id).code) == (25, 25, 25, 25)


def test_that_a_group_is_empty_is_told_only_when_it_is_durable():
    groups = Groups()
    (a,) = groups.settled(groups.member())
    groups.journal.held = True
    asked = groups.leaves((a.id, None))
    assert asked.waits
    groups.writes()
    assert asked.answer.members[0].code is NONE
    assert groups.journal.written[-1] == (GROUP, GroupEmpty(2, "consumer", groups.wall_ms))


def test_a_leave_that_does_not_empty_the_group_waits_for_no_disk():
    groups = Groups()
    _, b = groups.settled(*groups.members(2))
    groups.journal.held = True
    assert b.leaves() == 0


def test_a_leave_whose_outcome_cannot_be_written_is_answered_with_an_error():
    groups = Groups()
    (a,) = groups.settled(groups.member())
    groups.journal.full = True
    assert groups.leaves((a.id, None)).code == 15
    assert groups.state is State.EMPTY
    groups.journal.full = False
    b = groups.member()
    b.joins()
    assert b.generation == 3


def test_a_silent_member_is_told_of_with_how_long_it_was_silent():
    groups = Groups()
    _, b = groups.settled(groups.member(), groups.member(session_timeout_ms=6_000, client_id="quiet"))
    groups.passes(6_000)
    expired = groups.heard(MemberChange)[-1]
    assert (expired.kind, expired.member_id, expired.silent_ms, expired.timeout_ms) == (
        "member_expired",
        b.id,
        6_000,
        6_000,
    )
    assert groups.heard(RebalanceStarted)[-1].cause.kind == "session_expired"


def test_the_end_of_the_last_session_makes_the_group_empty():
    groups = Groups()
    groups.settled(groups.member(session_timeout_ms=6_000))
    groups.passes(6_000)
    assert (groups.state, groups.generation) == (State.EMPTY, 2)
