"""JoinGroup 0-9 of dynamic members: who is refused, who is told an id first, who is admitted, who comes back.

Rows of a decision table are tested in its order of checks; where a request has two faults, the test says which one is told.
"""

import pytest

from tests.conformance.oracle.members import (
    OTHER,
    RANGE,
    Member,
    assigned,
    describe,
    gathered,
    heartbeat,
    join,
    joiner,
    leave,
    left,
    reaches,
    rebalancing,
    refused_join,
    refused_sync,
    reply,
    settled,
    subscription,
    sync,
    takes,
)

JOIN = range(10)  # versions


# JoinGroup: what is refused


@pytest.mark.parametrize("version", JOIN)
def test_a_refused_join_has_no_generation_leader_members_or_protocol(connect, group, version):
    assert join(connect(), group, "who", version=version, session=5_999) == refused_join(version, 26, "who")


def test_an_empty_group_id_is_told_before_a_bad_session_timeout(connect, ready):
    assert join(connect(), "", "who", session=0) == refused_join(9, 24, "who")


@pytest.mark.parametrize(
    "session, code", [(-1, 26), (0, 26), (5_999, 26), (6_000, 79), (1_800_000, 79), (1_800_001, 26)]
)
def test_a_session_timeout_lies_between_six_seconds_and_thirty_minutes(connect, group, session, code):
    assert join(connect(), group, session=session).error_code == code


def test_a_bad_session_timeout_is_told_before_an_unknown_member_and_makes_no_group(connect, group):
    c = connect()
    assert join(c, group, "who", session=1) == refused_join(9, 26, "who")
    assert join(c, group, "", session=1) == refused_join(9, 26)
    assert describe(c, group).group_state == "Dead"


def test_a_member_id_on_an_unknown_group_is_refused_before_its_protocols_and_makes_no_group(connect, group):
    c = connect()
    assert join(c, group, "who", protocols=()) == refused_join(9, 25, "who")
    assert describe(c, group).group_state == "Dead"


@pytest.mark.parametrize("version", [3, 9])
@pytest.mark.parametrize("faulty", [{"protocols": ()}, {"protocol_type": ""}], ids=["no protocol", "no protocol type"])
def test_a_first_member_needs_a_protocol_and_a_protocol_type(connect, group, version, faulty):
    m = Member(connect(), group, version=version)
    assert join(m.client, group, version=version, **faulty) == refused_join(version, 23)
    m.join()
    assert (m.generation, m.leads(), list(m.listed())) == (1, True, [m.id])


def test_a_newcomer_without_a_common_protocol_is_refused_and_disturbs_nobody(connect, group):
    """https://github.com/tulios/kafkajs/issues/630"""
    a, b = settled(connect, group)
    assert join(connect(), group, protocols=(("roundrobin", b""),)) == refused_join(9, 23)
    assert join(connect(), group, protocols=()) == refused_join(9, 23)
    assert join(connect(), group, version=3, protocols=(("roundrobin", b""),)) == refused_join(3, 23)
    assert (a.heartbeat(), b.heartbeat()) == (0, 0)
    a.send_join()  # no pending id holds this phase
    rebalancing(connect, group)
    b.join()
    assert len(a.joined().members) == 2


def test_another_protocol_type_is_refused_though_the_protocol_names_agree(connect, group):
    (a,) = settled(connect, group, 1)
    assert join(connect(), group, protocol_type="connect") == refused_join(9, 23)
    assert join(a.client, group, a.id, protocol_type="connect") == refused_join(9, 23, a.id)
    assert (a.heartbeat(), describe(a.client, group).protocol_type) == (0, "consumer")


# JoinGroup: an id first (KIP-394)


@pytest.mark.parametrize("version", range(4, 10))
def test_a_dynamic_member_is_told_its_id_first(connect, group, version):
    answer = join(connect(), group, version=version, client_id="console")
    assert answer.member_id.startswith("console-") and len(answer.member_id) >= len("console-") + 22
    assert answer == refused_join(version, 79, answer.member_id)


def test_clients_that_hang_up_after_their_first_join_leave_no_member_behind(connect, group):
    ids = set()
    for _ in range(20):
        c = connect()
        ids.add(join(c, group, version=4).member_id)
        c.close()
    assert len(ids) == 20
    assert reaches(connect(), group, "Empty").members == ()


def test_an_id_just_told_is_accepted_on_another_connection(connect, group):
    """https://github.com/IBM/sarama/issues/2759"""
    told = join(connect(), group).member_id
    answer = join(connect(), group, told)
    assert (answer.error_code, answer.member_id, answer.leader, answer.generation_id) == (0, told, told, 1)


def test_a_pending_id_is_no_member_it_starts_no_rebalance_and_can_neither_beat_nor_sync(connect, group):
    a, b = settled(connect, group)
    c = connect()
    pending = join(c, group).member_id
    assert heartbeat(c, group, a.generation, pending) == 25
    assert sync(c, group, a.generation, pending) == refused_sync(5, 25)
    assert (a.heartbeat(), b.heartbeat()) == (0, 0)
    assert {m.member_id for m in describe(c, group).members} == {a.id, b.id}


