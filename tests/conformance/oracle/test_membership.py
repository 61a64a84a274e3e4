"""Classic membership of dynamic members after they joined: SyncGroup 0-5, Heartbeat 0-4, LeaveGroup 0-5, states and timers.

Rows of a decision table are tested in its order of checks; where a request has two faults, the test says which one is told.
"""

import pytest

from tests.conformance.oracle.members import (
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
    sync,
    takes,
)
from tests.support.waiting import until

SYNC, HEARTBEAT, LEAVE = range(6), range(5), range(6)  # versions


# SyncGroup


@pytest.mark.parametrize("version", SYNC)
def test_a_sync_of_any_version_gives_leader_and_follower_their_assignments(connect, group, version):
    a, b = gathered(
        connect, group, Member(connect(), group, sync_version=version), Member(connect(), group, sync_version=version)
    )
    answers = assigned((a, b), {a.id: b"for a", b.id: b"for b"})
    assert answers == [
        reply("SyncGroup", version, error_code=0, protocol_type="consumer", protocol_name="range", assignment=what)
        for what in (b"for a", b"for b")
    ]


@pytest.mark.parametrize("version", SYNC)
def test_a_refused_sync_has_an_empty_assignment_and_no_protocol(connect, group, version):
    c = connect()
    assert sync(c, group, 1, "who", version=version) == refused_sync(version, 25)
    assert sync(c, "", 1, "who", version=version) == refused_sync(version, 24)


@pytest.mark.parametrize("lacking", ["protocol_type", "protocol_name"])
def test_a_sync_without_protocol_type_or_name_is_refused_before_anything_else(connect, group, lacking):
    (a,) = gathered(connect, group, Member(connect(), group))
    assert a.sync(**{lacking: None}) == refused_sync(5, 23)
    assert sync(a.client, "", 7, "who", **{lacking: None}) == refused_sync(5, 23)
    assert a.sync({a.id: b"mine"}).assignment == b"mine"


def test_an_unknown_member_is_told_before_a_wrong_generation_and_that_before_a_wrong_protocol(connect, group):
    (a,) = settled(connect, group, 1)
    assert sync(a.client, group, 7, "who", protocol_name="roundrobin") == refused_sync(5, 25)
    for generation in (-1, 0, 2):
        assert a.sync(generation=generation, protocol_name="roundrobin") == refused_sync(5, 22)
    assert a.sync(protocol_name="roundrobin") == refused_sync(5, 23)
    assert a.sync(protocol_type="connect") == refused_sync(5, 23)
    assert a.sync().assignment == b"0"


def test_followers_that_sync_first_wait_for_the_leader(connect, group):
    a, b, c = gathered(connect, group, *(Member(connect(), group) for _ in range(3)))
    b.send_sync()
    c.send_sync()
    b.parked()
    c.parked(0.05)
    assert describe(a.client, group).group_state == "CompletingRebalance"
    assert a.sync({a.id: b"a", b.id: b"b", c.id: b"c"}).assignment == b"a"
    assert (b.client.recv().assignment, c.client.recv().assignment) == (b"b", b"c")
    assert describe(a.client, group).group_state == "Stable"


def test_the_assignments_that_a_follower_sends_are_ignored(connect, group):
    a, b = gathered(connect, group, Member(connect(), group), Member(connect(), group))
    b.send_sync({a.id: b"stolen", b.id: b"all"})
    b.parked()
    assert a.sync({a.id: b"a", b.id: b"b"}).assignment == b"a"
    assert b.client.recv().assignment == b"b"


def test_a_member_that_the_leader_left_out_gets_zero_bytes(connect, group):
    x = {"protocol_type": "x", "protocols": (("p", b"\x00"),)}
    a, b = gathered(connect, group, Member(connect(), group, **x), Member(connect(), group, **x))
    assert [s.assignment for s in assigned((a, b), {a.id: b"everything"})] == [b"everything", b""]


def test_a_consumer_that_the_leader_left_out_gets_no_partitions(connect, group):
    a, b = gathered(connect, group, Member(connect(), group), Member(connect(), group))
    nothing = assigned((a, b), {a.id: b"everything"})[1].assignment
    assert nothing == b"" or nothing[2:6] == bytes(4)  # zero bytes, or an assignment that decodes to no topics


def test_an_assignment_for_a_stranger_is_dropped(connect, group):
    (a,) = gathered(connect, group, Member(connect(), group))
    assert a.sync({"stranger": b"x", a.id: b"mine"}).assignment == b"mine"
    assert [m.member_id for m in describe(a.client, group).members] == [a.id]
    assert sync(a.client, group, 1, "stranger") == refused_sync(5, 25)


def test_a_sync_in_stable_repeats_the_assignment_even_if_the_leader_sends_another(connect, group):
    a, b = settled(connect, group)
    assert a.sync({a.id: b"new", b.id: b"new"}).assignment == b"0"
    assert (b.sync().assignment, b.sync(version=0).assignment) == (b"1", b"1")


