"""JoinGroup: what is refused and in which order, who is told an id, who is admitted, who is answered at once, who waits."""

from __future__ import annotations

import pytest

from kaas.coordinator.announcements import MemberChange, RebalanceStarted, SubscriptionChanged
from kaas.coordinator.answers import JoinAnswer, JoinedMember
from kaas.coordinator.classic.states import State
from kaas.errors import ErrorCode
from tests.support.groups import GROUP, OTHER_TOPIC, RANGE, Groups, protocols


def refused(code: int, member_id: str = "") -> JoinAnswer:
    return JoinAnswer(code=ErrorCode(code), member_id=member_id)


# What is refused, in the order of checks


def test_a_refused_join_has_no_generation_leader_members_or_protocol():
    answer = Groups().joins(member_id="who", session_timeout_ms=1).answer
    assert (answer.generation, answer.leader, answer.members, answer.protocol_name) == (-1, "", (), None)


def test_an_empty_group_id_is_told_before_a_bad_session_timeout():
    """Nobody can join "", though it may hold offsets.

    https://issues.apache.org/jira/browse/KAFKA-6773
    """
    assert Groups().joins(group_id="", member_id="who", session_timeout_ms=0).answer == refused(24, "who")


@pytest.mark.parametrize(("session_ms", "code"), [(-1, 26), (5_999, 26), (6_000, 79), (1_800_000, 79), (1_800_001, 26)])
def test_a_session_timeout_lies_between_the_brokers_bounds(session_ms, code):
    assert Groups().joins(session_timeout_ms=session_ms).code == code


def test_a_bad_session_timeout_is_told_before_an_unknown_member_and_makes_no_group():
    groups = Groups()
    assert groups.joins(member_id="who", session_timeout_ms=1).answer == refused(26, "who")
    assert groups.state is State.DEAD


def test_a_member_id_on_an_unknown_group_is_refused_before_its_protocols_and_makes_no_group():
    groups = Groups()
    assert groups.joins(member_id="who", protocols=()).answer == refused(25, "who")
    assert groups.state is State.DEAD


@pytest.mark.parametrize("faulty", [{"protocols": ()}, {"protocol_type": ""}], ids=["no protocol", "no type"])
@pytest.mark.parametrize("told_first", [True, False])
def test_a_first_member_needs_a_protocol_and_a_type(faulty, told_first):
    """A first Join without protocols made a broken group. The group that was made stays, Empty.

    https://issues.apache.org/jira/browse/KAFKA-6005
    """
    groups = Groups()
    assert groups.joins(requires_known_id=told_first, **faulty).answer == refused(23)
    assert groups.state is State.EMPTY
    assert groups.member().joins().answer.generation == 1


def test_a_newcomer_without_a_common_protocol_is_refused_and_disturbs_nobody():
    """kafkajs#630: 23 only when there is no protocol in common."""
    groups = Groups()
    a, b = groups.settled(*groups.members(2))
    assert groups.joins(protocols=protocols("roundrobin")).answer == refused(23)
    assert groups.joins(protocols=()).answer == refused(23)
    assert groups.joins(protocol_type="connect").answer == refused(23)
    assert (a.beats(), b.beats()) == (0, 0)
    assert groups.joins(protocols=protocols("roundrobin", "range")).code == 79


def test_a_member_that_comes_back_without_a_common_protocol_is_told_with_its_id_and_stays_what_it_was():
    groups = Groups()
    a, _ = groups.settled(*groups.members(2))
    assert a.joins(protocols=protocols("sticky")).answer == refused(23, a.id)
    assert a.joins(protocol_type="connect").answer == refused(23, a.id)
    assert a.beats() == 0


def test_an_unknown_instance_a_fenced_instance_and_an_unknown_member_are_told_in_this_order():
    groups = Groups()
    a, b = groups.settled(groups.member("i0"), groups.member())
    for member_id, instance, code in ((a.id, "i9", 25), ("who", "i0", 82), (b.id, "i0", 82), ("who", None, 25)):
        assert groups.joins(member_id=member_id, instance_id=instance).answer == refused(code, member_id)


def test_a_join_while_groups_are_loaded_is_told_so():
    """redpanda#23176: requests hung while the coordinator loaded."""
    groups = Groups()
    groups.starts_loading()
    assert groups.joins(member_id="who").answer == refused(14, "who")
    groups.loads()
    assert groups.joins(member_id="who").answer == refused(25, "who")


# Full groups


def test_a_full_group_takes_no_newcomer_and_keeps_its_members():
    groups = Groups(max_size=2)
    a, b = groups.settled(*groups.members(2))
    assert groups.joins().answer == refused(81)
    assert groups.joins(requires_known_id=False).answer == refused(81)
    assert (a.beats(), b.joins().answer.generation) == (0, groups.generation)


