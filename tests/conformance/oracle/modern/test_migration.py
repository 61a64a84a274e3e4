"""Groups that change between the classic protocol and KIP-848, in both directions, and groups in which members of both live.

The migration policy is the default one, which is bidirectional.
"""

import pytest

from tests.conformance.oracle.modern import groups
from tests.conformance.oracle.modern.groups import SESSION, assignment, settle
from tests.support.waiting import until

SETTINGS = groups.SETTINGS


# From classic to consumer


def test_the_first_modern_member_turns_a_classic_group_into_a_consumer_group(cg, topic):
    t = topic(4)
    (k,) = cg.classic_members([t], {t: [0, 1, 2, 3]})
    assert cg.listed() == ("Stable", "classic")
    m = cg.joined(t)
    assert (k.generation, m.epoch, m.told, m.held) == (1, 2, True, {})
    assert (cg.listed(), cg.seen()) == (("Reconciling", "consumer"), ("Reconciling", 2, 2))
    assert (cg.shown(k).member_type, cg.shown(k).member_epoch, cg.shown(k).subscribed_topic_names) == (0, 1, (t,))
    assert [p.partitions for p in cg.shown(k).assignment.topic_partitions] == [(0, 1, 2, 3)]
    assert cg.shown(m).member_type == 1
    assert cg.describe_classic().error_code == 69


def test_a_classic_member_is_told_to_rejoin_until_it_gave_up_what_it_must(cg, topic):
    t = topic(4)
    (k,) = cg.classic_members([t], {t: [0, 1, 2, 3]})
    m = cg.joined(t)
    assert (k.beat(), k.beat()) == (27, 27)
    k.sync(error=27)
    assert (k.rejoin(), k.generation) == ({t: [0, 1]}, 1)  # it came with all four
    assert (m.beat().assignment, k.beat()) == (None, 27)
    assert (k.rejoin(), k.generation, k.beat()) == ({t: [0, 1]}, 2, 0)
    m.beat()
    assert (m.held, k.beat(), cg.seen()) == ({t: [2, 3]}, 0, ("Stable", 2, 2))


def test_a_classic_member_that_comes_with_nothing_needs_one_round(cg, topic):
    t = topic(4)
    (k,) = cg.classic_members([t], {t: [0, 1, 2, 3]})
    m = cg.joined(t)
    k.held = {}
    assert (k.rejoin(), k.generation, k.beat()) == ({t: [0, 1]}, 2, 0)
    m.beat()
    assert m.held == {t: [2, 3]}


def test_an_upgrade_bumps_the_epoch_once(cg, topic):
    t = topic(2)
    cg.classic_members([t], {t: [0, 1]})
    m = cg.joined(t)
    for _ in range(3):
        m.ack()
    assert (m.epoch, cg.seen()) == (2, ("Reconciling", 2, 2))


def test_members_without_partitions_do_not_stop_an_upgrade(cg, topic):
    t = topic(1)
    k, idle, mute = cg.classic_members([t], {t: [0]}, {}, b"")
    m = cg.joined(t)
    assert (m.epoch, len(cg.describe().members)) == (3, 4)
    assert (idle.rejoin(), mute.rejoin(), k.rejoin()) == ({}, {}, {t: [0]})
    assert {x.generation for x in (k, idle, mute)} == {3}
    assert (m.beat().assignment, cg.seen()[0]) == (None, "Stable")


@pytest.mark.parametrize("data", [b"", b"\0", b"custom"], ids=repr)
def test_user_data_in_an_assignment_forbids_the_upgrade_and_disturbs_nobody(cg, topic, data):
    t = topic(2)
    (k,) = cg.classic_members([t], assignment({t: [0, 1]}, user_data=data))
    cg.member(t).join(69 if data else 0)
    assert (k.beat(), cg.listed()[1]) == ((0, "classic") if data else (27, "consumer"))


def test_an_assignment_that_cannot_be_read_forbids_the_upgrade(cg, topic):
    t = topic(2)
    (k,) = cg.classic_members([t], b"\0")
    cg.member(t).join(69)
    assert (k.beat(), cg.listed()) == (0, ("Stable", "classic"))


def test_a_group_of_another_protocol_type_is_not_upgraded(cg):
    k = cg.classic()
    k.join(protocol_type="connect")
    cg.member("no-such-topic").join(69)
    assert (k.beat(), cg.listed()) == (0, ("CompletingRebalance", "classic"))


