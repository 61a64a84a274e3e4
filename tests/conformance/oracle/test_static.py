"""Static membership (KIP-345, KIP-814): instance ids, replacement without a rebalance, fencing, removal by an operator."""

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
    restarted,
    settled,
    statics,
    subscription,
    sync,
    takes,
)
from tests.support.waiting import until

JOIN = range(5, 10)  # the versions that know instance ids
BOTH = (("range", subscription("t")), ("sticky", subscription("t")))


# Joining


@pytest.mark.parametrize("version", JOIN)
def test_a_static_member_is_admitted_at_once(connect, group, version):
    answer = join(connect(), group, version=version, instance="i0")
    assert answer.member_id.startswith("i0-") and len(answer.member_id) >= len("i0-") + 22
    assert answer == reply(
        "JoinGroup",
        version,
        error_code=0,
        generation_id=1,
        protocol_type="consumer",
        protocol_name="range",
        leader=answer.member_id,
        skip_assignment=False,
        member_id=answer.member_id,
        members=(joiner(version, answer.member_id, RANGE[0][1], "i0"),),
    )


@pytest.mark.parametrize("version", JOIN)
def test_the_leader_is_told_who_is_static(connect, group, version):
    a, b, c = gathered(
        connect, group, *(Member(connect(), group, version=version, instance=i) for i in ("i0", None, "i2"))
    )
    assert set(a.answer.members) == {joiner(version, m.id, RANGE[0][1], m.instance) for m in (a, b, c)}


def test_a_new_instance_starts_a_rebalance(connect, group):
    a, b = statics(connect, group, "i0", "i1")
    c = Member(connect(), group, instance="i2")
    c.send_join()
    rebalancing(connect, group)
    assert (a.heartbeat(), b.heartbeat()) == (27, 27)
    c.parked()
    a.send_join()
    b.join()
    assert len(a.joined().members) == 3 and c.joined().generation_id == 3


def test_an_instance_id_belongs_to_its_group(connect, group):
    a, b = (statics(connect, name, "i0")[0] for name in (group, group + "-other"))
    assert (a.heartbeat(), b.heartbeat()) == (0, 0)
    assert heartbeat(a.client, group, 1, b.id, instance="i0") == 82
    assert left(leave(a.client, group + "-other", ("", "i0"))) == [("", "i0", 0)]
    assert (a.heartbeat(), b.heartbeat()) == (0, 25)


def test_an_id_told_to_a_dynamic_member_is_of_no_use_with_an_instance_id(connect, group):
    (a,) = settled(connect, group, 1)
    told = join(connect(), group).member_id
    assert join(connect(), group, told, instance="i0").error_code != 0
    assert [m.member_id for m in describe(a.client, group).members] == [a.id] and a.heartbeat() == 0


@pytest.mark.parametrize("version", [4, 5, 6])
def test_instance_ids_are_described(connect, group, version):
    a, b, c = gathered(connect, group, *(Member(connect(), group, instance=i) for i in ("i0", None, "i2")))
    assert {m.member_id: m.group_instance_id for m in describe(a.client, group, version).members} == {
        a.id: "i0",
        b.id: None,
        c.id: "i2",
    }


# A restart in Stable


@pytest.mark.parametrize("version", JOIN)
def test_a_follower_that_restarts_disturbs_nobody(connect, group, version):
    a, b = statics(connect, group, "i0", "i1", version=version)
    new = restarted(connect, b)
    assert new.join() == reply(
        "JoinGroup",
        version,
        error_code=0,
        generation_id=2,
        protocol_type="consumer",
        protocol_name="range",
        leader=a.id,
        skip_assignment=False,
        member_id=new.id,
        members=(),
    )
    assert new.id != b.id and new.id.startswith("i1-")
    assert (a.heartbeat(), new.heartbeat(), b.heartbeat()) == (0, 0, 82)
    assert reaches(a.client, group, "Stable").protocol_data == "range"


@pytest.mark.parametrize("version", JOIN[:-1])
def test_a_leader_that_restarts_is_told_its_old_id_as_leader_before_version_9(connect, group, version):
    a, b = statics(connect, group, "i0", "i1", version=version)
    new = restarted(connect, a)
    assert new.join() == reply(
        "JoinGroup",
        version,
        error_code=0,
        generation_id=2,
        protocol_type="consumer",
        protocol_name="range",
        leader=a.id,
        member_id=new.id,
        members=(),
    )
    assert (new.heartbeat(), b.heartbeat(), a.heartbeat()) == (0, 0, 82)
    assert b.join().leader == new.id  # it leads all the same
    new.send_join()
    rebalancing(connect, group)
    new.parked(0.05)
    assert b.heartbeat() == 27