def test_a_pending_id_holds_the_join_phase_until_it_joins(connect, group):
    (a,) = settled(connect, group, 1)
    b = Member(connect(), group)
    b.take_id()
    a.send_join()
    a.parked()
    b.send_join()
    a.joined()
    b.joined()
    assert (a.generation, b.generation) == (2, 2)
    assert set(a.listed()) == {a.id, b.id} and a.leads() and not b.leads()


def test_a_pending_id_that_leaves_lets_the_join_phase_end_and_is_gone(connect, group):
    (a,) = settled(connect, group, 1)
    c = connect()
    pending = join(c, group).member_id
    a.send_join()
    a.parked()
    assert left(leave(c, group, (pending, None))) == [(pending, None, 0)]
    assert len(a.joined().members) == 1
    assert join(c, group, pending) == refused_join(9, 25, pending)


@pytest.mark.slow
def test_a_pending_id_that_never_comes_back_holds_the_join_phase_no_longer_than_its_session(connect, group):
    (a,) = settled(connect, group, 1)
    c = connect()
    with takes(5.5, 9):
        pending = join(c, group, session=6_000).member_id
        a.send_join()
        a.parked()
        a.joined()
    assert list(a.listed()) == [a.id]
    assert join(c, group, pending) == refused_join(9, 25, pending)


# JoinGroup: who is admitted, and what all are told


@pytest.mark.parametrize("version", JOIN)
def test_the_first_member_leads_generation_one_and_is_told_itself(connect, group, version):
    m = Member(connect(), group, version=version)
    assert m.join() == reply(
        "JoinGroup",
        version,
        error_code=0,
        generation_id=1,
        protocol_type="consumer",
        protocol_name="range",
        leader=m.id,
        skip_assignment=False,
        member_id=m.id,
        members=(joiner(version, m.id, RANGE[0][1]),),
    )
    assert m.id.startswith("oracle-")


@pytest.mark.parametrize("version", JOIN)
def test_a_follower_is_told_the_leader_but_no_members(connect, group, version):
    a, b = gathered(
        connect, group, Member(connect(), group, version=version), Member(connect(), group, version=version)
    )
    assert b.answer == reply(
        "JoinGroup",
        version,
        error_code=0,
        generation_id=2,
        protocol_type="consumer",
        protocol_name="range",
        leader=a.id,
        skip_assignment=False,
        member_id=b.id,
        members=(),
    )
    assert a.listed() == {a.id: RANGE[0][1], b.id: RANGE[0][1]} and a.leads()


def test_a_newcomer_waits_until_every_member_came_back(connect, group):
    a, b = settled(connect, group)
    c = Member(connect(), group)
    c.send_join()
    reaches(connect(), group, "PreparingRebalance", 3)
    assert (a.heartbeat(), b.heartbeat()) == (27, 27)
    a.send_join()
    c.parked()
    a.parked(0.05)
    b.join()
    a.joined()
    c.joined()
    assert [m.generation for m in (a, b, c)] == [3, 3, 3]
    assert [m.leads() for m in (a, b, c)] == [True, False, False]


def test_one_join_phase_takes_every_newcomer(connect, group):
    """https://github.com/aio-libs/aiokafka/issues/1176"""
    members = gathered(connect, group, *(Member(connect(), group) for _ in range(6)))
    assert {m.generation for m in members} == {2}
    assert set(members[0].listed()) == {m.id for m in members} and len(members[0].answer.members) == 6
    assert {len(m.answer.members) for m in members[1:]} == {0}


def test_metadata_reaches_the_leader_byte_for_byte_whatever_its_version(connect, group):
    """https://github.com/twmb/franz-go/issues/493
    https://github.com/twmb/franz-go/issues/686
    """
    metadata = [
        subscription("t"),
        subscription("t", "u", version=1, user_data=b"\x00\xff"),
        subscription(version=3),
        b"xx",
        b"",
    ]
    members = gathered(connect, group, *(Member(connect(), group, protocols=(("range", what),)) for what in metadata))
    assert [members[0].listed()[m.id] for m in members] == metadata


def test_the_leader_is_told_the_metadata_of_the_chosen_protocol(connect, group):
    a, b = gathered(
        connect,
        group,
        Member(connect(), group, protocol_type="x", protocols=(("one", b"a1"), ("two", b"a2"))),
        Member(connect(), group, protocol_type="x", protocols=(("three", b"b3"), ("two", b"b2"))),
    )
    assert (a.answer.protocol_name, b.answer.protocol_name) == ("two", "two")
    assert a.listed() == {a.id: b"a2", b.id: b"b2"}


