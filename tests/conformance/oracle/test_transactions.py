"""Transactions, and what readers see of them.

InitProducerId 0-5, AddPartitionsToTxn 0-5, AddOffsetsToTxn 0-4, TxnOffsetCommit 0-5, EndTxn 0-5. The broker under test has
transaction.version 2. A coordinator finishes a transaction after EndTxn was answered, so tests wait for the state that must
come; what must never be seen on the way is asserted of the first answer that is not "not yet".
"""

import uuid

import pytest

from tests.conformance.oracle.calls import create_topic
from tests.conformance.oracle.groups import (
    ANYONE,
    NOTHING,
    Member,
    Offset,
    commit,
    committed,
    joined,
    listed,
    modern,
    offset,
    preparing,
    stable,
    state,
)
from tests.conformance.oracle.records import (
    CONTROL,
    TRANSACTIONAL,
    Producer,
    batch,
    end_offset,
    fetch,
    parse,
    produce,
    values,
)
from tests.conformance.oracle.transactions import Txn, added, done, init, pending, stable_offset
from tests.support.waiting import until

pytestmark = pytest.mark.usefixtures("transactional")
STALE = [(0, 47), (1, 47), (2, 90), (3, 90), (4, 90)]  # the code for an epoch that is not the current one, by version


# InitProducerId


@pytest.mark.parametrize("version", range(6))
def test_a_producer_without_a_transactional_id_gets_a_new_id_each_time(c, version):
    made = [init(c, None, version) for _ in range(3)]
    assert [(error, producer.epoch) for error, producer in made] == [(0, 0)] * 3
    assert len({producer.id for _, producer in made}) == 3


@pytest.mark.parametrize("version", range(6))
def test_a_transactional_id_keeps_its_producer_id_and_gets_the_next_epoch(c, version):
    name = uuid.uuid4().hex
    (_, first), (_, second), (_, other) = init(c, name, version), init(c, name, version), init(c, name + "x", version)
    assert (first.epoch, second) == (0, first._replace(epoch=1)) and other.id != first.id


@pytest.mark.parametrize(
    "values, code",
    [
        ({"id": ""}, 42),
        ({"timeout": 0}, 50),
        ({"timeout": -1}, 50),
        ({"timeout": 900_001}, 50),
        ({"timeout": 900_000}, 0),
        ({"known": Producer(5, -1)}, 42),
        ({"known": Producer(-1, 5)}, 42),
    ],
    ids=str,
)
def test_a_producer_must_ask_sensibly(c, values, code):
    assert init(c, **{"id": uuid.uuid4().hex, **values})[0] == code


@pytest.mark.parametrize("version, code", [(3, 47), (4, 90), (5, 90)])
def test_a_producer_of_an_older_epoch_is_fenced(c, version, code):
    name = uuid.uuid4().hex
    producer = [init(c, name) for _ in range(3)][-1][1]
    for epoch in (producer.epoch - 2, producer.epoch + 1):
        assert init(c, name, version, producer._replace(epoch=epoch))[0] == code
    assert init(c, name, version, Producer(producer.id + 1000, producer.epoch))[0] == code
    assert init(c, name, version, producer) == (0, producer._replace(epoch=producer.epoch + 1))


# AddPartitionsToTxn and AddOffsetsToTxn


@pytest.mark.parametrize("version", range(6))
def test_partitions_join_a_transaction_all_or_none(c, lasting, version):
    txn = Txn(c)
    assert txn.add({lasting: [0, 9], "oracle-no-such-topic": [0]}, version) == {
        (lasting, 0): 55,
        (lasting, 9): 3,
        ("oracle-no-such-topic", 0): 3,
    }
    assert txn.end() == 48  # nothing was begun
    assert txn.add({lasting: [0, 1]}, version) == {(lasting, 0): 0, (lasting, 1): 0}
    assert txn.add({lasting: [1, 2]}, version) == {(lasting, 1): 0, (lasting, 2): 0}
    assert txn.end() == 0


@pytest.mark.parametrize("version, code", [*STALE, (5, 90)])
def test_only_the_current_producer_adds_partitions(c, lasting, version, code):
    txn = Txn(c)
    for producer, refused in (
        (txn.producer._replace(epoch=1), code),
        (txn.producer._replace(epoch=-1), code),
        (txn.producer._replace(id=txn.producer.id + 1000), 49),
    ):
        assert txn.add({lasting: [0]}, version, producer) == {(lasting, 0): refused}
    assert Txn(c).add({lasting: [0]}, version, txn.producer) == {(lasting, 0): 49}