def test_a_leader_that_restarts_is_told_the_members_and_to_skip_the_assignment_from_version_9(connect, group):
    a, b = statics(connect, group, "i0", "i1")
    new = restarted(connect, a)
    new.join()
    assert set(new.answer.members) == {joiner(9, new.id, RANGE[0][1], "i0"), joiner(9, b.id, RANGE[0][1], "i1")}
    assert (new.generation, new.leads(), new.answer.skip_assignment, new.answer.protocol_name) == (
        2,
        True,
        True,
        "range",
    )
    assert (new.heartbeat(), b.heartbeat(), a.heartbeat()) == (0, 0, 82)


@pytest.mark.parametrize("version", [8, 9])
def test_a_restarted_member_takes_over_the_assignment(connect, group, version):
    old = statics(connect, group, "i0", "i1", version=version)
    new = [restarted(connect, m) for m in old]
    for m in new:
        m.join()
    assert [m.sync().assignment for m in new] == [b"0", b"1"]
    assert {m.member_id: m.member_assignment for m in describe(connect(), group).members} == {
        new[0].id: b"0",
        new[1].id: b"1",
    }


def test_a_restart_with_another_subscription_is_noted_and_starts_no_rebalance(connect, group):
    a, b = statics(connect, group, "i0", "i1")
    new = restarted(connect, b, protocols=OTHER)
    new.join()
    assert (new.generation, a.heartbeat()) == (2, 0)
    assert {m.member_id: m.member_metadata for m in describe(a.client, group).members} == {
        a.id: RANGE[0][1],
        new.id: OTHER[0][1],
    }
    newer = restarted(connect, a)
    newer.join()
    assert newer.listed() == {newer.id: RANGE[0][1], new.id: OTHER[0][1]}


def test_a_restart_that_changes_the_chosen_protocol_starts_a_rebalance(connect, group):
    a, b = statics(connect, group, "i0", "i1", protocols=BOTH)
    assert a.answer.protocol_name == "range"
    new = restarted(connect, b, protocols=BOTH[1:])
    new.send_join()
    rebalancing(connect, group)
    assert (a.heartbeat(), b.heartbeat()) == (27, 82)
    new.parked()
    a.join()
    assert (a.answer.protocol_name, a.generation, new.joined().generation_id) == ("sticky", 3, 3)


def test_a_follower_with_its_own_id_is_answered_at_once_and_a_leader_starts_a_rebalance(connect, group):
    a, b = statics(connect, group, "i0", "i1")
    old = b.id
    assert (b.join().generation_id, b.id, a.heartbeat()) == (2, old, 0)
    a.send_join()
    rebalancing(connect, group)
    a.parked()
    assert b.heartbeat() == 27
    b.join()
    assert a.joined().generation_id == 3 and a.leads()


def test_every_restart_gives_another_id_and_one_member_remains(connect, group):
    (a,) = statics(connect, group, "i0")
    c = connect()
    ids = [a.id] + [join(c, group, instance="i0").member_id for _ in range(20)]
    assert len(set(ids)) == 21
    assert [m.member_id for m in describe(c, group).members] == ids[-1:]


# Fencing


def test_a_replaced_id_is_fenced_by_every_request_that_names_the_instance(connect, group):
    a, b = statics(connect, group, "i0", "i1")
    restarted(connect, b).join()
    c = connect()
    assert {heartbeat(c, group, 2, b.id, version=v, instance="i1") for v in (3, 4)} == {82}
    for v in (3, 4, 5):
        assert sync(c, group, 2, b.id, version=v, instance="i1") == refused_sync(v, 82)
        assert left(leave(c, group, (b.id, "i1"), version=v)) == [(b.id, "i1", 82)]
    for v in JOIN:
        assert join(c, group, b.id, version=v, instance="i1") == refused_join(v, 82, b.id)
    assert len(describe(c, group).members) == 2 and a.heartbeat() == 0


def test_a_parked_join_is_told_that_it_is_fenced_when_its_instance_joins_again(connect, group):
    (a,) = statics(connect, group, "i0")
    b = Member(connect(), group, instance="i1")
    b.send_join()
    rebalancing(connect, group)
    new = restarted(connect, b)
    new.send_join()
    answer = b.client.recv()
    assert answer == refused_join(9, 82, answer.member_id) and answer.member_id.startswith("i1-")
    new.parked()
    a.join()
    assert set(a.listed()) == {a.id, new.joined().member_id} and new.id != answer.member_id


