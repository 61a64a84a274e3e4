"""Committed offsets: OffsetCommit 2-10, OffsetFetch 1-10 and OffsetDelete 0, against a group in every state."""

import uuid

import pytest

from tests.conformance.oracle.calls import ask, create_topic, delete_topic, topic_id
from tests.conformance.oracle.groups import (
    ANYONE,
    NOTHING,
    Member,
    Offset,
    commit,
    commit_code,
    committed,
    delete_groups,
    delete_offsets,
    emptied,
    join_values,
    joined,
    listed,
    modern,
    modern_leave,
    offset,
    preparing,
    stable,
    state,
)
from tests.support.waiting import until

# OffsetCommit: what is kept


@pytest.mark.parametrize("version", range(2, 10))
def test_what_one_version_commits_every_version_fetches(c, group, lasting, version):
    assert commit(c, group, {(lasting, 0): (5, -1, "note"), (lasting, 2): 7}, version=version) == {
        (lasting, 0): 0,
        (lasting, 2): 0,
    }
    for fetching in range(1, 10):
        assert committed(c, group, [(lasting, 0), (lasting, 1), (lasting, 2)], version=fetching) == {
            (lasting, 0): Offset(5, -1, "note"),
            (lasting, 1): NOTHING,
            (lasting, 2): Offset(7),
        }


def test_version_10_commits_and_fetches_by_topic_id(c, group, lasting, second):
    ids = {t: topic_id(c, t) for t in (lasting, second)}
    assert commit(c, group, {(lasting, 1): 5, (second, 0): 6}, version=10, ids=ids) == {(lasting, 1): 0, (second, 0): 0}
    assert committed(c, group, [(lasting, 0), (lasting, 1)], version=10, ids=ids) == {
        (lasting, 0): NOTHING,
        (lasting, 1): Offset(5),
    }
    assert (
        committed(c, group, version=10, ids=ids)
        == committed(c, group, version=9)
        == {(lasting, 1): Offset(5), (second, 0): Offset(6)}
    )


def test_an_unknown_topic_id_fails_its_own_rows(c, group, lasting):
    ids = {lasting: topic_id(c, lasting), "stranger": uuid.uuid4()}
    assert commit(c, group, {(lasting, 0): 5, ("stranger", 0): 6}, version=10, ids=ids) == {
        (lasting, 0): 0,
        ("stranger", 0): 100,
    }
    assert committed(c, group, [(lasting, 0), ("stranger", 0)], version=10, ids=ids) == {
        (lasting, 0): Offset(5),
        ("stranger", 0): Offset(-1, -1, "", 100),
    }


def test_the_offset_of_a_deleted_topic_does_not_pass_to_its_successor(c, group):
    """https://issues.apache.org/jira/browse/KAFKA-19154"""
    topic = create_topic(c)
    old = {topic: topic_id(c, topic)}
    assert commit(c, group, {(topic, 0): 5}, version=10, ids=old) == {(topic, 0): 0}
    delete_topic(c, topic)
    create_topic(c, name=topic)
    new = {topic: topic_id(c, topic)}
    assert committed(c, group, [(topic, 0)], version=10, ids=new) == {(topic, 0): NOTHING}
    assert committed(c, group, [(topic, 0)], version=10, ids=old) == {(topic, 0): Offset(-1, -1, "", 100)}
    assert commit(c, group, {(topic, 0): 6}, version=10, ids=old) == {(topic, 0): 100}


def test_a_commit_replaces_offset_and_metadata_as_a_whole(c, group, lasting):
    commit(c, group, {(lasting, 0): (5, -1, "note")})
    commit(c, group, {(lasting, 0): (4, -1, "")})
    assert offset(c, group, lasting) == Offset(4, -1, "")


@pytest.mark.parametrize("version", [2, 7, 9])
def test_null_metadata_is_fetched_as_the_empty_string(c, group, lasting, version):
    """https://github.com/tansu-io/tansu/commit/8dc6583
    https://github.com/streamnative/kop/issues/202
    """
    commit(c, group, {(lasting, 0): (5, -1, None)}, version=version)
    assert [offset(c, group, lasting, version=v).metadata for v in (1, 5, 8)] == ["", "", ""]


def test_the_last_row_wins_when_a_partition_is_named_twice(c, group, lasting):
    rows = [
        {
            "name": lasting,
            "partitions": [{"partition_index": 0, "committed_offset": o, "committed_metadata": ""} for o in (9, 3)],
        }
    ]
    answer = ask(c, "OffsetCommit", 8, group_id=group, topics=rows)
    assert [[int(p.error_code) for p in t.partitions] for t in answer.topics] == [[0, 0]]
    assert offset(c, group, lasting).offset == 3