def test_of_all_who_come_at_once_exactly_so_many_get_in():
    """More than the greatest size came in by a race.

    https://issues.apache.org/jira/browse/KAFKA-9844
    """
    groups = Groups(max_size=2, initial_rebalance_delay_ms=3_000)
    asked = [groups.joins(requires_known_id=False) for _ in range(5)]
    groups.passes(6_000)
    assert [each.code for each in asked] == [0, 0, 81, 81, 81]
    assert len(groups.ids) == 2


def test_a_member_that_comes_back_too_late_to_a_full_phase_is_out():
    groups = Groups(max_size=2)
    (a,) = groups.settled(groups.member())
    late = [groups.joins(requires_known_id=False, rebalance_timeout_ms=1_000) for _ in range(2)]
    assert a.joins().answer == refused(81)
    groups.passes(60_000)
    assert [each.answer.generation for each in late] == [2, 2]
    assert a.beats() == 25


def test_a_place_that_becomes_free_can_be_taken():
    groups = Groups(max_size=2)
    a, b = groups.settled(*groups.members(2))
    b.leaves()
    newcomer = groups.member()
    newcomer.joins()
    a.joins()
    assert a.generation == newcomer.generation == 3


def test_a_static_member_that_restarts_has_its_place_in_a_full_group():
    """A decision of ours (docs/decisions): Apache answers 81."""
    groups = Groups(max_size=2)
    _, b = groups.settled(groups.member("i0"), groups.member("i1"))
    new = b.restarts()
    new.joins()
    assert new.generation == b.generation


# An id first (KIP-394)


def test_a_dynamic_member_is_told_its_id_first():
    answer = Groups().joins(client_id="console", fresh_id="uuid").answer
    assert answer == refused(79, "console-uuid")


def test_clients_that_hang_up_after_their_first_join_leave_no_member_behind():
    """https://issues.apache.org/jira/browse/KAFKA-7824"""
    groups = Groups()
    ids = {groups.joins().answer.member_id for _ in range(20)}
    assert len(ids) == 20
    assert groups.described().members == ()
    assert groups.state is State.EMPTY


def test_an_id_just_told_is_accepted_at_once():
    """sarama#2759."""
    groups = Groups()
    told = groups.joins().answer.member_id
    answer = groups.joins(member_id=told).answer
    assert (answer.code, answer.member_id, answer.leader, answer.generation) == (0, told, told, 1)


def test_a_pending_id_is_no_member_and_starts_no_rebalance():
    groups = Groups()
    a, b = groups.settled(*groups.members(2))
    c = groups.member()
    c.takes_id()
    assert (c.beats(), c.syncs().code, c.commits().code) == (25, 25, 25)
    assert (a.beats(), b.beats()) == (0, 0)
    assert groups.ids == [a.id, b.id]


def test_a_pending_id_holds_the_join_phase_until_it_joins():
    groups = Groups()
    (a,) = groups.settled(groups.member())
    b = groups.member()
    b.takes_id()
    assert a.joins().waits
    b.joins()
    assert (a.generation, b.generation) == (2, 2)


def test_a_pending_id_that_never_returns_holds_the_join_phase_no_longer_than_its_session():
    """An id that was told and never used held the phase to its end, or for ever.

    https://issues.apache.org/jira/browse/KAFKA-7909
    https://github.com/redpanda-data/redpanda/issues/3761
    https://github.com/redpanda-data/redpanda/issues/3898
    """
    groups = Groups()
    (a,) = groups.settled(groups.member())
    told = groups.joins(session_timeout_ms=6_000).answer.member_id
    a.joins()
    groups.passes(5_999)
    assert a.last_join.waits
    groups.passes(1)
    assert list(a.listed) == [a.id]
    assert groups.joins(member_id=told).answer == refused(25, told)


def test_a_pending_id_that_comes_with_an_instance_id_is_unknown_and_makes_no_member():
    groups = Groups()
    (a,) = groups.settled(groups.member())
    told = groups.joins().answer.member_id
    assert groups.joins(member_id=told, instance_id="i0").answer == refused(25, told)
    assert groups.ids == [a.id]


@pytest.mark.parametrize("told_first", [True, False])
def test_a_static_member_is_admitted_at_once(told_first):
    answer = Groups().joins(instance_id="i0", fresh_id="uuid", requires_known_id=told_first).answer
    assert (answer.code, answer.member_id) == (0, "i0-uuid")


def test_a_member_of_a_version_below_4_is_admitted_at_once():
    assert Groups().joins(requires_known_id=False, client_id="c", fresh_id="uuid").answer.member_id == "c-uuid"


# Who is admitted