def test_long_metadata_and_assignments_pass_unchanged(connect, group):
    metadata, what = bytes(range(256)) * 400, bytes(range(255, -1, -1)) * 1_200
    x = {"protocol_type": "x", "protocols": (("p", metadata),)}
    a, b = gathered(connect, group, Member(connect(), group, **x), Member(connect(), group, **x))
    assert a.listed()[b.id] == metadata
    assert assigned((a, b), {b.id: what})[1].assignment == what


# Heartbeat


@pytest.mark.parametrize("version", HEARTBEAT)
def test_a_heartbeat_of_any_version_tells_the_fault_or_none(connect, group, version):
    (a,) = settled(connect, group, 1)
    assert [
        heartbeat(a.client, g, generation, m, version=version)
        for g, generation, m in (
            (group, 1, a.id),
            ("", 1, a.id),
            (group + "-unknown", 1, a.id),
            (group, 7, "who"),
            (group, 1, ""),
            (group, 0, a.id),
            (group, 2, a.id),
            (group, -1, a.id),
        )
    ] == [0, 24, 25, 25, 25, 22, 22, 22]


def test_a_heartbeat_while_completing_is_good(connect, group):
    a, b = gathered(connect, group, Member(connect(), group), Member(connect(), group))
    assert (a.heartbeat(), b.heartbeat(), a.heartbeat(1)) == (0, 0, 22)


def test_a_member_told_illegal_generation_keeps_its_id(connect, group):
    _, b = settled(connect, group)
    assert (b.heartbeat(1), b.heartbeat(3)) == (22, 22)
    assert b.join().generation_id == 2 and b.heartbeat() == 0


def test_a_member_that_left_is_unknown_to_an_empty_group(connect, group):
    (a,) = settled(connect, group, 1)
    a.leave()
    reaches(a.client, group, "Empty", 0)
    assert (a.heartbeat(), a.sync().error_code, a.leave()) == (25, 25, [(a.id, None, 25)])
    assert join(a.client, group, a.id) == refused_join(9, 25, a.id)


# LeaveGroup


@pytest.mark.parametrize("version", LEAVE)
def test_a_leave_of_any_version_takes_effect(connect, group, version):
    a, b = settled(connect, group)
    answer = leave(b.client, group, b.id if version < 3 else (b.id, None), version=version)
    assert answer.error_code == 0 and (version < 3 or left(answer) == [(b.id, None, 0)])
    assert (b.heartbeat(), a.heartbeat()) == (25, 27)
    assert list(a.join().members) == [joiner(9, a.id, RANGE[0][1])]


@pytest.mark.parametrize("version", LEAVE)
def test_a_leave_that_fails_is_told_at_the_top_before_version_3_and_by_row_from_then_on(connect, group, version):
    who = "who" if version < 3 else ("who", None)
    settled(connect, group, 1)
    for name in (group, group + "-unknown"):
        answer = leave(connect(), name, who, version=version)
        assert answer.error_code == 25 if version < 3 else left(answer) == [("who", None, 25)]
    assert leave(connect(), "", who, version=version) == reply("LeaveGroup", version, error_code=24, members=())


def test_several_members_leave_in_one_request_and_each_has_its_answer_in_order(connect, group):
    a, b, c = settled(connect, group, 3)
    answer = leave(
        connect(),
        group,
        ("who", None),
        (c.id, None),
        ("", None),
        (b.id, None),
        (c.id, None),
        (a.id, "unknown"),
        reason="test",
    )
    assert left(answer) == [
        ("who", None, 25),
        (c.id, None, 0),
        ("", None, 25),
        (b.id, None, 0),
        (c.id, None, 25),
        (a.id, "unknown", 25),
    ]
    assert (a.heartbeat(), b.heartbeat(), c.heartbeat()) == (27, 25, 25)
    assert (a.join().generation_id, len(a.answer.members)) == (3, 1)


@pytest.mark.parametrize("version", [3, 5])
def test_a_leave_of_nobody_changes_nothing(connect, group, version):
    (a,) = settled(connect, group, 1)
    assert left(leave(a.client, group, version=version)) == []
    assert a.heartbeat() == 0


def test_the_last_to_leave_empties_the_group_and_uses_up_a_generation(connect, group):
    a, b = settled(connect, group)
    assert left(leave(connect(), group, (a.id, None), (b.id, None))) == [(a.id, None, 0), (b.id, None, 0)]
    seen = reaches(a.client, group, "Empty", 0)
    assert (seen.protocol_type, seen.protocol_data) == ("consumer", "")
    assert Member(connect(), group).join().generation_id == 4


def test_when_the_leader_leaves_another_member_leads(connect, group):
    a, b, c = settled(connect, group, 3)
    a.leave()
    b.send_join()
    b.parked()
    c.join()
    b.joined()
    assert [b.leads(), c.leads()].count(True) == 1 and b.answer.leader == c.answer.leader
    leader = b if b.leads() else c
    assert set(leader.listed()) == {b.id, c.id}


def test_a_member_that_leaves_while_others_wait_lets_the_join_phase_end(connect, group):
    a, b = settled(connect, group)
    a.send_join()
    a.parked()
    assert b.leave() == [(b.id, None, 0)]
    assert list(a.joined().members) == [joiner(9, a.id, RANGE[0][1])]


