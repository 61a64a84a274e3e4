"""Static members (KIP-345, KIP-814): replacement without a rebalance, fencing of the older holder wherever it waits."""

from __future__ import annotations

import pytest

from kaas.coordinator.announcements import MemberChange, RebalanceStarted
from kaas.coordinator.answers import JoinAnswer, JoinedMember, SyncAnswer
from kaas.coordinator.classic.states import State
from kaas.coordinator.records import MemberReplaced
from kaas.errors import ErrorCode
from tests.support.groups import GROUP, OTHER_TOPIC, RANGE, Groups, assignment, protocols

FENCED, UNKNOWN = ErrorCode.FENCED_INSTANCE_ID, ErrorCode.UNKNOWN_MEMBER_ID


def two(**about) -> tuple:
    """A Stable group of two static members; the first leads."""
    groups = Groups()
    a, b = groups.settled(groups.member("i0", **about), groups.member("i1", **about))
    return groups, a, b


# A restart in Stable


@pytest.mark.parametrize("version", [5, 9])
def test_a_follower_that_restarts_disturbs_nobody(version):
    groups, a, b = two(version=version)
    new = b.restarts()
    new.joins()
    assert new.joined == JoinAnswer(
        code=ErrorCode.NONE,
        member_id=new.id,
        generation=2,
        protocol_type="consumer",
        protocol_name="range",
        leader=a.id,
    )
    assert new.id != b.id and new.id.startswith("i1-")
    assert (a.beats(), new.beats(), b.beats()) == (0, 0, 82)
    assert groups.state is State.STABLE


def test_a_leader_that_restarts_is_told_its_old_id_as_leader_before_version_9():
    groups, a, b = two(version=8)
    new = a.restarts()
    new.joins()
    assert (new.joined.leader, new.joined.members, new.joined.skip_assignment) == (a.id, (), False)
    assert (new.beats(), b.beats(), a.beats()) == (0, 0, 82)
    assert groups.classic().leader == new.id  # it leads all the same
    assert new.joins().waits and b.beats() == 27


def test_a_leader_that_restarts_is_told_the_members_and_to_skip_the_assignment_from_version_9():
    """A returning leader missed changes of topics.

    https://issues.apache.org/jira/browse/KAFKA-13435
    """
    groups, a, b = two()
    new = a.restarts()
    new.joins()
    assert set(new.joined.members) == {
        JoinedMember(new.id, "i0", RANGE[0][1]),
        JoinedMember(b.id, "i1", RANGE[0][1]),
    }
    assert (new.generation, new.leads, new.joined.skip_assignment) == (2, True, True)
    assert (new.beats(), b.beats(), a.beats()) == (0, 0, 82)
    assert groups.ids == [new.id, b.id]


def test_a_restarted_member_takes_over_the_assignment():
    groups, a, b = two()
    news = [a.restarts(), b.restarts()]
    for new in news:
        new.joins()
    assert [new.syncs().answer.assignment for new in news] == [assignment("t", 0), assignment("t", 1)]
    assert [(m.member_id, m.assignment) for m in groups.described().members] == [
        (news[0].id, assignment("t", 0)),
        (news[1].id, assignment("t", 1)),
    ]


def test_a_restart_with_another_subscription_is_noted_and_starts_no_rebalance():
    groups, a, b = two()
    new = b.restarts(protocols=OTHER_TOPIC)
    new.joins()
    assert (new.generation, a.beats()) == (2, 0)
    newer = a.restarts()
    newer.joins()
    assert newer.listed == {newer.id: RANGE[0][1], new.id: OTHER_TOPIC[0][1]}
    assert groups.classic().subscribed() == {"t", "u"}


def test_a_restart_that_changes_the_chosen_protocol_starts_a_rebalance():
    groups, a, b = two(protocols=protocols("range", "sticky"))
    new = b.restarts(protocols=protocols("sticky"))
    assert new.joins().waits
    assert (a.beats(), b.beats()) == (27, 82)
    a.joins()
    assert (a.joined.protocol_name, a.generation, new.joined.generation) == ("sticky", 3, 3)
    assert groups.heard(RebalanceStarted)[-1].cause.kind == "static_member_replaced"


def test_a_follower_with_its_own_id_is_answered_at_once_and_a_leader_starts_a_rebalance():
    _, a, b = two()
    assert b.joins().answer.generation == 2 and a.beats() == 0
    assert a.joins().waits and b.beats() == 27


def test_a_lone_static_leader_that_restarts_while_completing_gets_the_next_generation():
    """KAFKA-9801."""
    groups = Groups()
    (a,) = groups.gathered(groups.member("i0"))
    new = a.restarts()
    new.joins()
    assert (new.generation, new.leads, new.joined.skip_assignment) == (2, True, False)


