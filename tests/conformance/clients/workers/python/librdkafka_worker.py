"""Worker on confluent-kafka (librdkafka): see common.py for the command line and the events."""

import contextlib
import time

import common
import confluent_kafka
from common import emit
from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec


def group_metadata(consumer):
    """(generation or member epoch, member id), read from the serialised form librdkafka hands out."""
    blob = consumer.consumer_group_metadata()
    if not isinstance(blob, bytes) or not blob.startswith(b"CGMDv2:"):
        return None, consumer.memberid()
    generation = int.from_bytes(blob[7:11], "little", signed=True)
    member = blob[11:].split(b"\0")[1].decode()
    return generation, member


def group_config(args):
    conf = {
        "bootstrap.servers": args.bootstrap,
        "group.id": args.group,
        "client.id": args.client_id,
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "fetch.wait.max.ms": 100,
        "fetch.error.backoff.ms": 50,
        "fetch.queue.backoff.ms": 10,
    }
    if args.protocol == "consumer":
        conf["group.protocol"] = "consumer"
        if args.assignor in ("range", "uniform"):
            conf["group.remote.assignor"] = args.assignor
    else:
        conf["session.timeout.ms"] = args.session_ms
        conf["heartbeat.interval.ms"] = args.heartbeat_ms
        conf["partition.assignment.strategy"] = args.assignor
    return conf


class Group:
    """One member of a group: polls, reports, commits what it reported."""

    def __init__(self, args):
        self.args = args
        self.positions = common.Positions()
        conf = group_config(args)
        conf["isolation.level"] = args.isolation
        conf["auto.offset.reset"] = args.reset
        conf["error_cb"] = self.on_error
        conf["topic.metadata.refresh.interval.ms"] = args.metadata_ms
        if args.instance:
            conf["group.instance.id"] = args.instance
        self.consumer = Consumer(conf)
        self.consumer.subscribe([args.topic], on_assign=self.on_assign, on_revoke=self.on_revoke, on_lost=self.on_lost)

    def on_error(self, error):
        if error.fatal():
            emit("error", code=error.code(), name=error.name(), message=error.str(), fatal=True)

    def on_assign(self, consumer, partitions):
        generation, member = group_metadata(consumer)
        emit(
            "assigned",
            partitions=sorted(p.partition for p in partitions),
            generation=generation,
            member=member,
        )

    def on_revoke(self, _consumer, partitions):
        numbers = sorted(p.partition for p in partitions)
        self.commit(numbers)
        emit("revoked", partitions=numbers)

    def on_lost(self, _consumer, partitions):
        numbers = sorted(p.partition for p in partitions)
        self.positions.take(numbers)
        emit("lost", partitions=numbers)

    def commit(self, numbers=None):
        offsets = self.positions.take(numbers)
        if not offsets:
            return
        topic = self.args.topic
        try:
            done = self.consumer.commit(
                offsets=[TopicPartition(topic, p, o) for p, o in offsets.items()], asynchronous=False
            )
            bad = next((p.error for p in done if p.error), None)
        except KafkaException as failure:
            bad = failure.args[0]
        if not bad:
            emit("committed", offsets=offsets)
            return
        emit("commit-failed", code=bad.code(), message=bad.str())
        if numbers is None:
            self.positions.put_back(offsets)

    def run(self, stop):
        seen = 0
        while not stop.is_set and not (self.args.count and seen >= self.args.count):
            message = self.consumer.poll(0.1)
            if message is None:
                if self.positions.pending:
                    self.commit()
                continue
            if message.error():
                error = message.error()
                emit("error", code=error.code(), name=error.name(), message=error.str())
                if error.fatal():
                    break
                continue
            seen += 1
            common.emit_record(
                message.partition(), message.offset(), message.key(), message.value(), message.timestamp()[1]
            )
            self.positions.add(message.partition(), message.offset())
            if self.positions.since_commit >= self.args.commit_every:
                self.commit()
        self.commit()
        self.consumer.close()
        emit("closed", records=seen)


def consume(args):
    Group(args).run(common.StopFlag())