@pytest.mark.parametrize("version, code", STALE)
def test_only_the_current_producer_adds_a_group(c, group, version, code):
    txn = Txn(c)
    assert txn.add_group(group, version, txn.producer._replace(epoch=1)) == code
    assert txn.add_group(group, version, txn.producer._replace(id=txn.producer.id + 1000)) == 49
    assert txn.end() == 48
    assert txn.add_group(group, version) == 0 and txn.add_group(group, version) == 0
    assert txn.end() == 0


@pytest.mark.parametrize("version", [4, 5])
def test_asking_whether_a_partition_is_in_a_transaction_adds_nothing(c, lasting, version):
    txn = Txn(c).begin({lasting: [0]})
    rows = [{"name": lasting, "partitions": [0, 1]}]
    for _ in range(2):
        assert added(c, version, txn.id, txn.producer, rows, verify=True) == {(lasting, 0): 0, (lasting, 1): 120}
    assert txn.end() == 0


# TxnOffsetCommit


@pytest.mark.parametrize("version", range(6))
def test_offsets_of_a_transaction_show_when_it_is_committed(c, group, lasting, version):
    """https://issues.apache.org/jira/browse/KAFKA-17507"""
    commit(c, group, {(lasting, 0): 1})
    txn = pending(c, group, {(lasting, 0): (5, -1, "note"), (lasting, 1): (6, -1, None)}, version)
    assert committed(c, group, [(lasting, 0), (lasting, 1)]) == {(lasting, 0): Offset(1), (lasting, 1): NOTHING}
    assert committed(c, group) == {(lasting, 0): Offset(1)}
    assert txn.end() == 0
    assert stable_offset(c, group, lasting) == Offset(5, -1, "note") and stable_offset(c, group, lasting, 1) == Offset(
        6
    )


@pytest.mark.parametrize("version", [0, 3, 5])
def test_offsets_of_an_aborted_transaction_are_dropped(c, group, lasting, version):
    commit(c, group, {(lasting, 0): 1})
    txn = pending(c, group, {(lasting, 0): 5, (lasting, 1): 6}, version)
    assert txn.end(commit=False) == 0
    assert stable_offset(c, group, lasting) == Offset(1) and stable_offset(c, group, lasting, 1) == NOTHING


@pytest.mark.parametrize("version, code", [(6, 0), (7, 88), (8, 88), (9, 88)])
def test_a_fetch_may_refuse_offsets_that_are_not_stable(c, group, lasting, version, code):
    commit(c, group, {(lasting, 0): 1})
    txn = pending(c, group, {(lasting, 0): 5})
    (row,) = committed(c, group, [(lasting, 0)], version=version, require_stable=True).values()
    assert row == (Offset(-1, -1, "", 88) if code else Offset(1))
    assert offset(c, group, lasting, version=version) == Offset(1)
    assert txn.end() == 0


def test_the_last_offset_in_a_transaction_counts(c, group, lasting):
    txn = pending(c, group, {(lasting, 0): 9})
    assert txn.commit(group, {(lasting, 0): 4}) == {(lasting, 0): 0}
    assert txn.end() == 0
    assert stable_offset(c, group, lasting) == Offset(4)


@pytest.mark.parametrize("version, code", [(0, 48), (2, 48), (3, 48), (4, 120), (5, 0)])
def test_a_group_must_be_in_the_transaction_until_version_5_adds_it(c, group, lasting, version, code):
    txn = Txn(c)
    assert txn.commit(group, {(lasting, 0): 5}, version=version) == {(lasting, 0): code}
    assert txn.end() == (0 if version == 5 else 48)


def test_a_pending_offset_makes_a_simple_group(c, group, lasting):
    txn = pending(c, group, {(lasting, 0): 5})
    assert listed(c)[group].protocol_type == "" and state(c, group) == "Empty"
    assert txn.end(commit=False) == 0


