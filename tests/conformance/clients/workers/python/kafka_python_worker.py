"""Worker on kafka-python: see common.py for the command line and the events."""

import logging
import sys
import time

import common
import kafka
from common import emit
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import MemberToRemove
from kafka.consumer.subscription_state import AsyncConsumerRebalanceListener
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata

# A poll that runs out in the middle of a join makes this client join anew, which costs the group a rebalance.
POLL_MS = 1000

ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}


def report(failure, event="error"):
    emit(event, code=getattr(failure, "errno", -1), name=type(failure).__name__, message=str(failure))


class Group(AsyncConsumerRebalanceListener):
    """One member of a group: polls, reports, commits what it reported.

    The listener is the asynchronous one: the client refuses to block on a commit inside the other kind.
    """

    def __init__(self, args):
        self.args = args
        self.positions = common.Positions()
        self.consumer = KafkaConsumer(
            bootstrap_servers=args.bootstrap,
            group_id=args.group,
            client_id=args.client_id,
            group_instance_id=args.instance,
            enable_auto_commit=False,
            auto_offset_reset=args.reset,
            isolation_level=args.isolation,
            session_timeout_ms=args.session_ms,
            heartbeat_interval_ms=args.heartbeat_ms,
            fetch_max_wait_ms=100,
            metadata_max_age_ms=args.metadata_ms,
            partition_assignment_strategy=[ASSIGNORS[args.assignor]],
        )
        self.consumer.subscribe([args.topic], listener=self)

    async def on_partitions_assigned(self, assigned):
        metadata = self.consumer.group_metadata()
        emit(
            "assigned",
            partitions=sorted(tp.partition for tp in assigned),
            generation=metadata.generation_id,
            member=metadata.member_id,
        )

    async def on_partitions_revoked(self, revoked):
        numbers = sorted(tp.partition for tp in revoked)
        offsets = self.positions.take(numbers)
        if offsets:
            try:
                await self.consumer.commit_async(self.as_offsets(offsets))
                emit("committed", offsets=offsets)
            except KafkaError as failure:
                report(failure, "commit-failed")
        if numbers:
            emit("revoked", partitions=numbers)

    async def on_partitions_lost(self, lost):
        numbers = sorted(tp.partition for tp in lost)
        self.positions.take(numbers)
        if numbers:
            emit("lost", partitions=numbers)

    def as_offsets(self, offsets):
        return {TopicPartition(self.args.topic, p): OffsetAndMetadata(o, "", -1) for p, o in offsets.items()}

    def commit(self):
        offsets = self.positions.take()
        if not offsets:
            return
        try:
            self.consumer.commit(self.as_offsets(offsets))
            emit("committed", offsets=offsets)
        except KafkaError as failure:
            report(failure, "commit-failed")
            self.positions.put_back(offsets)

    def run(self, stop):
        seen, count = 0, self.args.count
        while not stop.is_set and not (count and seen >= count):
            wanted = min(100, count - seen) if count else 100
            fetched = self.consumer.poll(POLL_MS, max_records=wanted)
            for tp, records in fetched.items():
                for r in records:
                    seen += 1
                    common.emit_record(r.partition, r.offset, r.key, r.value, r.timestamp)
                    self.positions.add(tp.partition, r.offset)
            self.commit()
        self.consumer.close()
        emit("closed", records=seen)


def consume(args):
    try:
        Group(args).run(common.StopFlag())
    except KafkaError as failure:
        report(failure)
        return 1


def producer_for(args, codec="none"):
    extra = {"transactional_id": args.transactional} if args.transactional else {}
    return KafkaProducer(
        bootstrap_servers=args.bootstrap,
        acks=args.acks if args.acks == "all" else int(args.acks),
        compression_type=None if codec == "none" else codec,
        linger_ms=5,
        **extra,
    )


def send(producer, topic, key, value, timestamp_ms):
    return producer.send(topic, value.encode(), key.encode(), timestamp_ms=timestamp_ms)


def produce(args):
    if args.transactional:
        return produce_transactions(args)
    sent = failed = 0
    stop, pace = common.StopFlag(), common.Pace(args.rate)
    for codec, records in common.batches(args):
        producer = producer_for(args, codec)
        futures = []
        for record in records:
            if stop.is_set:
                break
            time.sleep(pace.delay_s())
            futures.append(send(producer, args.topic, *record))
        producer.flush(30)
        failed += sum(1 for f in futures if not f.succeeded())
        sent += len(futures)
        producer.close()
    emit("produced", count=sent - failed, failed=failed)
    return 1 if failed else 0


def produce_transactions(args):
    producer = producer_for(args)
    producer.init_transactions()
    try:
        for ending, records in common.plan(args):
            producer.begin_transaction()
            for record in records:
                send(producer, args.topic, *record)
            producer.flush(30)
            if ending == "hold":
                ending = common.decide()
            if ending == "commit":
                producer.commit_transaction()
            else:
                producer.abort_transaction()
            emit("transaction", ending=ending, count=len(records))
    except KafkaError as failure:
        report(failure)
        return 1
    emit("produced", count=0, failed=0)
    producer.close()
    return None