def test_only_a_join_upgrades(cg, topic):
    t = topic(2)
    (k,) = cg.classic_members([t], {t: [0, 1]})
    m = cg.member(t, instance="i")
    m.beat(69, member_epoch=1)
    m.beat(69, member_epoch=1, member_id=k.id)
    m.leave(error=69)
    m.leave(-2, error=69)
    m.join(128, subscribed_topic_regex="(")
    m.join(112, server_assignor="nobody's")
    assert (k.beat(), cg.listed()) == (0, ("Stable", "classic"))


def test_a_parked_join_is_answered_when_the_group_is_upgraded(cg, topic):
    t = topic(2)
    (k,) = cg.classic_members([t], {t: [0, 1]})
    late = cg.classic(t)
    late.ask_id()
    late.send_join()
    until(lambda: cg.listed() == ("PreparingRebalance", "classic"))
    m = cg.joined(t)
    assert late.recv_join(27).member_id == late.id
    assert (late.rejoin(), late.generation) == ({}, m.epoch)
    assert (k.beat(), cg.shown(late).member_type, len(cg.describe().members)) == (27, 0, 3)


def test_an_empty_classic_group_becomes_a_consumer_group_that_keeps_its_offsets(cg, topic):
    t = topic(2)
    (k,) = cg.classic_members([t], {t: [0, 1]})
    assert (cg.commit(t, k, 5, version=8), k.leave(), cg.listed()) == (0, 0, ("Empty", "classic"))
    m = cg.joined(t)
    assert (m.epoch, m.held, cg.listed(), cg.committed(t, m)) == (1, {t: [0, 1]}, ("Stable", "consumer"), 5)


def test_offsets_from_before_any_member_are_kept(cg, topic):
    t = topic()
    assert (cg.commit(t, offset=8), cg.listed()) == (0, ("Empty", "classic"))
    m = cg.joined(t)
    assert (m.epoch, cg.listed(), cg.committed(t, m)) == (1, ("Stable", "consumer"), 8)


# Classic members among modern ones


def test_a_classic_member_joins_a_consumer_group_without_leading_it(cg, topic):
    t = topic(4)
    m = cg.joined(t)
    k = cg.classic(t, protocols=("roundrobin", "range"))
    k.ask_id()
    assert (cg.seen(), len(cg.describe().members)) == (("Stable", 1, 1), 1)
    answer = k.join()
    assert (answer.generation_id, answer.protocol_type, answer.protocol_name, answer.leader, answer.members) == (
        2,
        "consumer",
        "roundrobin",
        "",
        (),
    )
    k.sync()
    assert (k.held, k.beat(), cg.shown(k).member_epoch) == ({}, 0, 2)
    settle(m)
    assert (m.epoch, m.held, k.beat()) == (2, {t: [0, 1]}, 27)  # what it waits for is free now
    assert (k.rejoin(), k.generation, k.beat(), cg.seen()) == ({t: [2, 3]}, 2, 0, ("Stable", 2, 2))


def test_a_classic_join_that_does_not_fit_is_refused(cg, topic):
    t = topic(2)
    cg.joined(t)
    cg.classic(t).join(23, protocol_type="connect")
    cg.classic(t, protocols=()).join(23)
    assert cg.seen() == ("Stable", 1, 1)
    cg.classic(t, protocols=("range", "mine")).rejoin()
    cg.classic(t, protocols=("roundrobin",)).join(23)
    cg.classic(t, protocols=("roundrobin", "mine")).rejoin()
    cg.classic(t, protocols=("range",)).join(23)  # "mine" is all that is common now
    assert len(cg.describe().members) == 3


@pytest.mark.parametrize(
    ("fault", "error", "told"),
    [
        ({"protocol_type": "connect"}, 23, ""),
        ({"protocols": []}, 23, ""),
        ({"group_instance_id": "nobody's"}, 25, ""),
        ({"group_instance_id": "i"}, 82, ""),
        ({"session_timeout": 1}, 26, "who"),
        ({"group_id": ""}, 24, "who"),
    ],
)
def test_a_classic_join_that_is_refused_names_nobody_unless_the_request_itself_is_wrong(cg, topic, fault, error, told):
    t = topic(2)
    cg.joined(t, instance="i")
    k = cg.classic(t, id="who")
    k.send_join(**fault)
    answer = k.recv_join(error)
    assert (answer.member_id, answer.generation_id, answer.leader) == (told, -1, "")