def test_bad_rows_of_a_transactional_commit_fail_alone(c, group, lasting):
    txn = Txn(c)
    assert txn.add_group(group) == 0
    assert txn.commit(
        group, {(lasting, 0): 5, (lasting, 1): (6, -1, "x" * 4097), (lasting, 9): 7, ("oracle-no-such-topic", 0): 8}
    ) == {(lasting, 0): 0, (lasting, 1): 12, (lasting, 9): 3, ("oracle-no-such-topic", 0): 3}
    assert txn.commit("", {(lasting, 0): 5}) == {(lasting, 0): 24}
    assert txn.end() == 0
    assert stable_offset(c, group, lasting) == Offset(5) and stable_offset(c, group, lasting, 1) == NOTHING


@pytest.mark.parametrize("version", [0, 3, 4])
def test_only_the_current_producer_commits_offsets(c, group, lasting, version):
    txn = pending(c, group, {(lasting, 1): 1})
    assert txn.commit(group, {(lasting, 0): 5}, version=version, producer=txn.producer._replace(epoch=1)) == {
        (lasting, 0): 47
    }
    assert txn.commit(
        group, {(lasting, 0): 5}, version=version, producer=txn.producer._replace(id=txn.producer.id + 1000)
    ) == {(lasting, 0): 49}
    assert txn.end() == 0
    assert stable_offset(c, group, lasting) == NOTHING


TXN_CHECKS = {
    "nobody": (lambda m: ANYONE, 0),
    "the member": (lambda m: m, 0),
    "old generation": (lambda m: m._replace(generation=m.generation - 1), 22),
    "generation -1": (lambda m: m._replace(generation=-1), 22),
    "unknown member before generation": (lambda m: Member("ghost", 99), 25),
    "another member of the instance": (lambda m: Member("ghost", 99, m.instance), 82),
    "unknown instance": (lambda m: m._replace(instance="other"), 25),
    "a generation alone": (lambda m: Member("", m.generation), 25),
}


@pytest.mark.parametrize("version", [3, 5])
@pytest.mark.parametrize("who", TXN_CHECKS)
def test_a_stable_group_checks_the_member_of_a_transaction_but_lets_nobody_pass(c, group, lasting, who, version):
    member, txn = stable(c, group, [lasting], instance="instance"), Txn(c)
    committing, code = TXN_CHECKS[who]
    assert version == 5 or txn.add_group(group) == 0
    assert txn.commit(group, {(lasting, 0): 5}, committing(member), version) == {(lasting, 0): code}
    txn.end(commit=False)


@pytest.mark.parametrize(
    "who", [Member("ghost", 99), Member("ghost", 1, "other")], ids=["unknown member", "unknown instance"]
)
def test_versions_before_3_carry_no_member_to_check(c, group, lasting, who):
    stable(c, group, [lasting])
    txn = Txn(c)
    assert txn.add_group(group) == 0 and txn.commit(group, {(lasting, 0): 5}, who, 2) == {(lasting, 0): 0}
    txn.end(commit=False)


@pytest.mark.parametrize("where", ["CompletingRebalance", "PreparingRebalance"])
def test_a_rebalance_does_not_stop_a_transactional_commit(connect, c, group, lasting, where):
    member = (
        joined(c, group, [lasting]) if where == "CompletingRebalance" else preparing(c, connect(), group, [lasting])
    )
    txn = Txn(c)
    assert txn.add_group(group) == 0 and state(c, group) == where
    assert (
        txn.commit(group, {(lasting, 0): 5}, member)
        == txn.commit(group, {(lasting, 0): 6}, ANYONE)
        == {(lasting, 0): 0}
    )
    assert txn.commit(group, {(lasting, 0): 5}, member._replace(generation=member.generation - 1)) == {(lasting, 0): 22}
    txn.end(commit=False)


@pytest.mark.parametrize(
    "who, code",
    [
        (lambda m: ANYONE, 0),
        (lambda m: m, 0),
        (lambda m: m._replace(generation=0), 22),
        (lambda m: m._replace(generation=9), 22),
        (lambda m: Member("ghost", 1), 25),
    ],
    ids=["nobody", "the member", "older epoch", "newer epoch", "unknown member"],
)
def test_a_consumer_group_answers_a_wrong_epoch_in_a_transaction_as_a_generation(c, group, lasting, who, code):
    member, txn = modern(c, group, lasting), Txn(c)
    assert txn.add_group(group) == 0
    assert txn.commit(group, {(lasting, 0): 5}, who(member)) == {(lasting, 0): code}
    txn.end(commit=False)


# EndTxn


