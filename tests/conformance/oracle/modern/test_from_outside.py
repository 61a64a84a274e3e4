"""A consumer group as administrators and those who commit see it."""

from tests.conformance.oracle.calls import ask
from tests.conformance.oracle.groups import ANYONE
from tests.conformance.oracle.groups import Member as Committer
from tests.conformance.oracle.modern.groups import settle
from tests.conformance.oracle.transactions import Txn
from tests.support.waiting import until

# ConsumerGroupDescribe, ListGroups, DescribeGroups


def test_describe_shows_what_each_member_has_and_what_it_shall_have(cg, topic):
    t = topic(2)
    a, b = cg.joined(t, instance="i", rack_id="r"), cg.joined(t)
    group = cg.describe()
    assert (group.group_id, group.group_state, group.group_epoch, group.assignment_epoch, group.assignor_name) == (
        cg.name,
        "Reconciling",
        2,
        2,
        "uniform",
    )
    assert len(group.members) == 2
    seen = {
        m.member_id: (
            m.instance_id,
            m.rack_id,
            m.member_epoch,
            m.client_id,
            m.subscribed_topic_names,
            m.subscribed_topic_regex,
            m.member_type,
            [(p.topic_name, p.partitions) for p in m.assignment.topic_partitions],
            [(p.topic_name, p.partitions) for p in m.target_assignment.topic_partitions],
        )
        for m in group.members
    }
    assert seen == {
        a.id: ("i", "r", 1, "oracle", (t,), "", 1, [(t, (0, 1))], [(t, (0,))]),
        b.id: (None, None, 2, "oracle", (t,), "", 1, [], [(t, (1,))]),
    }
    assert cg.shown(a).client_host == "/" + cg.c.socket.getsockname()[0]


def test_describe_refuses_the_unknown_and_the_unnamed(cg):
    row = cg.describe(error=69)
    assert row.error_message
    assert (row.members, row.group_state, row.group_epoch) == ((), "", 0)
    (nameless,) = ask(cg.c, "ConsumerGroupDescribe", 1, group_ids=[""]).groups
    assert (nameless.error_code, nameless.group_id, nameless.members) == (24, "", ())
    assert ask(cg.c, "ConsumerGroupDescribe", 1, group_ids=[]).groups == ()


def test_list_shows_state_and_type_and_filters_by_both(cg, topic):
    t = topic(2)
    a = cg.joined(t)
    assert cg.listed() == ("Stable", "consumer")
    b = cg.joined(t)
    assert cg.listed(states_filter=["reconciling"], types_filter=["Consumer"]) == ("Reconciling", "consumer")
    assert cg.listed(states_filter=["Stable"]) is None
    assert cg.listed(types_filter=["classic"]) is None
    a.leave()
    assert cg.listed(states_filter=["Assigning", "Empty"]) == ("Assigning", "consumer")
    b.leave()
    assert cg.listed(states_filter=["Assigning", "Empty"]) == ("Empty", "consumer")


def test_describe_of_classic_groups_calls_a_consumer_group_dead(cg, topic):
    cg.joined(topic())
    row = cg.describe_classic(6)
    assert (row.error_code, row.group_state, row.protocol_type, row.members) == (69, "Dead", "", ())
    row = cg.describe_classic(5)
    assert (row.error_code, row.group_state, row.members) == (0, "Dead", ())


# Offsets


def test_a_commit_needs_the_member_epoch(cg, topic):
    t = topic(2)
    _, b = cg.settled(2, t)
    mine = b.held[t][0]  # since epoch 2
    assert cg.commit(t, b, 7, partition=mine) == 0
    assert [cg.commit(t, b, 8, partition=mine, epoch=epoch) for epoch in (1, 3, -1)] == [113, 113, 113]
    assert [cg.commit(t, id="who", epoch=epoch) for epoch in (2, -1)] == [25, 25]
    assert cg.committed(t, partition=mine) == 7


def test_a_member_cannot_commit_below_version_9(cg, topic):
    t = topic()
    a = cg.joined(t)
    assert [cg.commit(t, a, version=version) for version in (8, 2)] == [35, 35]
    assert [cg.commit(t, a, version=8, epoch=epoch) for epoch in (0, 5)] == [35, 35]
    assert cg.commit(t, id="who", epoch=1, version=8) == 25
    assert cg.committed(t) == -1