def test_a_classic_member_may_bring_any_id_even_that_of_a_modern_member(cg, topic):
    t = topic(2)
    m, n = cg.joined(t), cg.joined(t)
    k = cg.classic(t, id="brought")
    k.join()
    assert (k.id, k.generation, len(cg.describe().members)) == ("brought", 3, 3)
    k = cg.classic(t, id=m.id)
    k.join()
    assert (k.id, k.generation, cg.shown(k).member_type, len(cg.describe().members)) == (m.id, 3, 0, 3)
    assert n.beat().error_code == 0


def test_below_version_4_a_classic_member_needs_no_id(cg, topic):
    t = topic(2)
    cg.joined(t)
    k = cg.classic(t)
    k.send_join(version=3)
    k.recv_join()
    assert k.id and (k.generation, cg.shown(k).member_type) == (2, 0)


def test_heartbeat_and_sync_of_a_classic_member_are_checked_like_in_a_classic_group(cg, topic):
    t = topic(2)
    m = cg.joined(t)
    k = cg.classic(t)
    k.rejoin()
    m.beat()
    m.ack()
    k.rejoin()
    assert [k.beat(generation_id=g) for g in (1, 3)] == [22, 22]
    assert [k.beat(member_id=i) for i in ("who", m.id)] == [25, 25]
    assert k.beat(group_instance_id="i") == 25
    k.sync(error=22, generation_id=1)
    k.sync(error=23, protocol_name="roundrobin")
    k.sync(error=23, protocol_type="connect")
    k.sync(error=25, member_id="who")
    k.sync(error=25, member_id=m.id)
    assert (k.beat(), m.beat().assignment) == (0, None)


def test_commits_in_a_mixed_group_are_checked_by_the_kind_of_member(cg, topic):
    t = topic(2)
    (k,) = cg.classic_members([t], {t: [0, 1]})
    assert cg.commit(t, k, 3, version=8) == 0
    m = cg.joined(t)
    assert cg.committed(t) == 3
    assert [cg.commit(t, k, 4, version=8), cg.commit(t, k, 5, version=9)] == [0, 0]
    assert [cg.commit(t, k, version=version, epoch=epoch) for version in (8, 9) for epoch in (0, 2)] == [22] * 4
    assert [cg.commit(t, m, epoch=1), cg.commit(t, m, version=8), cg.commit(t)] == [113, 35, 25]
    assert cg.committed(t, k) == 5
    cg.committed(t, k, 22, epoch=2)
    cg.committed(t, m, 113, epoch=1)


def test_a_classic_member_that_reads_another_topic_bumps_the_epoch(cg, topic):
    t, u = topic(2), topic(2)
    m = cg.joined(t)
    k = cg.classic(t)
    k.rejoin()
    settle(m)
    assert k.rejoin() == {t: [1]}
    k.topics = [u]
    assert k.rejoin() == {}
    assert (cg.seen()[1], cg.shown(k).subscribed_topic_names) == (3, (u,))
    k.rejoin()
    settle(m)
    assert (k.held, k.generation, m.epoch, m.held) == ({u: [0, 1]}, 3, 3, {t: [0, 1]})


def test_what_a_classic_leaver_held_goes_to_modern_members(cg, topic):
    t = topic(2)
    (k,) = cg.classic_members([t], {t: [0, 1]})
    m = cg.joined(t)
    assert k.leave() == 0
    m.beat()
    assert (m.epoch, m.held, k.beat(), cg.seen()) == (3, {t: [0, 1]}, 25, ("Stable", 3, 3))


# Static members that change the protocol


def test_a_static_classic_member_comes_back_modern_with_its_share(cg, topic):
    t = topic(4)
    k, other = cg.classic_members([t], {t: [0, 1]}, {t: [2, 3]}, instances=["i", "j"])
    m = cg.joined(t, instance="i")
    assert (m.epoch, m.held, cg.seen()) == (2, {t: [0, 1]}, ("Stable", 2, 2))
    assert (k.generation, k.beat(), k.beat(group_instance_id=None), other.beat()) == (2, 82, 25, 0)


def test_a_static_modern_member_comes_back_classic_with_its_share(cg, topic):
    t = topic(4)
    a, b = cg.joined(t, instance="i"), cg.joined(t)
    settle(a, b)
    k = cg.classic(t, instance="i")
    k.join()
    k.sync()
    assert (k.generation, k.held, k.beat(), b.beat().assignment) == (2, {t: [0, 1]}, 0, None)
    a.beat(82, instance_id="i")
    a.beat(25)
    again = cg.classic(t, instance="i")
    again.join()
    assert (k.beat(), again.generation, cg.seen()) == (82, 2, ("Stable", 2, 2))
    cg.classic(t, id="who", instance="i").join(82)
    cg.classic(t, id="who", instance="u").join(25)