@pytest.mark.parametrize("version", range(5))
def test_ending_twice_is_harmless_and_changing_ones_mind_is_not(c, lasting, version):
    txn = Txn(c).begin({lasting: [0]})
    assert txn.end(True, version) == 0
    assert done(lambda: txn.end(True, version)) == 0
    assert txn.end(False, version) == 48


@pytest.mark.parametrize("version, code", STALE)
def test_only_the_current_producer_ends_a_transaction(c, lasting, version, code):
    txn = Txn(c).begin({lasting: [0]})
    assert txn.end(True, version, txn.producer._replace(epoch=1)) == code
    assert txn.end(True, version, txn.producer._replace(id=txn.producer.id + 1000)) == 49
    assert Txn(c).end(True, version, txn.producer) == 49
    assert txn.end(True, version) == 0


@pytest.mark.parametrize("commit_it", [True, False])
def test_version_5_answers_the_next_epoch_and_the_same_when_asked_again(c, lasting, commit_it):
    txn = Txn(c).begin({lasting: [0]})
    first = txn.producer
    error, moved = txn.end(commit_it, 5)
    assert (error, moved) == (0, first._replace(epoch=first.epoch + 1))
    assert done(lambda: txn.end(commit_it, 5)) == (0, moved)  # the answer was lost
    assert txn.end(not commit_it, 5)[0] == 48
    txn.producer = moved
    txn.begin({lasting: [1]})
    assert txn.end(commit_it, 5, first)[0] == 90
    assert txn.end(commit_it, 5) == (0, moved._replace(epoch=moved.epoch + 1))


def test_version_5_aborts_without_a_transaction_but_does_not_commit(c):
    txn = Txn(c)
    assert txn.end(True, 5)[0] == 48
    assert txn.end(False, 5) == (0, txn.producer._replace(epoch=1))
    assert Txn(c).end(False, 4) == 48


# Fencing


def test_a_second_producer_aborts_the_transaction_of_the_first_and_fences_it(c, group, lasting):
    first = pending(c, group, {(lasting, 0): 5})
    other = Txn(c, first.id)
    assert other.producer.id == first.producer.id and other.producer.epoch > first.producer.epoch
    assert stable_offset(c, group, lasting) == NOTHING
    assert [first.end(True, v) for v in (1, 2)] == [47, 90] and first.end(True, 5)[0] == 90
    assert first.add({lasting: [0]}) == {(lasting, 0): 90} and first.add_group(group) == 90
    assert first.commit(group, {(lasting, 0): 5}) == {(lasting, 0): 47}


@pytest.mark.parametrize("version", [11, 12])
def test_a_fenced_producer_cannot_write(c, version):
    topic = create_topic(c)
    first = Txn(c).begin({topic: [0]})
    assert first.produce(topic, "a") == (0, 0)
    Txn(c, first.id)
    assert first.produce(topic, "b", version=version) == (47, -1)
    assert end_offset(c, topic) == 2  # the record and the abort marker


# What is read


@pytest.mark.parametrize("version, code", [(3, 48), (7, 48), (10, 48), (11, 120), (12, 0)])
def test_a_partition_must_be_in_the_transaction_until_produce_12_adds_it(c, version, code):
    topic, txn = create_topic(c), Txn(c)
    assert txn.produce(topic, "a", version=version) == (code, -1 if code else 0)
    assert txn.end() == (48 if code else 0)


def test_a_transactional_batch_needs_a_transactional_id(c):
    topic = create_topic(c)
    _, producer = init(c)
    assert produce(c, topic, batch("a", producer=producer, sequence=0, attributes=TRANSACTIONAL)).error_code == 53
    assert end_offset(c, topic) == 0


@pytest.mark.parametrize("version", [4, 7, 11, 12])
def test_an_open_transaction_holds_committed_readers_back(c, version):
    topic = create_topic(c)
    produce(c, topic, batch("before"))
    txn = Txn(c).begin({topic: [0]})
    assert txn.produce(topic, "one", "two") == (0, 1)
    produce(c, topic, batch("after"))
    held = fetch(c, topic, 0, version, isolation=1)
    assert (values(held), held.last_stable_offset, held.high_watermark, held.aborted_transactions) == (
        [(0, "before")],
        1,
        4,
        (),
    )
    free = fetch(c, topic, 0, version)
    assert [v for _, v in values(free)] == ["before", "one", "two", "after"] and free.aborted_transactions is None
    assert end_offset(c, topic, isolation=1) == 1 and end_offset(c, topic) == 4
    assert txn.end() == 0
    until(lambda: end_offset(c, topic, isolation=1) == 5)
    assert [v for _, v in values(fetch(c, topic, 0, version, isolation=1))] == ["before", "one", "two", "after"]