def test_nobody_may_commit_to_a_group_that_lives_and_anybody_to_an_empty_one(cg, topic):
    t = topic()
    a = cg.joined(t)
    assert [cg.commit(t), cg.commit(t, version=8), cg.commit(t, epoch=1)] == [25, 25, 25]
    a.leave()
    assert [
        cg.commit(t, offset=5),
        cg.commit(t, offset=6, version=8),
        cg.commit(t, a, epoch=1),
        cg.commit(t, epoch=0),
    ] == [0, 0, 25, 25]
    assert (cg.committed(t), cg.seen()[0]) == (6, "Empty")


def test_a_commit_with_an_epoch_to_an_unknown_group_is_told_by_version(cg, topic):
    t = topic()
    assert [cg.commit(t, id="who", epoch=3, version=version) for version in (9, 8)] == [69, 22]
    assert cg.listed() is None
    assert (cg.commit(t, offset=4), cg.committed(t), cg.listed()) == (0, 4, ("Empty", "classic"))


def test_a_fetch_is_checked_when_it_names_a_member(cg, topic):
    t = topic(2)
    a, b = cg.settled(2, t)
    assert cg.commit(t, a, 9) == 0
    assert (cg.committed(t), cg.committed(t, a), cg.committed(t, b)) == (9, 9, 9)
    for epoch in (1, 3, -1):
        cg.committed(t, a, 113, epoch=epoch)
    cg.committed(t, error=25, id="who", epoch=2)
    cg.committed(t, error=25, id="", epoch=-1)
    a.leave()
    b.leave()
    cg.committed(t, a, 25)
    assert cg.committed(t) == 9


def test_a_transaction_may_commit_for_nobody_while_members_live(cg, topic, transactional):
    t = topic()
    a = cg.joined(t)
    txn = Txn(cg.c)
    assert txn.add_group(cg.name) == 0
    who = [
        ANYONE,
        Committer(a.id, 1),
        Committer(a.id, 0),
        Committer(a.id, 2),
        Committer(a.id, -1),
        Committer("who", 1),
        Committer("who", -1),
    ]
    assert [txn.commit(cg.name, {(t, 0): 4}, member=one)[t, 0] for one in who] == [0, 0, 22, 22, 22, 25, 25]
    assert (cg.committed(t), txn.end()) == (-1, 0)
    until(lambda: cg.committed(t) == 4)


def test_offsets_of_a_topic_that_a_member_reads_cannot_be_deleted(cg, topic):
    t, u = topic(), topic()
    a = cg.joined(t, u)
    assert (cg.commit(t, a), cg.commit(u, a)) == (0, 0)
    a.beat(subscribed_topic_names=[t])
    answer = ask(
        cg.c,
        "OffsetDelete",
        0,
        group_id=cg.name,
        topics=[{"name": n, "partitions": [{"partition_index": 0}]} for n in (t, u)],
    )
    assert {n.name: int(n.partitions[0].error_code) for n in answer.topics} == {t: 86, u: 0}
    assert (answer.error_code, cg.committed(t), cg.committed(u)) == (0, 1, -1)


def test_only_an_empty_group_can_be_deleted_and_its_offsets_go_too(cg, topic):
    t = topic()
    a = cg.joined(t)
    assert (cg.commit(t, a, 3), cg.delete(), cg.committed(t)) == (0, 68, 3)
    a.leave()
    assert (cg.delete(), cg.delete(), cg.committed(t), cg.listed()) == (0, 69, -1, None)
    a.join()
    assert (a.epoch, a.held) == (1, {t: [0]})


def test_an_administrator_removes_members_by_id_and_by_instance(cg, topic):
    t = topic(3)
    a, b, c = cg.joined(t), cg.joined(t, instance="i"), cg.joined(t)
    settle(a, b, c)
    assert [code for *_, code in cg.remove((a.id, None), ("who", None), ("", "i"), ("", "j"))] == [0, 25, 0, 25]
    assert (cg.seen()[1], [m.member_id for m in cg.describe().members]) == (4, [c.id])
    a.beat(25)
    c.beat()
    assert (c.epoch, c.held) == (4, {t: [0, 1, 2]})