def test_a_replaced_id_without_its_instance_is_unknown(connect, group):
    _, b = statics(connect, group, "i0", "i1")
    restarted(connect, b).join()
    c = connect()
    assert heartbeat(c, group, 2, b.id) == heartbeat(c, group, 2, b.id, version=0) == 25
    assert sync(c, group, 2, b.id) == refused_sync(5, 25)
    assert join(c, group, b.id) == refused_join(9, 25, b.id)
    assert left(leave(c, group, (b.id, None))) == [(b.id, None, 25)]


def test_an_unknown_instance_a_fenced_instance_and_an_unknown_member_are_told_in_this_order_before_the_generation(
    connect, group
):
    a, b = gathered(connect, group, Member(connect(), group, instance="i0"), Member(connect(), group))
    assigned((a, b))
    c = connect()
    for member_id, instance, code in (
        (a.id, "i9", 25),
        ("who", "i9", 25),
        ("who", "i0", 82),
        (b.id, "i0", 82),
        (b.id, "i9", 25),
        ("who", None, 25),
    ):
        assert heartbeat(c, group, 7, member_id, instance=instance) == code
        assert sync(c, group, 7, member_id, instance=instance, protocol_name="no") == refused_sync(5, code)
        assert join(c, group, member_id, instance=instance) == refused_join(9, code, member_id)
        assert left(leave(c, group, (member_id, instance))) == [(member_id, instance, code)]
    assert heartbeat(c, group, 7, a.id, instance="i0") == 22
    assert (a.heartbeat(), b.heartbeat()) == (0, 0)


def test_a_static_member_that_names_only_its_member_id_is_known(connect, group):
    a, b = statics(connect, group, "i0", "i1")
    assert heartbeat(b.client, group, 2, b.id) == heartbeat(b.client, group, 2, b.id, version=1) == 0
    assert sync(b.client, group, 2, b.id, version=2).assignment == b"1"
    assert left(leave(b.client, group, (b.id, None))) == [(b.id, None, 0)]
    assert (b.heartbeat(), a.heartbeat()) == (25, 27)


def test_a_fenced_member_that_beats_on_does_its_successor_no_harm(connect, group):
    a, b = statics(connect, group, "i0", "i1")
    new = restarted(connect, b)
    new.join()
    for _ in range(3):
        assert (b.heartbeat(), b.sync().error_code, b.leave()) == (82, 82, [(b.id, "i1", 82)])
        assert (new.heartbeat(), new.sync().assignment, a.heartbeat()) == (0, b"1", 0)


# Leaving, and being silent


@pytest.mark.parametrize("version", [3, 4, 5])
def test_an_operator_removes_static_members_by_instance_id_alone(connect, group, version):
    a, b, c = statics(connect, group, "i0", "i1", "i2")
    assert left(
        leave(connect(), group, ("", "i1"), ("", "i9"), ("", None), ("", "i2"), ("", "i1"), version=version)
    ) == [("", "i1", 0), ("", "i9", 25), ("", None, 25), ("", "i2", 0), ("", "i1", 25)]
    assert (a.heartbeat(), b.heartbeat(), c.heartbeat()) == (27, 25, 25)
    assert list(a.join().members) == [joiner(9, a.id, RANGE[0][1], "i0")]


def test_an_instance_that_left_comes_back_as_a_new_member(connect, group):
    a, b = statics(connect, group, "i0", "i1")
    assert b.leave() == [(b.id, "i1", 0)]
    new = restarted(connect, b)
    new.send_join()
    rebalancing(connect, group)
    new.parked()
    assert a.heartbeat() == 27
    a.join()
    assert (a.generation, new.joined().generation_id) == (3, 3)
    assert set(a.listed()) == {a.id, new.id}


def test_a_static_member_that_does_not_come_back_in_time_stays_with_its_old_subscription(connect, group):
    a, b = statics(connect, group, "i0", "i1", rebalance=1_500)
    c = Member(connect(), group, rebalance=1_500)
    with takes(1.4, 5):
        c.send_join()
        rebalancing(connect, group)
        a.send_join(protocols=OTHER)
        a.joined()
    assert a.listed() == {a.id: OTHER[0][1], b.id: RANGE[0][1], c.joined().member_id: RANGE[0][1]}
    assert (b.heartbeat(), b.heartbeat(3)) == (22, 0)
    assert b.join().generation_id == 3
    assert [x.assignment for x in assigned((a, b, c))] == [b"0", b"1", b"2"]


@pytest.mark.slow
def test_a_silent_static_member_is_removed_when_its_session_ends(connect, group):
    a, b = gathered(
        connect, group, Member(connect(), group, instance="i0"), Member(connect(), group, instance="i1", session=6_000)
    )
    assigned((a, b))
    with takes(5.5, 9):
        until(lambda: a.heartbeat() == 27, within_s=9)
    assert b.heartbeat() == 25
    assert list(a.join().members) == [joiner(9, a.id, RANGE[0][1], "i0")]