def test_every_restart_gives_another_id_and_one_member_remains():
    """Two processes with one instance id both lived.

    https://issues.apache.org/jira/browse/KAFKA-8500
    """
    groups, a, _ = two()
    ids = [a.id] + [groups.joins(instance_id="i0").answer.member_id for _ in range(20)]
    assert len(set(ids)) == 21
    assert groups.ids[0] == ids[-1] and len(groups.ids) == 2


def test_a_restart_is_told_as_a_fencing_and_a_replacement():
    groups, _, b = two()
    groups.announced.clear()
    new = b.restarts(reason="deployed")
    new.joins()
    fenced, replaced = groups.heard(MemberChange)
    assert (fenced.kind, fenced.member_id) == ("member_fenced", b.id)
    assert (replaced.kind, replaced.member_id, replaced.replaced_by, replaced.reason) == (
        "member_replaced",
        b.id,
        new.id,
        "deployed",
    )


# Sessions over a restart


def test_the_session_begins_anew_at_a_restart_with_the_old_timeout_until_the_first_heartbeat():
    """KAFKA-14009: the new timeouts are taken over."""
    groups, a, b = two(session_timeout_ms=6_000)
    groups.passes(4_000)
    a.beats()
    new = b.restarts(session_timeout_ms=20_000)
    new.joins()
    groups.passes(5_999)
    a.beats()
    assert new.beats() == 0  # alive, though it restarted with 2 s left
    for _ in range(3):
        groups.passes(5_000)
        a.beats()
    assert new.beats() == 0


def test_a_restarted_member_that_never_beats_goes_after_the_old_timeout():
    groups, a, b = two(session_timeout_ms=6_000)
    new = b.restarts(session_timeout_ms=20_000)
    new.joins()
    groups.passes(5_999)
    a.beats()
    assert len(groups.ids) == 2
    groups.passes(1)
    assert groups.ids == [a.id]


# Fencing


def test_a_replaced_id_is_fenced_by_every_request_that_names_the_instance():
    groups, a, b = two()
    b.restarts().joins()
    assert (b.beats(), b.syncs().code, b.commits().code, b.leaves()) == (82, 82, 82, 82)
    assert groups.joins(member_id=b.id, instance_id="i1").answer == JoinAnswer(code=FENCED, member_id=b.id)
    assert a.beats() == 0


def test_a_replaced_id_without_its_instance_is_unknown():
    groups, _, b = two()
    b.restarts().joins()
    b.instance_id = None
    assert (b.beats(), b.syncs().code, b.commits().code, b.leaves()) == (25, 25, 25, 25)
    assert groups.joins(member_id=b.id).answer == JoinAnswer(code=UNKNOWN, member_id=b.id)


def test_a_fenced_member_that_beats_on_does_its_successor_no_harm():
    """https://issues.apache.org/jira/browse/KAFKA-16815
    https://issues.apache.org/jira/browse/KAFKA-16251
    """
    _, a, b = two()
    new = b.restarts()
    new.joins()
    for _ in range(3):
        assert (b.beats(), b.syncs().code, b.leaves()) == (82, 82, 82)
        assert (new.beats(), new.syncs().answer.assignment, a.beats()) == (0, assignment("t", 1), 0)


def test_a_parked_join_is_told_that_it_is_fenced_when_its_instance_joins_again():
    groups = Groups()
    (a,) = groups.settled(groups.member("i0"))
    b = groups.member("i1")
    older = b.joins()
    (_, old_id) = groups.ids
    new = b.restarts()
    assert new.joins().waits
    assert older.answer == JoinAnswer(code=FENCED, member_id=old_id)
    a.joins()
    assert list(a.listed) == [a.id, new.id]


def test_a_parked_sync_is_told_that_it_is_fenced_when_its_instance_joins_again():
    groups = Groups()
    a, b = groups.gathered(groups.member("i0"), groups.member("i1"))
    older = b.syncs()
    new = b.restarts()
    assert new.joins().waits
    assert older.answer == SyncAnswer(code=FENCED)
    assert a.beats() == 27


def test_a_restart_in_a_join_phase_waits_with_the_others():
    groups, a, b = two()
    a.joins()
    new = b.restarts()
    new.joins()
    assert a.generation == new.generation == 3
    assert groups.ids == [a.id, new.id]


def test_a_newcomer_that_restarts_while_it_waits_has_its_five_minutes_anew():
    groups = Groups()
    groups.settled(groups.member("i0", rebalance_timeout_ms=1_800_000, session_timeout_ms=1_800_000))
    b = groups.member("i1", rebalance_timeout_ms=1_800_000)
    b.joins()
    groups.passes(200_000)
    new = b.restarts()
    new.joins()
    groups.passes(299_999)
    assert len(groups.ids) == 2
    groups.passes(1)
    assert new.last_join.code == 25 and len(groups.ids) == 1