def test_a_member_removed_while_its_join_is_parked_is_told_that_it_is_unknown(connect, group):
    a, b = settled(connect, group)
    a.send_join()
    rebalancing(connect, group)
    assert left(leave(connect(), group, (a.id, None))) == [(a.id, None, 0)]
    assert a.client.recv() == refused_join(9, 25)
    assert b.join().generation_id == 3 and b.leads()


# What an operator sees


def test_each_state_is_described_as_it_is(connect, group):
    watch, a, b = connect(), Member(connect(), group), Member(connect(), group)

    def seen(state):
        d = reaches(watch, group, state)
        return (
            d.protocol_type,
            d.protocol_data,
            sorted((m.member_id, m.member_metadata, m.member_assignment) for m in d.members),
        )

    assert seen("Dead") == ("", "", [])
    a.take_id()
    assert seen("Empty") == ("", "", [])
    a.join()
    assert seen("CompletingRebalance") == ("consumer", "", [(a.id, b"", b"")])
    a.sync({a.id: b"mine"})
    assert seen("Stable") == ("consumer", "range", [(a.id, RANGE[0][1], b"mine")])
    b.send_join()
    assert seen("PreparingRebalance") == ("consumer", "", sorted([(a.id, b"", b"mine"), (b.id, b"", b"")]))
    a.join()
    b.joined()
    assert seen("CompletingRebalance") == ("consumer", "", sorted([(a.id, b"", b"mine"), (b.id, b"", b"")]))


def test_a_member_is_described_with_its_client(connect, group):
    a = Member(connect(), group, client_id="billing")
    a.join()
    m = describe(a.client, group).members[0]
    assert (m.client_id, m.client_host, m.group_instance_id) == ("billing", "/127.0.0.1", None)
    assert a.id.startswith("billing-")


# Timers. A rebalance timeout may be short, a session may not.


def test_dynamic_members_that_do_not_come_back_are_dropped_at_the_rebalance_timeout(connect, group):
    a, b, c = settled(connect, group, 3, rebalance=1_500)
    with takes(1.4, 5):
        a.send_join()
        rebalancing(connect, group)
        b.send_join()
        assert set(a.joined().members) == {joiner(9, m.id, RANGE[0][1]) for m in (a, b)}
    assert b.joined().generation_id == 3
    assert (c.heartbeat(), b.heartbeat()) == (25, 0)


def test_a_member_that_beats_but_never_syncs_is_removed_at_the_rebalance_timeout(connect, group):
    """https://issues.apache.org/jira/browse/KAFKA-12890"""
    a, b = gathered(connect, group, *(Member(connect(), group, rebalance=1_500) for _ in range(2)))
    with takes(1, 5):
        assert a.sync({a.id: b"a", b.id: b"b"}).assignment == b"a"
        assert (a.heartbeat(), b.heartbeat()) == (0, 0)
        until(lambda: a.heartbeat() == 27)
    assert b.heartbeat() == 25
    assert len(a.join().members) == 1


@pytest.mark.slow
def test_a_silent_member_is_removed_when_its_session_ends_and_one_that_beats_is_not(connect, group):
    """https://github.com/dpkp/kafka-python/issues/2610
    https://github.com/dpkp/kafka-python/issues/2617
    https://github.com/karafka/karafka/issues/538
    https://github.com/zendesk/ruby-kafka/issues/767
    """
    a, b = settled(connect, group, 2, session=6_000)
    with takes(5.5, 9):
        assert until(b.heartbeat, within_s=9) == 27
    assert a.heartbeat() == 25
    assert join(a.client, group, a.id) == refused_join(9, 25, a.id)
    assert b.join().generation_id == 3 and b.leads() and len(b.answer.members) == 1


@pytest.mark.slow
def test_a_session_that_ends_while_others_wait_lets_the_join_phase_end(connect, group):
    """https://github.com/redpanda-data/redpanda/issues/3300
    https://github.com/streamnative/kop/issues/380
    """
    a, b = gathered(connect, group, Member(connect(), group), Member(connect(), group, session=6_000))
    assigned((a, b))
    with takes(5.5, 9):
        a.send_join()
        a.joined()
    assert list(a.listed()) == [a.id] and b.heartbeat() == 25


@pytest.mark.slow
def test_a_member_whose_join_is_parked_outlives_its_session(connect, group):
    a, b = gathered(connect, group, Member(connect(), group, session=6_000), Member(connect(), group))
    assigned((a, b))
    a.send_join()
    a.parked(7.5)
    b.join()
    assert set(a.joined().members) == {joiner(9, m.id, RANGE[0][1]) for m in (a, b)}
    assert a.heartbeat() == 0


@pytest.mark.slow
def test_a_join_of_version_0_uses_its_session_as_rebalance_timeout(connect, group):
    a, b = settled(connect, group, 2, version=0, session=6_000)
    with takes(5.5, 9):
        a.send_join()
        rebalancing(connect, group)
        until(lambda: b.heartbeat() == 25, within_s=9)  # alive all the time, and yet dropped
    assert list(a.joined().members) == [joiner(0, a.id, RANGE[0][1])]