class Sender:
    def __init__(self, args, codec="none"):
        conf = {
            "bootstrap.servers": args.bootstrap,
            "acks": args.acks,
            "compression.type": codec,
            "linger.ms": 5,
        }
        if args.transactional:
            conf["transactional.id"] = args.transactional
        self.topic = args.topic
        self.failed = 0
        self.producer = Producer(conf)

    def on_delivery(self, error, _message):
        if error:
            self.failed += 1
            emit("error", code=error.code(), name=error.name(), message=error.str())

    def send(self, key, value, timestamp_ms):
        extra = {} if timestamp_ms is None else {"timestamp": timestamp_ms}
        self.producer.produce(self.topic, value, key, on_delivery=self.on_delivery, **extra)
        self.producer.poll(0)


def produce(args):
    if args.transactional:
        return produce_transactions(args)
    sent = failed = 0
    stop, pace = common.StopFlag(), common.Pace(args.rate)
    for codec, records in common.batches(args):
        sender = Sender(args, codec)
        for record in records:
            if stop.is_set:
                break
            time.sleep(pace.delay_s())
            sender.send(*record)
            sent += 1
        sender.producer.flush(30)
        failed += sender.failed
    emit("produced", count=sent - failed, failed=failed)
    return 1 if failed else 0


def produce_transactions(args):
    sender = Sender(args)
    try:
        run_transactions(args, sender, sender.producer)
    except KafkaException as failure:
        error = failure.args[0]
        emit("error", code=error.code(), name=error.name(), message=error.str(), fatal=error.fatal())
        return 1
    emit("produced", count=0, failed=sender.failed)
    return 1 if sender.failed else 0


def run_transactions(args, sender, producer):
    producer.init_transactions(30)
    for ending, records in common.plan(args):
        producer.begin_transaction()
        for record in records:
            sender.send(*record)
        producer.flush(30)
        if ending == "hold":
            ending = common.decide()
        if ending == "commit":
            producer.commit_transaction(30)
        else:
            producer.abort_transaction(30)
        emit("transaction", ending=ending, count=len(records))


def transform(args):
    """Consume, transform, produce: the offsets travel in the producer's transaction (KIP-447)."""
    stop = common.StopFlag()
    conf = group_config(args)
    conf["isolation.level"] = "read_committed"
    consumer = Consumer(conf)
    producer = Producer(
        {
            "bootstrap.servers": args.bootstrap,
            "transactional.id": args.transactional,
            "transaction.timeout.ms": 10000,
        }
    )
    producer.init_transactions(30)
    consumer.subscribe(
        [args.topic],
        on_assign=lambda _c, ps: emit("assigned", partitions=sorted(p.partition for p in ps)),
        on_revoke=lambda _c, ps: emit("revoked", partitions=sorted(p.partition for p in ps)),
    )
    emit("ready")
    done = 0
    while not stop.is_set:
        messages = [m for m in consumer.consume(args.batch, 0.2) if not m.error()]
        if not messages:
            continue
        done += 1
        abort = args.abort_every and done % args.abort_every == 0
        transform_batch(args, consumer, producer, messages, abort)
    consumer.close()
    emit("closed")


def transform_batch(args, consumer, producer, messages, abort):
    producer.begin_transaction()
    next_offsets, first_offsets = {}, {}
    for m in messages:
        producer.produce(args.out, m.value().upper(), m.key())
        next_offsets[m.partition()] = m.offset() + 1
        first_offsets.setdefault(m.partition(), m.offset())
    try:
        offsets = [TopicPartition(args.topic, p, o) for p, o in next_offsets.items()]
        producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), 30)
        producer.flush(30)
        emit("in-transaction", count=len(messages))
        time.sleep(args.hold_ms / 1000)
        if not abort:
            producer.commit_transaction(30)
            emit("transaction", ending="commit", count=len(messages))
            return
    except KafkaException as failure:
        error = failure.args[0]
        emit("transaction-failed", code=error.code(), name=error.name())
        if error.fatal():
            raise
    producer.abort_transaction(30)
    emit("transaction", ending="abort", count=len(messages))
    rewind(args, consumer, first_offsets)