def test_an_instance_that_left_comes_back_as_a_new_member():
    _, a, b = two()
    assert b.leaves() == 0
    new = b.restarts()
    assert new.joins().waits and a.beats() == 27
    a.joins()
    assert a.generation == new.generation == 3


def test_an_instance_id_belongs_to_its_group():
    groups = Groups()
    (a,) = groups.settled(groups.member("i0"))
    b = groups.member("i0", group_id="other")
    b.joins()
    assert a.beats(member_id=b.id) == 82
    assert groups.leaves(("", "i0"), group_id="other").answer.members[0].code == 0
    assert a.beats() == 0


# Durable before it is answered


def test_a_replacement_is_answered_only_when_it_is_durable():
    """After a move of the coordinator the replaced id was unknown, or fenced.

    https://issues.apache.org/jira/browse/KAFKA-10284
    """
    groups, a, b = two()
    groups.journal.held = True
    new = b.restarts()
    assert new.joins().waits
    assert b.beats() == 0  # nothing has changed yet
    groups.writes()
    assert (new.beats(), b.beats()) == (0, 82)
    groups.journal.held = False
    groups.restarts()
    assert (a.beats(), new.beats(), b.beats()) == (0, 0, 82)
    assert new.syncs().answer.assignment == assignment("t", 1)


def test_a_replacement_that_cannot_be_written_leaves_everything_as_it_was():
    """https://issues.apache.org/jira/browse/KAFKA-18263"""
    groups, _, b = two()
    groups.journal.full = True
    new = b.restarts()
    assert new.joins().answer == JoinAnswer(code=ErrorCode.COORDINATOR_NOT_AVAILABLE, member_id="")
    assert (b.beats(), groups.ids[1]) == (0, b.id)
    assert b.syncs().answer.assignment == assignment("t", 1)
    groups.journal.full = False
    new.joins()
    assert (new.beats(), b.beats()) == (0, 82)


def test_of_two_restarts_at_once_the_later_one_holds_the_instance():
    groups, _, b = two()
    groups.journal.held = True
    first, second = b.restarts(), b.restarts()
    first.joins()
    second.joins()
    groups.settle()
    assert groups.ids[1] == second.id
    assert (first.beats(), second.beats(), b.beats()) == (82, 0, 82)
    groups.restarts()
    assert groups.ids[1] == second.id


def test_a_restart_whose_old_holder_leaves_while_it_is_written_joins_as_a_newcomer():
    groups, a, b = two()
    groups.journal.held = True
    new = b.restarts()
    new.joins()
    groups.leaves(("", "i1"))
    groups.settle()
    assert new.last_join.waits and a.beats() == 27
    groups.journal.held = False
    a.joins()
    assert a.generation == new.generation == 3


def test_a_restart_whose_old_holder_was_the_only_member_and_expired_while_it_was_written():
    groups = Groups()
    (a,) = groups.settled(groups.member("i0", session_timeout_ms=6_000))
    groups.journal.held = True
    new = a.restarts()
    new.joins()
    groups.passes(6_000)
    assert groups.state is State.EMPTY
    groups.settle()
    assert new.generation == 3 and groups.ids == [new.id]


def test_a_restart_that_is_overtaken_by_a_rebalance_waits_in_it():
    """The old process asks to join while its successor is being written: both cannot wait as one member."""
    groups, a, b = two()
    groups.journal.held = True
    new = a.restarts()
    new.joins()
    old = a.joins()  # a leader's Join starts a rebalance, and is parked
    groups.settle()
    assert old.answer == JoinAnswer(code=FENCED, member_id=a.id)
    assert new.last_join.waits
    groups.journal.held = False
    b.joins()
    assert new.generation == b.generation == 3
    assert groups.ids == [new.id, b.id]


def test_a_restart_that_lost_its_common_protocol_while_it_was_written_is_refused():
    groups, a, b = two(protocols=protocols("range", "sticky"))
    groups.journal.held = True
    new = b.restarts(protocols=protocols("range"))
    new.joins()
    a.joins(protocols=protocols("sticky"))  # b still has both, so this is taken
    groups.settle()
    assert new.last_join.answer == JoinAnswer(code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL, member_id="")
    assert groups.ids == [a.id, b.id]
    groups.journal.held = False
    b.joins()
    assert a.joined.protocol_name == "sticky"


def test_a_replacement_is_a_record_of_the_whole_member():
    groups, _, b = two()
    new = b.restarts(session_timeout_ms=7_000)
    new.joins()
    group_id, record = groups.journal.written[-1]
    assert group_id == GROUP and isinstance(record, MemberReplaced)
    assert (record.old_member_id, record.member.member_id) == (b.id, new.id)
    assert (record.member.assignment, record.member.session_timeout_ms) == (assignment("t", 1), 7_000)