def test_metadata_of_4096_characters_is_kept_and_one_more_fails_its_partition(c, group, lasting):
    assert commit(
        c, group, {(lasting, 0): (1, -1, "x" * 4096), (lasting, 1): (2, -1, "x" * 4097), (lasting, 2): (3, -1, "")}
    ) == {(lasting, 0): 0, (lasting, 1): 12, (lasting, 2): 0}
    assert committed(c, group) == {(lasting, 0): Offset(1, -1, "x" * 4096), (lasting, 2): Offset(3)}


@pytest.mark.parametrize("version", [2, 6, 9])
def test_unknown_topics_and_partitions_fail_alone(c, group, lasting, version):
    assert commit(
        c, group, {(lasting, 0): 1, (lasting, 3): 1, (lasting, -1): 1, ("oracle-no-such-topic", 0): 1}, version=version
    ) == {(lasting, 0): 0, (lasting, 3): 3, (lasting, -1): 3, ("oracle-no-such-topic", 0): 3}
    assert committed(c, group) == {(lasting, 0): Offset(1)}


# OffsetCommit: to whom


def test_an_anonymous_commit_creates_a_simple_group(c, group, lasting):
    assert commit_code(c, group, lasting) == 0
    seen = listed(c)[group]
    assert (seen.protocol_type, seen.group_state, seen.group_type) == ("", "Empty", "classic")


@pytest.mark.parametrize(
    "member",
    [Member("m", -1), Member("", -1, "instance"), Member("", -2)],
    ids=["member id", "instance id", "generation -2"],
)
def test_any_negative_generation_may_create_a_group(c, group, lasting, member):
    assert commit_code(c, group, lasting, member) == 0
    assert offset(c, group, lasting).offset == 1


@pytest.mark.parametrize("version, code", [(2, 22), (5, 22), (8, 22), (9, 69)])
@pytest.mark.parametrize("generation", [0, 5])
def test_a_generation_on_an_unknown_group_is_refused(c, group, lasting, version, code, generation):
    assert commit_code(c, group, lasting, Member("m", generation), version) == code
    assert group not in listed(c)


@pytest.mark.parametrize("version", [2, 8, 9])
def test_an_emptied_group_takes_anonymous_commits_and_no_members(c, group, lasting, version):
    gone = emptied(c, group, [lasting])
    assert commit_code(c, group, lasting, gone, version) == 25
    assert commit_code(c, group, lasting, Member("", gone.generation), version) == 25
    assert commit_code(c, group, lasting, version=version) == 0
    assert state(c, group) == "Empty"


STABLE_CHECKS = {
    "the member": (lambda m: m, 0),
    "the member without its instance": (lambda m: m._replace(instance=None), 0),
    "old generation": (lambda m: m._replace(generation=m.generation - 1), 22),
    "new generation": (lambda m: m._replace(generation=m.generation + 1), 22),
    "generation -1": (lambda m: m._replace(generation=-1), 22),
    "unknown member": (lambda m: Member("ghost", m.generation), 25),
    "unknown member before generation": (lambda m: Member("ghost", m.generation + 1), 25),
    "unknown instance before member": (lambda m: m._replace(instance="other"), 25),
    "another member of the instance": (lambda m: m._replace(id="ghost"), 82),
    "another member of the instance before generation": (lambda m: Member("ghost", 99, m.instance), 82),
    "no member of a known instance": (lambda m: Member("", -1, m.instance), 82),
    "no member of an unknown instance": (lambda m: Member("", -1, "other"), 25),
    "a generation alone": (lambda m: Member("", m.generation), 25),
}


@pytest.mark.parametrize("version", [7, 9])
@pytest.mark.parametrize("who", STABLE_CHECKS)
def test_a_stable_group_checks_instance_then_member_then_generation(c, group, lasting, who, version):
    member = stable(c, group, [lasting], instance="instance")
    committing, code = STABLE_CHECKS[who]
    assert commit_code(c, group, lasting, committing(member), version) == code
    assert offset(c, group, lasting).offset == (-1 if code else 1)


def test_a_rebalancing_group_still_takes_its_members_commits(connect, c, group, lasting):
    """https://github.com/confluentinc/librdkafka/issues/4059
    https://github.com/confluentinc/librdkafka/issues/4908
    https://github.com/twmb/franz-go/issues/409
    """
    member = preparing(c, connect(), group, [lasting])
    assert commit_code(c, group, lasting, member) == 0
    assert commit_code(c, group, lasting, member._replace(generation=member.generation - 1)) == 22
    assert state(c, group) == "PreparingRebalance" and offset(c, group, lasting).offset == 1


def test_bad_topics_keep_their_own_error_beside_that_of_the_group(c, group, lasting):
    stable(c, group, [lasting])
    assert commit(c, group, {(lasting, 0): 1, (lasting, 9): 1, ("oracle-no-such-topic", 0): 1}, Member("ghost", 1)) == {
        (lasting, 0): 25,
        (lasting, 9): 3,
        ("oracle-no-such-topic", 0): 3,
    }