def test_the_first_member_leads_generation_one_and_is_told_itself():
    groups = Groups()
    m = groups.member()
    m.joins()
    assert m.joined == JoinAnswer(
        code=ErrorCode.NONE,
        member_id=m.id,
        generation=1,
        protocol_type="consumer",
        protocol_name="range",
        leader=m.id,
        members=(JoinedMember(m.id, None, RANGE[0][1]),),
    )


def test_a_follower_is_told_the_leader_but_no_members():
    groups = Groups()
    a, b = groups.gathered(*groups.members(2))
    assert (b.joined.leader, b.joined.members) == (a.id, ())
    assert list(a.listed) == [a.id, b.id]


def test_a_newcomer_waits_until_every_member_came_back():
    """tansu#625: the second consumer was refused."""
    groups = Groups()
    a, b = groups.settled(*groups.members(2))
    c = groups.member()
    assert c.joins().waits
    assert (a.beats(), b.beats()) == (27, 27)
    assert a.joins().waits and c.last_join.waits
    b.joins()
    assert [m.generation for m in (a, b, c)] == [3, 3, 3]
    assert [m.leads for m in (a, b, c)] == [True, False, False]


def test_metadata_reaches_the_leader_byte_for_byte():
    """franz-go#493: members of one group speak any mix of versions of their metadata."""
    groups = Groups()
    kinds = [RANGE[0][1], b"\0\3\xff", b""]
    a, b, c = groups.gathered(*(groups.member(protocols=(("range", what),)) for what in kinds))
    assert a.listed == {a.id: kinds[0], b.id: kinds[1], c.id: kinds[2]}


def test_a_first_member_whose_subscription_cannot_be_read_is_admitted():
    """A wrong inner length makes Apache hang the group; here it counts as subscribed to everything."""
    groups = Groups()
    m = groups.member(protocols=(("range", b"\0\0\0\0\0\7"),))
    m.joins()
    assert m.generation == 1
    assert groups.classic().subscribed() is None


def test_a_member_that_comes_brings_its_reason_to_the_feed():
    groups = Groups()
    groups.member(client_id="app", reason="deployed").joins()
    (joined,) = groups.heard(MemberChange)
    assert (joined.kind, joined.client_id, joined.reason) == ("member_joined", "app", "deployed")
    (started,) = groups.heard(RebalanceStarted)
    assert started.cause.kind == "member_joined"


# A known member


def test_a_follower_that_rejoins_unchanged_in_stable_is_answered_at_once():
    groups = Groups()
    a, b = groups.settled(*groups.members(2))
    assert b.joins().answer.generation == 2
    assert (a.beats(), b.beats()) == (0, 0)


def test_a_join_answered_at_once_does_not_restart_the_session():
    groups = Groups()
    _, b = groups.settled(*groups.members(2, session_timeout_ms=6_000))
    groups.passes(5_000)
    b.joins()
    groups.passes(1_000)
    assert b.beats() == 25


@pytest.mark.parametrize(
    "changed", [OTHER_TOPIC, protocols("range", "extra"), protocols("extra", "range")], ids=["topic", "last", "first"]
)
def test_a_follower_that_rejoins_with_other_protocols_in_stable_starts_a_rebalance(changed):
    groups = Groups()
    a, b = groups.settled(*groups.members(2))
    assert b.joins(protocols=changed).waits
    assert a.beats() == 27
    a.joins()
    assert a.generation == b.generation == 3


def test_a_leader_that_rejoins_unchanged_in_stable_starts_a_rebalance():
    """kafkajs#923: this is how a leader says that partitions were added."""
    groups = Groups()
    a, b = groups.settled(*groups.members(2))
    assert a.joins().waits
    assert b.beats() == 27
    b.joins()
    assert a.generation == 3 and a.leads


def test_a_rejoin_unchanged_while_completing_repeats_the_answer():
    groups = Groups()
    a, b = groups.gathered(*groups.members(2))
    before = a.joined, b.joined
    a.joins()
    b.joins()
    assert (a.joined, b.joined) == before
    assert groups.state is State.COMPLETING_REBALANCE


def test_a_rejoin_with_other_protocols_while_completing_starts_over():
    groups = Groups()
    a, b = groups.gathered(*groups.members(2))
    b.syncs()
    assert b.joins(protocols=OTHER_TOPIC).waits
    assert b.last_sync.code == 27
    a.joins()
    assert a.generation == 3 and a.listed[b.id] == OTHER_TOPIC[0][1]