# From consumer to classic


def test_the_only_static_modern_member_comes_back_classic_and_the_group_with_it(cg, topic):
    t = topic(2)
    a = cg.joined(t, instance="i")
    k = cg.classic(t, instance="i")
    k.join()
    assert (k.generation, cg.listed()) == (1, ("Stable", "classic"))
    k.sync()
    assert (k.held, k.beat()) == ({t: [0, 1]}, 0)
    a.beat(69)


def test_a_group_is_classic_again_when_its_last_modern_member_is_gone(cg, topic):
    t = topic(2)
    k, late = cg.classic_members([t], {t: [0, 1]}, {})
    m = cg.joined(t)
    k.held = {}
    k.rejoin()
    assert (k.generation, late.generation, cg.commit(t, m, 7)) == (3, 2, 0)
    assert cg.remove((m.id, None)) == [(m.id, None, 0)]
    assert cg.listed() == ("PreparingRebalance", "classic")
    assert (k.beat(), late.beat()) == (27, 22)  # the generation is the epoch that the group had
    k.send_join()
    late.send_join()
    assert k.recv_join().generation_id == late.recv_join().generation_id == 4
    leader, follower = (k, late) if k.leader == k.id else (late, k)
    assert follower.leader == leader.id
    leader.sync({k.id: {t: [0]}, late.id: {t: [1]}})
    follower.sync()
    assert (k.held, late.held, cg.listed(), cg.committed(t)) == ({t: [0]}, {t: [1]}, ("Stable", "classic"), 7)
    m.beat(69)


def test_an_empty_consumer_group_becomes_a_classic_group_that_keeps_its_offsets(cg, topic):
    t = topic(2)
    m = cg.joined(t)
    assert cg.commit(t, m, 7) == 0
    m.leave()
    k = cg.classic(t)
    answer = k.join()
    assert (answer.generation_id, answer.leader, [x.member_id for x in answer.members]) == (1, k.id, [k.id])
    assert (cg.listed(), cg.committed(t)) == (("CompletingRebalance", "classic"), 7)
    m.beat(69)


# Timers


@pytest.mark.slow
def test_a_classic_member_that_is_told_but_does_not_rejoin_is_removed_after_its_rebalance_timeout(cg, topic):
    t = topic(2)
    (k,) = cg.classic_members([t], {t: [0, 1]}, rebalance=1500)
    m = cg.joined(t)
    assert k.beat() == 27
    until(lambda: m.beat() and k.beat() == 25, within_s=SESSION, every_s=0.1)
    m.beat()
    assert (m.epoch, m.held) == (3, {t: [0, 1]})


@pytest.mark.slow
def test_a_classic_member_that_joins_but_does_not_sync_is_removed_after_its_rebalance_timeout(cg, topic):
    t = topic(2)
    m = cg.joined(t)
    k = cg.classic(t, rebalance=1500)
    k.join()
    assert k.beat() == 0
    until(lambda: m.ack() and k.beat() == 25, within_s=SESSION, every_s=0.1)
    m.beat()
    assert m.held == {t: [0, 1]}


@pytest.mark.slow
def test_a_silent_classic_member_is_removed_when_its_own_session_ends(cg, topic):
    t = topic(2)
    m = cg.joined(t)
    k = cg.classic(t, session=6000)
    k.rejoin()
    settle(m)
    until(lambda: m.beat() and len(m.held[t]) == 2, within_s=9, every_s=0.2)
    assert (k.beat(), m.epoch, cg.seen()) == (25, 3, ("Stable", 3, 3))


@pytest.mark.slow
def test_a_group_is_classic_again_when_its_last_modern_member_falls_silent(cg, topic):
    t = topic(2)
    m = cg.joined(t)
    k = cg.classic(t)
    k.rejoin()
    settle(m)
    assert (k.rejoin(), k.beat()) == ({t: [1]}, 0)
    until(lambda: k.beat() == 27, within_s=SESSION + 3, every_s=0.2)
    assert cg.listed() == ("PreparingRebalance", "classic")
    k.join()
    assert (k.generation, k.leader) == (3, k.id)