@pytest.mark.parametrize("commit_it, kind", [(True, b"\0\0\0\1"), (False, b"\0\0\0\0")], ids=["commit", "abort"])
def test_the_end_of_a_transaction_is_a_control_batch_in_each_of_its_partitions(c, commit_it, kind):
    topic = create_topic(c, 2)
    txn = Txn(c).begin({topic: [0, 1]})
    txn.produce(topic, "a")
    txn.produce(topic, "b", "c", partition=1)
    assert txn.end(commit_it) == 0
    for partition, at in ((0, 1), (1, 2)):
        until(lambda partition=partition, at=at: end_offset(c, topic, partition, 1) == at + 1)
        marker = parse(fetch(c, topic, at, partition=partition).records)[-1]
        assert (marker.base_offset, marker.attributes, marker.producer, marker.count) == (
            at,
            CONTROL | TRANSACTIONAL,
            txn.producer,
            1,
        )
        ((_, _, key, value),) = marker.records
        assert (key, value) == (kind, b"\0\0" + value[2:]) and len(value) == 6


@pytest.mark.parametrize("version", [4, 11, 12])
def test_committed_readers_are_told_what_was_aborted(c, version):
    topic = create_topic(c)
    txn = Txn(c).begin({topic: [0]})
    txn.produce(topic, "a", "b")
    assert txn.end(commit=False) == 0
    until(lambda: end_offset(c, topic, isolation=1) == 3)
    produce(c, topic, batch("after"))
    for start in (0, 1, 2):
        seen = fetch(c, topic, start, version, isolation=1)
        assert [(a.producer_id, a.first_offset) for a in seen.aborted_transactions] == [(txn.producer.id, 0)]
    assert fetch(c, topic, 3, version, isolation=1).aborted_transactions == ()
    assert fetch(c, topic, 0, version).aborted_transactions is None


# Idempotent producers


def test_a_batch_sent_again_is_stored_once(c):
    topic = create_topic(c)
    _, producer = init(c)
    for data, sequence, base in (("a", 0, 0), ("b", 2, 2), ("a", 0, 0), ("b", 2, 2), ("c", 4, 4)):
        row = produce(c, topic, batch(data, data, producer=producer, sequence=sequence))
        assert (int(row.error_code), row.base_offset) == (0, base)
    assert [v for _, v in values(fetch(c, topic))] == ["a", "a", "b", "b", "c", "c"]


@pytest.mark.parametrize(
    "sequence, count", [(3, 1), (1, 2), (0, 1)], ids=["a gap", "an overlap", "part of an earlier batch"]
)
def test_a_batch_out_of_sequence_is_refused(c, sequence, count):
    topic = create_topic(c)
    _, producer = init(c)
    assert produce(c, topic, batch("a", "b", producer=producer, sequence=0)).error_code == 0
    assert produce(c, topic, batch(*"x" * count, producer=producer, sequence=sequence)).error_code == 45
    assert produce(c, topic, batch("c", producer=producer, sequence=2)).error_code == 0
    assert end_offset(c, topic) == 3


def test_a_new_epoch_starts_at_sequence_0_and_fences_the_old_one(c):
    topic = create_topic(c)
    _, producer = init(c)
    bumped = producer._replace(epoch=1)
    assert produce(c, topic, batch("a", producer=producer, sequence=0)).error_code == 0
    assert produce(c, topic, batch("b", producer=bumped, sequence=1)).error_code == 45
    assert produce(c, topic, batch("b", producer=bumped, sequence=0)).error_code == 0
    assert produce(c, topic, batch("c", producer=producer, sequence=1)).error_code == 47
    assert end_offset(c, topic) == 2


def test_sequences_go_on_at_0_after_the_greatest(c):
    topic = create_topic(c)
    _, producer = init(c)
    for data, sequence, base in (("ab", 2**31 - 3, 0), ("cd", 2**31 - 1, 2), ("e", 1, 4), ("cd", 2**31 - 1, 2)):
        row = produce(c, topic, batch(*data, producer=producer, sequence=sequence))
        assert (int(row.error_code), row.base_offset) == (0, base)
    assert end_offset(c, topic) == 5