def rewind(args, consumer, first_offsets):
    for partition, offset in first_offsets.items():
        # where the partition is no longer ours, its new owner reads from the committed offset
        with contextlib.suppress(KafkaException):
            consumer.seek(TopicPartition(args.topic, partition, offset))


def seek(args):
    consumer = Consumer({"bootstrap.servers": args.bootstrap, "group.id": "unused", "enable.auto.commit": False})
    numbers = consumer.list_topics(args.topic, 10).topics[args.topic].partitions
    found = consumer.offsets_for_times([TopicPartition(args.topic, p, args.timestamp_ms) for p in numbers], 10)
    consumer.assign(found)
    for _ in range(args.count):
        m = consumer.poll(10)
        common.emit_record(m.partition(), m.offset(), m.key(), m.value(), m.timestamp()[1])
    consumer.close()
    emit("closed")


def offsets(args):
    admin = AdminClient({"bootstrap.servers": args.bootstrap})
    numbers = admin.list_topics(args.topic, 10).topics[args.topic].partitions

    def listed(spec):
        asked = {TopicPartition(args.topic, p): spec for p in numbers}
        return {tp.partition: f.result(10).offset for tp, f in admin.list_offsets(asked).items()}

    committed = group_offsets(admin, args.group, args.topic)
    latest = listed(OffsetSpec.latest())
    emit(
        "offsets",
        earliest=listed(OffsetSpec.earliest()),
        latest=latest,
        at=listed(OffsetSpec.for_timestamp(args.timestamp_ms)),
        committed=committed,
        lag={p: latest[p] - o for p, o in committed.items()},
    )


def group_offsets(admin, group, topic):
    asked = [ConsumerGroupTopicPartitions(group)]
    found = admin.list_consumer_group_offsets(asked)[group].result(10)
    return {p.partition: p.offset for p in found.topic_partitions if p.topic == topic and p.offset >= 0}


def enum_name(value):
    return None if value is None else value.name


def admin_list(admin):
    found = admin.list_consumer_groups(request_timeout=10).result()
    groups = [{"group": g.group_id, "state": enum_name(g.state), "type": enum_name(g.type)} for g in found.valid]
    emit("groups", groups=groups)


def admin_describe(admin, group):
    found = admin.describe_consumer_groups([group], request_timeout=10)[group].result()
    members = [
        {
            "member": m.member_id,
            "instance": m.group_instance_id,
            "client": m.client_id,
            "host": m.host,
            "partitions": sorted(p.partition for p in m.assignment.topic_partitions) if m.assignment else [],
        }
        for m in found.members
    ]
    emit("group", group=group, state=enum_name(found.state), protocol=found.partition_assignor, members=members)


def admin_offsets(admin, group, topic):
    emit("group-offsets", committed=group_offsets(admin, group, topic))


def admin_delete(admin, group):
    admin.delete_consumer_groups([group], request_timeout=10)[group].result()
    emit("deleted")


def admin_reset(admin, group, topic, word):
    wanted = [TopicPartition(topic, p, o) for p, o in common.partition_offsets(word).items()]
    done = admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, wanted)])[group].result(10)
    bad = next((p.error for p in done.topic_partitions if p.error), None)
    if bad:
        raise KafkaException(bad)
    emit("offsets-reset")


ADMIN = {
    "list": admin_list,
    "describe": admin_describe,
    "offsets": admin_offsets,
    "delete": admin_delete,
    "reset": admin_reset,
}


def admin(args):
    client = AdminClient({"bootstrap.servers": args.bootstrap})
    for action, *rest in common.admin_lines(args):
        if action not in ADMIN:
            emit("unsupported", action=action)
            continue
        try:
            ADMIN[action](client, *rest)
        except KafkaException as failure:
            error = failure.args[0]
            emit("error", code=error.code(), name=error.name(), message=error.str())


def version(_args):
    emit("version", client="librdkafka", version=f"{confluent_kafka.version()}/{confluent_kafka.libversion()[0]}")


if __name__ == "__main__":
    arguments = common.parse()
    raise SystemExit(globals()[arguments.command](arguments))
