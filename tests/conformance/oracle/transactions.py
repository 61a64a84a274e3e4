"""A transactional producer, one request per call.

    t = Txn(c)                                    -> initialised; t.producer is its id and epoch
    t.add({"t": [0]}); t.produce("t", "a"); t.end()

Each call returns the error code as it was answered. The coordinator answers 51 while it still finishes the transaction
before: `Txn` itself, `begin` and `done` wait for that.
"""

import uuid

from tests.conformance.oracle.calls import ask
from tests.conformance.oracle.groups import ANYONE, codes, offset, rows_of
from tests.conformance.oracle.records import TRANSACTIONAL, UNKNOWN, Producer, batch, produce
from tests.support.waiting import until

BUSY = (14, 15, 16, 51)


def init(c, id=None, version=4, known=UNKNOWN, timeout=60_000):
    """InitProducerId: (error code, Producer)."""
    answer = ask(
        c,
        "InitProducerId",
        version,
        transactional_id=id,
        transaction_timeout=timeout,
        producer_id=known.id,
        producer_epoch=known.epoch,
    )
    return int(answer.error_code), Producer(answer.producer_id, answer.producer_epoch)


def done(call):
    """The first answer of a call that is not "still busy with the transaction before"."""

    def attempt():
        answer = call()
        return [] if (answer[0] if isinstance(answer, tuple) else answer) in BUSY else [answer]

    return until(attempt)[0]


class Txn:
    def __init__(self, c, id=None, known=UNKNOWN):
        self.c, self.id, self.sequences = c, id or f"oracle-{uuid.uuid4().hex[:10]}", {}
        error, self.producer = done(lambda: init(c, self.id, known=known))
        assert error == 0, error

    def add(self, partitions, version=3, producer=None):
        """AddPartitionsToTxn of {topic: [partition]}: {(topic, partition): error code}."""
        topics = [{"name": t, "partitions": p} for t, p in partitions.items()]
        return added(self.c, version, self.id, producer or self.producer, topics)

    def begin(self, partitions):
        """Adds partitions, once the transaction before is finished."""
        assert done(lambda: max(self.add(partitions).values())) == 0
        return self

    def add_group(self, group, version=3, producer=None):
        producer = producer or self.producer
        return int(
            ask(
                self.c,
                "AddOffsetsToTxn",
                version,
                transactional_id=self.id,
                producer_id=producer.id,
                producer_epoch=producer.epoch,
                group_id=group,
            ).error_code
        )

    def commit(self, group, offsets, member=ANYONE, version=3, producer=None, **more):
        """TxnOffsetCommit: {(topic, partition): error code}."""
        producer = producer or self.producer
        return codes(
            ask(
                self.c,
                "TxnOffsetCommit",
                version,
                transactional_id=self.id,
                group_id=group,
                producer_id=producer.id,
                producer_epoch=producer.epoch,
                generation_id=member.generation,
                member_id=member.id,
                group_instance_id=member.instance,
                topics=rows_of(offsets, **more),
            )
        )

    def produce(self, topic, *records, partition=0, version=11, producer=None, sequence=None, id=None):
        """Produce of one transactional batch: (error code, base offset)."""
        producer = producer or self.producer
        if sequence is None:
            sequence = self.sequences.get((producer, topic, partition), 0)
            self.sequences[producer, topic, partition] = sequence + len(records)
        row = produce(
            self.c,
            topic,
            batch(*records, producer=producer, sequence=sequence, attributes=TRANSACTIONAL),
            partition,
            version,
            txn=self.id,
            id=id,
        )
        return int(row.error_code), row.base_offset

    def end(self, commit=True, version=4, producer=None):
        """EndTxn: the error code; from version 5 the pair of it and the Producer to go on with."""
        producer = producer or self.producer
        answer = ask(
            self.c,
            "EndTxn",
            version,
            transactional_id=self.id,
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            committed=commit,
        )
        return (
            int(answer.error_code)
            if version < 5
            else (int(answer.error_code), Producer(answer.producer_id, answer.producer_epoch))
        )


def added(c, version, id, producer, topics, verify=False):
    if version < 4:
        answer = ask(
            c,
            "AddPartitionsToTxn",
            version,
            v3_and_below_transactional_id=id,
            v3_and_below_producer_id=producer.id,
            v3_and_below_producer_epoch=producer.epoch,
            v3_and_below_topics=topics,
        )
        results = answer.results_by_topic_v3_and_below
    else:
        answer = ask(
            c,
            "AddPartitionsToTxn",
            version,
            transactions=[
                {
                    "transactional_id": id,
                    "producer_id": producer.id,
                    "producer_epoch": producer.epoch,
                    "verify_only": verify,
                    "topics": topics,
                }
            ],
        )
        assert answer.error_code == 0 and [r.transactional_id for r in answer.results_by_transaction] == [id], answer
        results = answer.results_by_transaction[0].topic_results
    return {(t.name, p.partition_index): int(p.partition_error_code) for t in results for p in t.results_by_partition}


def pending(c, group, offsets, version=3):
    """A transaction that holds offsets of a group, neither committed nor aborted."""
    txn = Txn(c)
    if version < 5:
        assert txn.add_group(group) == 0
    assert set(txn.commit(group, offsets, version=version).values()) == {0}
    return txn


def stable_offset(c, group, topic, partition=0):
    """The first answer that is not "unstable"."""
    return until(
        lambda: next((o for o in [offset(c, group, topic, partition, require_stable=True)] if o.error != 88), None)
    )