CONSUMER_CHECKS = {
    "the member": (lambda m: m, 9, 0),
    "the member in a version before the protocol": (lambda m: m, 8, 35),
    "older epoch": (lambda m: m._replace(generation=m.generation - 1), 9, 113),
    "newer epoch": (lambda m: m._replace(generation=m.generation + 1), 9, 113),
    "epoch -1": (lambda m: m._replace(generation=-1), 9, 113),
    "unknown member": (lambda m: Member("ghost", m.generation), 9, 25),
    "unknown member in an old version": (lambda m: Member("ghost", m.generation), 8, 25),
    "nobody": (lambda m: ANYONE, 9, 25),
    "nobody in an old version": (lambda m: ANYONE, 2, 25),
}


@pytest.mark.parametrize("who", CONSUMER_CHECKS)
def test_a_consumer_group_checks_member_then_version_then_epoch(c, group, lasting, who):
    committing, version, code = CONSUMER_CHECKS[who]
    assert commit_code(c, group, lasting, committing(modern(c, group, lasting)), version) == code


def test_the_empty_group_id_is_legal_for_offsets(c, lasting):
    try:
        assert commit_code(c, "", lasting) == 0
        assert offset(c, "", lasting).offset == 1 and "" in listed(c) and state(c, "") == "Empty"
        assert commit_code(c, "", lasting, Member("m", 1)) == 25
        assert delete_offsets(c, "", [(lasting, 0)]) == (24, {})
        assert ask(c, "JoinGroup", 5, **join_values("", [lasting])).error_code == 24
    finally:
        assert delete_groups(c, "") == [("", 0)]
    assert committed(c, "") == {}


# OffsetFetch


@pytest.mark.parametrize("version", range(1, 10))
def test_an_unknown_group_has_no_offsets_and_no_error(c, group, lasting, version):
    assert committed(c, group, [(lasting, 0), (lasting, 2), ("oracle-no-such-topic", 0)], version=version) == {
        (lasting, 0): NOTHING,
        (lasting, 2): NOTHING,
        ("oracle-no-such-topic", 0): NOTHING,
    }
    if version > 1:
        assert committed(c, group, version=version) == {}
    assert group not in listed(c)


@pytest.mark.parametrize("version", range(2, 10))
def test_null_topics_mean_every_committed_partition(c, group, lasting, second, version):
    commit(c, group, {(lasting, 0): 4, (lasting, 2): 5, (second, 0): 6})
    assert committed(c, group, version=version) == {
        (lasting, 0): Offset(4),
        (lasting, 2): Offset(5),
        (second, 0): Offset(6),
    }


@pytest.mark.parametrize("version", range(1, 10))
def test_an_empty_list_of_topics_means_none(c, group, lasting, version):
    commit(c, group, {(lasting, 0): 4})
    assert committed(c, group, [], version=version) == {}


@pytest.mark.parametrize("version", [7, 8, 9])
def test_a_stable_offset_is_fetched_when_stable_ones_are_required(c, group, lasting, version):
    commit(c, group, {(lasting, 0): 4})
    assert committed(c, group, [(lasting, 0), (lasting, 1)], version=version, require_stable=True) == {
        (lasting, 0): Offset(4),
        (lasting, 1): NOTHING,
    }


@pytest.mark.parametrize("version", [8, 9])
def test_several_groups_are_answered_in_order_and_each_by_itself(c, group, lasting, second, version):
    """https://issues.apache.org/jira/browse/KAFKA-19195"""
    other, unknown = group + "-other", group + "-unknown"
    commit(c, group, {(lasting, 0): 1, (second, 0): 2})
    commit(c, other, {(lasting, 0): 3})
    asked = [
        (group, [{"name": second, "partition_indexes": [0]}]),
        (unknown, None),
        (other, None),
        (group, [{"name": lasting, "partition_indexes": [0, 1]}]),
    ]
    answer = ask(
        c,
        "OffsetFetch",
        version,
        groups=[{"group_id": g, "topics": t, "member_id": None, "member_epoch": -1} for g, t in asked],
    )
    assert [
        (
            g.group_id,
            int(g.error_code),
            {(t.name, p.partition_index): p.committed_offset for t in g.topics for p in t.partitions},
        )
        for g in answer.groups
    ] == [
        (group, 0, {(second, 0): 2}),
        (unknown, 0, {}),
        (other, 0, {(lasting, 0): 3}),
        (group, 0, {(lasting, 0): 1, (lasting, 1): -1}),
    ]