def test_a_member_told_that_its_generation_is_old_keeps_its_id():
    """22 is no reason to come as a newcomer.

    https://github.com/kafkaex/kafka_ex/issues/539
    https://github.com/kafkaex/kafka_ex/issues/554
    https://issues.apache.org/jira/browse/KAFKA-13419
    https://issues.apache.org/jira/browse/KAFKA-9823
    """
    groups = Groups()
    _, b = groups.settled(*groups.members(2))
    assert (b.beats(generation=1), b.beats(generation=3)) == (22, 22)
    assert b.joins().answer.generation == 2 and b.beats() == 0


def test_a_repeated_join_counts_once_and_sends_the_older_one_back():
    """K12: a repeated Join counted twice and ended a round early. Apache leaves the older connection hanging."""
    groups = Groups()
    a, b, c = groups.settled(*groups.members(3))
    older = a.joins()
    newer = a.joins()
    b.joins()
    assert older.answer == refused(27, a.id)
    assert newer.waits  # for c
    c.joins()
    assert a.joined.generation == 3


def test_a_member_whose_join_is_parked_outlives_its_session():
    """K13: the session ran while a Join was parked."""
    groups = Groups()
    a, b = groups.settled(groups.member(session_timeout_ms=6_000), groups.member())
    a.joins()
    for _ in range(5):
        groups.passes(4_000)
        assert b.beats() == 27
    b.joins()
    assert a.generation == b.generation == 3 and a.beats() == 0


def test_a_heartbeat_of_a_member_whose_join_is_parked_starts_no_session():
    groups = Groups()
    a, b = groups.settled(groups.member(session_timeout_ms=6_000), groups.member())
    a.joins()
    assert a.beats() == 27
    groups.passes(7_000)
    b.joins()
    assert a.generation == 3


def test_a_member_brings_its_new_timeouts():
    groups = Groups()
    a, b = groups.settled(*groups.members(2))
    b.joins(protocols=OTHER_TOPIC, session_timeout_ms=7_000, rebalance_timeout_ms=9_000)
    a.joins()
    member = groups.classic().members[b.id]
    assert (member.session_timeout_ms, member.rebalance_timeout_ms) == (7_000, 9_000)


# Newcomers that wait too long


@pytest.mark.parametrize("version", [3, 9])
def test_a_newcomer_whose_join_is_parked_for_five_minutes_is_taken_for_gone(version):
    """A long rebalance filled with clients that had hung up, below version 4 too.

    https://issues.apache.org/jira/browse/KAFKA-7610
    https://issues.apache.org/jira/browse/KAFKA-9232
    """
    groups = Groups()
    (a,) = groups.settled(groups.member(rebalance_timeout_ms=1_800_000, session_timeout_ms=1_800_000))
    ghosts = groups.members(3, version=version, rebalance_timeout_ms=1_800_000)
    for ghost in ghosts:
        ghost.joins()
    groups.passes(299_999)
    assert len(groups.ids) == 4
    groups.passes(1)
    assert groups.ids == [a.id]
    assert [ghost.last_join.answer for ghost in ghosts] == [refused(25)] * 3
    a.joins()
    assert len(a.joined.members) == 1


def test_a_member_that_was_answered_is_no_newcomer_any_more():
    groups = Groups()
    a, b = groups.settled(*groups.members(2, rebalance_timeout_ms=1_800_000, session_timeout_ms=1_800_000))
    a.joins()
    groups.passes(1_000_000)
    assert groups.ids == [a.id, b.id]


# What the feed is told of subscriptions


def test_another_topic_is_told_and_other_bytes_for_the_same_topics_are_not():
    groups = Groups()
    a, b = groups.settled(*groups.members(2))
    b.joins(protocols=OTHER_TOPIC)
    (changed,) = groups.heard(SubscriptionChanged)
    assert (changed.member_id, changed.topics) == (b.id, ("u",))
    assert groups.heard(RebalanceStarted)[-1].cause.detail | {"before": ["t"], "after": ["u"]} == (
        groups.heard(RebalanceStarted)[-1].cause.detail
    )
    a.joins()
    b.joins(protocols=protocols("range", "extra", topic="u"))
    assert len(groups.heard(SubscriptionChanged)) == 1


def test_a_rejoin_with_a_subscription_that_cannot_be_read_is_told_as_no_topics():
    groups = Groups()
    _, b = groups.settled(*groups.members(2))
    b.joins(protocols=(("range", b"\0"),))
    assert groups.heard(SubscriptionChanged) == []
    cause = groups.heard(RebalanceStarted)[-1].cause
    assert (cause.kind, cause.detail["after"]) == ("subscription_changed", None)


def test_member_ids_never_repeat():
    """Ids of one instance repeated within a millisecond. Here they come from the shell's uuids.

    https://issues.apache.org/jira/browse/KAFKA-8715
    """
    groups = Groups()
    ids = [groups.joins(instance_id="i0", group_id=GROUP).answer.member_id for _ in range(50)]
    assert len(set(ids)) == 50
