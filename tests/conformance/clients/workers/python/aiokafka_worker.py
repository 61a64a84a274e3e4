"""Worker on aiokafka: see common.py for the command line and the events."""

import asyncio
import logging
import sys

import aiokafka
import common
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment
from aiokafka.errors import KafkaError, for_code
from common import emit

ASSIGNORS = {"range": RangePartitionAssignor, "roundrobin": RoundRobinPartitionAssignor}


def report(failure, event="error"):
    emit(event, code=getattr(failure, "errno", -1), name=type(failure).__name__, message=str(failure))


class Group(ConsumerRebalanceListener):
    """One member of a group: polls, reports, commits what it reported."""

    def __init__(self, args):
        self.args = args
        self.positions = common.Positions()
        self.consumer = AIOKafkaConsumer(
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
        coordinator = self.consumer._coordinator  # the public API does not tell the generation
        emit(
            "assigned",
            partitions=sorted(tp.partition for tp in assigned),
            generation=coordinator.generation,
            member=coordinator.member_id,
        )

    async def on_partitions_revoked(self, revoked):
        numbers = sorted(tp.partition for tp in revoked)
        await self.commit(numbers)
        if numbers:
            emit("revoked", partitions=numbers)

    async def commit(self, numbers=None):
        offsets = self.positions.take(numbers)
        if not offsets:
            return
        try:
            await self.consumer.commit({TopicPartition(self.args.topic, p): o for p, o in offsets.items()})
            emit("committed", offsets=offsets)
        except KafkaError as failure:
            report(failure, "commit-failed")
            if numbers is None:
                self.positions.put_back(offsets)

    async def run(self, stop):
        await self.consumer.start()
        seen, count = 0, self.args.count
        while not stop.is_set and not (count and seen >= count):
            wanted = min(100, count - seen) if count else 100
            fetched = await self.consumer.getmany(timeout_ms=100, max_records=wanted)
            if not fetched and self.positions.pending:
                await self.commit()
            for tp, records in fetched.items():
                for r in records:
                    seen += 1
                    common.emit_record(r.partition, r.offset, r.key, r.value, r.timestamp)
                    self.positions.add(tp.partition, r.offset)
            if self.positions.since_commit >= self.args.commit_every:
                await self.commit()
        await self.commit()
        await self.consumer.stop()
        emit("closed", records=seen)


async def consume(args):
    try:
        await Group(args).run(common.StopFlag())
    except KafkaError as failure:
        report(failure)
        return 1


def producer_for(args, codec="none"):
    return AIOKafkaProducer(
        bootstrap_servers=args.bootstrap,
        acks=args.acks if args.acks == "all" else int(args.acks),
        compression_type=None if codec == "none" else codec,
        linger_ms=5,
        transactional_id=args.transactional,
    )


async def send(producer, topic, key, value, timestamp_ms):
    return await producer.send(topic, value.encode(), key.encode(), timestamp_ms=timestamp_ms)


async def produce(args):
    if args.transactional:
        return await produce_transactions(args)
    sent = failed = 0
    stop, pace = common.StopFlag(), common.Pace(args.rate)
    for codec, records in common.batches(args):
        async with producer_for(args, codec) as producer:
            futures = []
            for record in records:
                if stop.is_set:
                    break
                await asyncio.sleep(pace.delay_s())
                futures.append(await send(producer, args.topic, *record))
            results = await asyncio.gather(*futures, return_exceptions=True)
        failed += sum(1 for r in results if isinstance(r, Exception))
        sent += len(futures)
    emit("produced", count=sent - failed, failed=failed)
    return 1 if failed else 0


async def produce_transactions(args):
    try:
        await run_transactions(args)
    except KafkaError as failure:
        report(failure)
        return 1
    emit("produced", count=0, failed=0)
    return None


async def run_transactions(args):
    async with producer_for(args) as producer:
        for ending, records in common.plan(args):
            await producer.begin_transaction()
            futures = [await send(producer, args.topic, *record) for record in records]
            await asyncio.gather(*futures)
            if ending == "hold":
                ending = await asyncio.to_thread(common.decide)
            if ending == "commit":
                await producer.commit_transaction()
            else:
                await producer.abort_transaction()
            emit("transaction", ending=ending, count=len(records))


async def topic_partitions(consumer, topic):
    while not consumer.partitions_for_topic(topic):
        await consumer._client.force_metadata_update()
    return [TopicPartition(topic, p) for p in sorted(consumer.partitions_for_topic(topic))]


async def seek(args):
    async with AIOKafkaConsumer(bootstrap_servers=args.bootstrap, enable_auto_commit=False) as consumer:
        await consumer.topics()
        tps = await topic_partitions(consumer, args.topic)
        consumer.assign(tps)
        for tp, found in (await consumer.offsets_for_times(dict.fromkeys(tps, args.timestamp_ms))).items():
            consumer.seek(tp, found.offset)
        left = args.count
        while left:
            for records in (await consumer.getmany(timeout_ms=1000, max_records=left)).values():
                for r in records:
                    common.emit_record(r.partition, r.offset, r.key, r.value, r.timestamp)
                    left -= 1
    emit("closed")


async def offsets(args):
    async with AIOKafkaConsumer(
        bootstrap_servers=args.bootstrap, group_id=args.group, enable_auto_commit=False
    ) as consumer:
        await consumer.topics()
        tps = await topic_partitions(consumer, args.topic)
        consumer.assign(tps)
        earliest, latest = await consumer.beginning_offsets(tps), await consumer.end_offsets(tps)
        at = await consumer.offsets_for_times(dict.fromkeys(tps, args.timestamp_ms))
        committed = {tp: await consumer.committed(tp) for tp in tps}
    emit(
        "offsets",
        earliest={tp.partition: o for tp, o in earliest.items()},
        latest={tp.partition: o for tp, o in latest.items()},
        at={tp.partition: found.offset if found else -1 for tp, found in at.items()},
        committed={tp.partition: o for tp, o in committed.items() if o is not None},
        lag={tp.partition: latest[tp] - o for tp, o in committed.items() if o is not None},
    )


async def admin_list(admin):
    found = await admin.list_consumer_groups()
    emit("groups", groups=[{"group": g[0], "state": None, "type": None} for g in found])


async def admin_describe(admin, group):
    (response,) = await admin.describe_consumer_groups([group])
    code, name, state, _kind, protocol, members = response.groups[0][:6]
    if code:
        raise for_code(code)()
    emit("group", group=name, state=state, protocol=protocol, members=[member(m) for m in members])


def member(row):
    member_id, *middle, client, host, _metadata, assignment = row
    decoded = ConsumerProtocolMemberAssignment.decode(assignment) if assignment else None
    return {
        "member": member_id,
        "instance": middle[0] if middle else None,
        "client": client,
        "host": host,
        "partitions": sorted(p for _t, ps in decoded.assignment for p in ps) if decoded else [],
    }


async def admin_offsets(admin, group, topic):
    found = await admin.list_consumer_group_offsets(group)
    emit(
        "group-offsets",
        committed={tp.partition: o.offset for tp, o in found.items() if tp.topic == topic and o.offset >= 0},
    )


ADMIN = {"list": admin_list, "describe": admin_describe, "offsets": admin_offsets}


async def admin(args):
    client = AIOKafkaAdminClient(bootstrap_servers=args.bootstrap)
    await client.start()
    lines = common.admin_lines(args)
    while (line := await asyncio.to_thread(next, lines, None)) is not None:
        action, *rest = line
        if action not in ADMIN:
            emit("unsupported", action=action)
            continue
        try:
            await ADMIN[action](client, *rest)
        except KafkaError as failure:
            report(failure)
    await client.close()


async def version(_args):
    emit("version", client="aiokafka", version=aiokafka.__version__)


if __name__ == "__main__":
    logging.basicConfig(level=logging.ERROR, stream=sys.stderr)
    arguments = common.parse()
    raise SystemExit(asyncio.run(globals()[arguments.command](arguments)))