def test_the_protocol_is_the_first_choice_of_all_when_they_agree(connect, group):
    both = (("sticky", subscription("t")), ("range", subscription("t")))
    a, b = gathered(connect, group, Member(connect(), group, protocols=both), Member(connect(), group, protocols=both))
    assert {a.answer.protocol_name, b.answer.protocol_name} == {"sticky"}


def test_a_member_that_comes_back_brings_its_new_metadata(connect, group):
    a, b = settled(connect, group)
    a.send_join()
    rebalancing(connect, group)
    b.join(protocols=OTHER)
    a.joined()
    assert a.listed() == {a.id: RANGE[0][1], b.id: OTHER[0][1]}


def test_a_member_that_lost_its_connection_while_parked_comes_back_under_its_id(connect, group):
    a, b = settled(connect, group)
    a.send_join()
    rebalancing(connect, group)
    a.client.close()
    a.client = connect()
    a.send_join()
    a.parked()
    b.join()
    a.joined()
    assert (set(a.listed()), len(a.answer.members), a.generation) == ({a.id, b.id}, 2, 3)


def test_a_member_that_hung_up_while_parked_is_a_member_all_the_same(connect, group):
    a, b = settled(connect, group)
    a.send_join()
    rebalancing(connect, group)
    a.client.close()
    assert (b.join().generation_id, b.answer.leader) == (3, a.id)
    a.client = connect()
    assert a.heartbeat(3) == 0
    a.join()
    assert (a.generation, set(a.listed())) == (3, {a.id, b.id})


def test_a_connection_that_closes_is_no_leave(connect, group):
    a, b = settled(connect, group)
    b.client.close()
    b.client = connect()
    assert (b.heartbeat(), a.heartbeat(), b.sync().assignment) == (0, 0, b"1")
    assert len(reaches(connect(), group, "Stable").members) == 2


def test_a_request_behind_a_parked_join_is_handled_after_it(connect, group):
    a, b = settled(connect, group)
    a.send_join()
    a.client.send("Heartbeat", 4, group_id=group, generation_id=a.generation, member_id=a.id, group_instance_id=None)
    a.parked()
    b.join()
    assert a.joined().generation_id == 3
    assert a.client.recv().error_code == 22


@pytest.mark.parametrize("version", [8, 9])
def test_a_reason_of_any_length_changes_nothing(connect, group, version):
    (a,) = settled(connect, group, 1)
    assert a.join(version=version, reason="because " * 100).generation_id == 2


# JoinGroup: a known member


def test_a_follower_that_rejoins_unchanged_in_stable_is_answered_at_once(connect, group):
    a, b = settled(connect, group)
    assert b.join() == reply(
        "JoinGroup",
        9,
        error_code=0,
        generation_id=2,
        protocol_type="consumer",
        protocol_name="range",
        leader=a.id,
        skip_assignment=False,
        member_id=b.id,
        members=(),
    )
    assert (a.heartbeat(), b.sync().assignment) == (0, b"1")


@pytest.mark.parametrize(
    "protocols",
    [OTHER, (*RANGE, ("extra", b"")), (("extra", b""), *RANGE)],
    ids=["metadata", "one more last", "one more first"],
)
def test_a_follower_that_rejoins_with_other_protocols_in_stable_starts_a_rebalance(connect, group, protocols):
    a, b = settled(connect, group)
    b.send_join(protocols=protocols)
    rebalancing(connect, group)
    b.parked()
    assert a.heartbeat() == 27
    a.join()
    assert b.joined().generation_id == a.generation == 3


def test_a_leader_that_rejoins_unchanged_in_stable_starts_a_rebalance(connect, group):
    """https://github.com/tulios/kafkajs/issues/923"""
    a, b = settled(connect, group)
    a.send_join()
    rebalancing(connect, group)
    a.parked()
    assert b.heartbeat() == 27
    b.join()
    assert a.joined().generation_id == 3 and a.leads()


def test_a_rejoin_unchanged_while_completing_repeats_the_answer(connect, group):
    a, b = gathered(connect, group, Member(connect(), group), Member(connect(), group))
    listed = set(a.answer.members)
    assert b.join() == b.answer and b.answer.members == ()
    a.join()
    assert (a.generation, a.leads(), set(a.answer.members), a.answer.skip_assignment) == (2, True, listed, False)
    assert [x.assignment for x in assigned((a, b))] == [b"0", b"1"]


def test_a_newcomer_while_completing_starts_over_and_sends_the_syncing_back(connect, group):
    a, b = gathered(connect, group, Member(connect(), group), Member(connect(), group))
    b.send_sync()
    b.parked()
    c = Member(connect(), group)
    c.send_join()
    assert b.client.recv() == refused_sync(5, 27)
    assert (a.heartbeat(), a.sync().error_code) == (27, 27)
    a.send_join()
    b.join()
    assert set(a.joined().members) == {joiner(9, m.id, RANGE[0][1]) for m in (a, b, c)}
    assert {a.generation, b.generation, c.joined().generation_id} == {3}