def seek(args):
    consumer = KafkaConsumer(bootstrap_servers=args.bootstrap, enable_auto_commit=False)
    tps = [TopicPartition(args.topic, p) for p in sorted(consumer.partitions_for_topic(args.topic))]
    consumer.assign(tps)
    for tp, found in consumer.offsets_for_times(dict.fromkeys(tps, args.timestamp_ms)).items():
        consumer.seek(tp, found.offset)
    left = args.count
    while left:
        for records in consumer.poll(1000, max_records=left).values():
            for r in records:
                common.emit_record(r.partition, r.offset, r.key, r.value, r.timestamp)
                left -= 1
    consumer.close()
    emit("closed")


def offsets(args):
    consumer = KafkaConsumer(bootstrap_servers=args.bootstrap, group_id=args.group, enable_auto_commit=False)
    tps = [TopicPartition(args.topic, p) for p in sorted(consumer.partitions_for_topic(args.topic))]
    earliest, latest = consumer.beginning_offsets(tps), consumer.end_offsets(tps)
    at = consumer.offsets_for_times(dict.fromkeys(tps, args.timestamp_ms))
    committed = {tp: consumer.committed(tp) for tp in tps}
    emit(
        "offsets",
        earliest={tp.partition: o for tp, o in earliest.items()},
        latest={tp.partition: o for tp, o in latest.items()},
        at={tp.partition: found.offset if found else -1 for tp, found in at.items()},
        committed={tp.partition: o for tp, o in committed.items() if o is not None},
        lag={tp.partition: latest[tp] - o for tp, o in committed.items() if o is not None},
    )
    consumer.close()


def check(error):
    """Raises the error class that kafka-python reports for one group or partition, if it is one."""
    if error is not None and error.errno:
        raise error()


def admin_list(admin):
    groups = [
        {"group": g["group_id"], "state": g.get("group_state"), "type": g.get("group_type")}
        for g in admin.list_groups()
    ]
    emit("groups", groups=groups)


def admin_describe(admin, group):
    found = admin.describe_groups([group])[group]
    if found["error"]:
        emit("error", code=error_code(found["error"]), message=found["error"])
        return
    members = [
        {
            "member": m["member_id"],
            "instance": m["group_instance_id"],
            "client": m["client_id"],
            "host": m["client_host"],
            "partitions": assigned_partitions(m["member_assignment"]),
        }
        for m in found["members"]
    ]
    state, protocol = found["group_state"], found["protocol_data"]
    emit("group", group=group, state=state, protocol=protocol, members=members)


def error_code(message):
    """kafka-python gives the error of a group as text that starts with [Error N]."""
    head = message.split("]")[0].split()
    return int(head[-1]) if head and head[-1].isdigit() else -1


def assigned_partitions(assignment):
    if not assignment:
        return []
    return sorted(p for t in assignment["assigned_partitions"] for p in t["partitions"])


def admin_offsets(admin, group, topic):
    found = admin.list_group_offsets(group)[group]
    emit("group-offsets", committed={tp.partition: o.offset for tp, o in found.items() if tp.topic == topic})


def admin_delete(admin, group):
    result = admin.delete_groups([group])[group]
    if result != "OK":
        raise getattr(kafka.errors, result)()
    emit("deleted")


def admin_delete_offsets(admin, group, topic, word):
    wanted = [TopicPartition(topic, p) for p in common.partitions(word)]
    for error in admin.delete_group_offsets(group, wanted).values():
        check(error)
    emit("offsets-deleted")


def admin_reset(admin, group, topic, word):
    wanted = {TopicPartition(topic, p): OffsetAndMetadata(o, "", -1) for p, o in common.partition_offsets(word).items()}
    for error in admin.alter_group_offsets(group, wanted).values():
        check(error)
    emit("offsets-reset")


def admin_remove_member(admin, group, instance):
    for error in admin.remove_group_members(group, [MemberToRemove(group_instance_id=instance)]).values():
        check(error)
    emit("removed")


ADMIN = {
    "list": admin_list,
    "describe": admin_describe,
    "offsets": admin_offsets,
    "delete": admin_delete,
    "delete-offsets": admin_delete_offsets,
    "reset": admin_reset,
    "remove-member": admin_remove_member,
}


def admin(args):
    client = KafkaAdminClient(bootstrap_servers=args.bootstrap)
    for action, *rest in common.admin_lines(args):
        try:
            ADMIN[action](client, *rest)
        except KafkaError as failure:
            report(failure)
    client.close()


def version(_args):
    emit("version", client="kafka-python", version=kafka.__version__)


if __name__ == "__main__":
    logging.basicConfig(level=logging.ERROR, stream=sys.stderr)
    arguments = common.parse()
    raise SystemExit(globals()[arguments.command](arguments))