@pytest.mark.parametrize("member, epoch", [("ghost", 0), ("ghost", 7), (None, 5), ("", -1)])
def test_a_classic_group_does_not_check_who_fetches(c, group, lasting, member, epoch):
    live = stable(c, group, [lasting])
    commit(c, group, {(lasting, 0): 4}, live)
    answer = ask(
        c, "OffsetFetch", 9, groups=[{"group_id": group, "member_id": member, "member_epoch": epoch, "topics": None}]
    ).groups[0]
    assert answer.error_code == 0 and answer.topics[0].partitions[0].committed_offset == 4


FETCH_CHECKS = {
    "the member": (lambda m: m, 0),
    "nobody": (lambda m: Member(None, -1), 0),
    "older epoch": (lambda m: m._replace(generation=0), 113),
    "newer epoch": (lambda m: m._replace(generation=m.generation + 1), 113),
    "epoch -1": (lambda m: m._replace(generation=-1), 113),
    "unknown member": (lambda m: Member("ghost", m.generation), 25),
    "the empty member id": (lambda m: Member("", -1), 25),
}


@pytest.mark.parametrize("who", FETCH_CHECKS)
def test_a_consumer_group_checks_member_and_epoch_of_a_fetch(c, group, lasting, who):
    member, other = modern(c, group, lasting), group + "-other"
    commit(c, group, {(lasting, 0): 4}, member, 9)
    commit(c, other, {(lasting, 0): 5})
    fetching, code = FETCH_CHECKS[who]
    fetching = fetching(member)
    rows = [
        {"group_id": group, "member_id": fetching.id, "member_epoch": fetching.generation, "topics": None},
        {"group_id": other, "member_id": None, "member_epoch": -1, "topics": None},
    ]
    answer = ask(c, "OffsetFetch", 9, groups=rows)
    assert [(g.group_id, int(g.error_code), len(g.topics)) for g in answer.groups] == [
        (group, code, 0 if code else 1),
        (other, 0, 1),
    ]


# OffsetDelete


def test_offsets_are_deleted_and_bad_rows_fail_alone(c, group, lasting, second):
    commit(c, group, {(lasting, 0): 4, (lasting, 1): 5, (second, 0): 6})
    assert delete_offsets(c, group, [(lasting, 0), (lasting, 2), (lasting, 9), ("oracle-no-such-topic", 0)]) == (
        0,
        {(lasting, 0): 0, (lasting, 2): 0, (lasting, 9): 3, ("oracle-no-such-topic", 0): 3},
    )
    assert committed(c, group) == {(lasting, 1): Offset(5), (second, 0): Offset(6)}


def test_a_group_outlives_the_deletion_of_its_last_offset(c, group, lasting):
    commit(c, group, {(lasting, 0): 4})
    assert delete_offsets(c, group, [(lasting, 0)]) == (0, {(lasting, 0): 0})
    assert committed(c, group) == {} and state(c, group) == "Empty"
    assert commit_code(c, group, lasting) == 0


def test_offsets_of_an_unknown_group_cannot_be_deleted(c, group, lasting):
    assert delete_offsets(c, group, [(lasting, 0)]) == (69, {})
    assert delete_offsets(c, group, []) == (69, {})


@pytest.mark.parametrize("where", ["Stable", "CompletingRebalance", "PreparingRebalance"])
def test_offsets_of_a_subscribed_topic_cannot_be_deleted(connect, c, group, lasting, second, where):
    commit(c, group, {(lasting, 0): 1, (second, 0): 2})
    if where == "PreparingRebalance":
        preparing(c, connect(), group, [lasting])
    else:
        (stable if where == "Stable" else joined)(c, group, [lasting])
    assert state(c, group) == where
    assert delete_offsets(c, group, [(lasting, 0), (second, 0)]) == (0, {(lasting, 0): 86, (second, 0): 0})
    assert committed(c, group) == {(lasting, 0): Offset(1)}


def test_offsets_of_a_consumer_groups_subscription_cannot_be_deleted(c, group, lasting, second):
    member = modern(c, group, lasting)
    commit(c, group, {(lasting, 0): 1, (second, 0): 2}, member, 9)
    assert delete_offsets(c, group, [(lasting, 0), (second, 0)]) == (0, {(lasting, 0): 86, (second, 0): 0})
    modern_leave(c, group, member)
    assert delete_offsets(c, group, [(lasting, 0)]) == (0, {(lasting, 0): 0})


# What takes offsets away


def test_offsets_go_with_their_topic_and_the_group_stays(c, group, lasting):
    """https://github.com/tchiotludo/akhq/issues/216"""
    topic = create_topic(c, 2)
    member = stable(c, group, [topic])
    commit(c, group, {(topic, 0): 1, (topic, 1): 1, (lasting, 0): 2}, member)
    delete_topic(c, topic)
    until(lambda: committed(c, group) == {(lasting, 0): Offset(2)})
    assert state(c, group) == "Stable" and commit_code(c, group, lasting, member, offset=3) == 0
