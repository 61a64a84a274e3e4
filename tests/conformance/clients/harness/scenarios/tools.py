"""Apache Kafka's own command-line tools: what they print about the broker under test must be true."""

import re
import time
from datetime import UTC, datetime

from tests.conformance.clients.harness.context import Failure
from tests.conformance.clients.harness.scenarios.groups import filled, options, settled

GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
GROUPS_COMMAND = "org.apache.kafka.tools.GroupsCommand"
TOPICS = "org.apache.kafka.tools.TopicCommand"
OFFSETS = "org.apache.kafka.tools.GetOffsetShell"
PRODUCER_PERFORMANCE = "org.apache.kafka.tools.ProducerPerformance"
CONSUMER_PERFORMANCE = "org.apache.kafka.tools.ConsumerPerformance"
VERIFIABLE_PRODUCER = "org.apache.kafka.tools.VerifiableProducer"
VERIFIABLE_CONSUMER = "org.apache.kafka.tools.VerifiableConsumer"
CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
CONSOLE_PRODUCER = "org.apache.kafka.tools.ConsoleProducer"


class Toolbox:
    """Runs tools one after the other in one virtual machine."""

    def __init__(self, ctx):
        self.ctx = ctx
        self.worker = ctx.start("tools", "--")

    def call(self, tool, *words):
        before = len(self.worker.all("ran"))
        argv = [tool, "--bootstrap-server", self.ctx.bootstrap, *map(str, words)]
        self.worker.say("\t".join(argv))
        self.ctx.until(lambda: len(self.worker.all("ran")) > before, 40, f"{tool.split('.')[-1]} {words[:2]} to end")
        return self.worker.all("ran")[before]

    def lines(self, tool, *words):
        answer = self.call(tool, *words)
        if answer["status"]:
            raise Failure(f"{shown(tool, words)} ended with {answer['status']}: {told(answer)}")
        return [line for line in answer["out"] if line.strip()]

    def refused(self, pattern, tool, *words):
        text = told(self.call(tool, *words))
        self.ctx.check(re.search(pattern, text), f"{shown(tool, words)} told {text!r}, not {pattern!r}")

    def table(self, tool, *words):
        """Rows of a table with a header line, as dictionaries. COORDINATOR (ID) counts as two cells."""
        answer = self.call(tool, *words)
        lines = [line for line in answer["out"] if line.strip()]
        top = next((i for i, line in enumerate(lines) if line.startswith("GROUP")), None)
        if top is None:
            raise Failure(f"{shown(tool, words)} printed no table: {told(answer)}")
        return [dict(zip(lines[top].split(), line.split(), strict=False)) for line in lines[top + 1 :]]

    def row(self, tool, *words):
        rows = self.table(tool, *words)
        if len(rows) != 1:
            raise Failure(f"{shown(tool, words)} printed {len(rows)} rows instead of one: {rows}")
        return rows[0]


def shown(tool, words):
    return " ".join([tool.split(".")[-1], *map(str, words)])


def told(answer, size=400):
    return " | ".join(line.strip() for line in answer["out"] + answer["err"] if line.strip())[:size]


def describe(ctx, protocol="classic"):
    """kafka-consumer-groups tells state, members, assignments, offsets and lag of a live group as they are"""
    topic, group, box = ctx.topic(4), ctx.group(), Toolbox(ctx)
    ctx.produce("java", topic, 80)
    chosen = options("java", group, topic, protocol)
    a = ctx.start("java", "consume", **chosen, client_id="first")
    b = ctx.start("java", "consume", **chosen, client_id="second")
    ctx.until(lambda: settled([a, b], 4, each=2), 25, "two members to own two partitions each")
    ctx.until(lambda: sum(ctx.broker.committed(group, topic).values()) == 80, 15, "80 records to be committed")

    ctx.check(group in box.lines(GROUPS, "--list"), f"--list does not name {group}")
    states = {row["GROUP"]: row["STATE"] for row in box.table(GROUPS, "--list", "--state")}
    ctx.equal("listed state", states.get(group), "Stable")
    types = {row["GROUP"]: row["TYPE"] for row in box.table(GROUPS, "--list", "--type", protocol)}
    ctx.equal("listed type", types.get(group), protocol.capitalize())

    state = box.row(GROUPS, "--describe", "--group", group, "--state")
    ctx.equal("described state", state["STATE"], "Stable")
    ctx.equal("described assignor", state["ASSIGNMENT-STRATEGY"], chosen["assignor"])
    ctx.equal("number of members", state["#MEMBERS"], "2")

    members = box.table(GROUPS, "--describe", "--group", group, "--members", "--verbose")
    ctx.equal("client ids", {m["CLIENT-ID"] for m in members}, {"first", "second"})
    ctx.equal(
        "partitions by client", {m["CLIENT-ID"]: m["#PARTITIONS"] for m in members}, {"first": "2", "second": "2"}
    )
    line = "\n".join(box.lines(GROUPS, "--describe", "--group", group, "--members", "--verbose"))
    for worker in (a, b):
        wanted = f"{topic}({','.join(map(str, sorted(worker.owned)))})"
        spaced = f"{topic}:{','.join(map(str, sorted(worker.owned)))}"
        ctx.check(wanted in line or spaced in line, f"--verbose does not show {wanted}: {line!r}")

    offsets(ctx, box, group, topic, {"first": a, "second": b})
    ctx.close(a)
    ctx.close(b)
    state = box.row(GROUPS, "--describe", "--group", group, "--state")
    ctx.equal("state when both have left", (state["STATE"], state["#MEMBERS"]), ("Empty", "0"))
    rows = box.table(GROUPS, "--describe", "--group", group)
    ctx.equal("owners when both have left", {r["CONSUMER-ID"] for r in rows}, {"-"})


def offsets(ctx, box, group, topic, workers):
    """Offsets, ends and lag as Kafka's own tool prints them: elsewhere they were off by one, or far off.

    https://github.com/segmentio/topicctl/issues/171
    https://github.com/obsidiandynamics/kafdrop/issues/300
    """
    rows = box.table(GROUPS, "--describe", "--group", group)
    ends = ctx.broker.end_offsets(topic)
    seen = {int(r["PARTITION"]): (r["CURRENT-OFFSET"], r["LOG-END-OFFSET"], r["LAG"]) for r in rows}
    ctx.equal("offsets and lag", seen, {p: (str(end), str(end), "0") for p, end in ends.items()})
    for name, worker in workers.items():
        owned = {int(r["PARTITION"]) for r in rows if r["CLIENT-ID"] == name}
        ctx.equal(f"partitions of {name}", owned, worker.owned)
        member = worker.last("assigned")["member"]
        ctx.equal(f"member id of {name}", {r["CONSUMER-ID"] for r in rows if r["CLIENT-ID"] == name}, {member})


def reset(ctx):
    """kafka-consumer-groups --reset-offsets: each strategy shows its plan in a dry run and then carries it out"""
    topic, group, box = ctx.topic(1), ctx.group(), Toolbox(ctx)
    minute = 60_000
    base = int(time.time() * 1000) - 100 * minute
    ctx.produce("java", topic, 100, timestamp_ms=base, step_ms=minute)
    moment = datetime.fromtimestamp((base + 45 * minute - 1) / 1000, UTC)

    chosen = ["--reset-offsets", "--group", group, "--topic", topic]
    strategies = [
        (("--to-offset", 40), 40),
        (("--to-earliest",), 0),
        (("--to-latest",), 100),
        (("--shift-by", -10), 90),
        (("--to-datetime", moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}"), 45),
        (("--by-duration", "PT30M30S"), 70),
        (("--to-current",), 70),
        (("--shift-by", 1000), 100),
        (("--to-offset", 1000), 100),
        (("--shift-by", -1000), 0),
    ]
    before = {}
    for words, expected in strategies:
        for mode in ("--dry-run", "--execute"):
            row = box.row(GROUPS, *chosen, *words, mode)
            plan = (row["TOPIC"], row["PARTITION"], row["NEW-OFFSET"])
            ctx.equal(f"plan of {words} {mode}", plan, (topic, "0", str(expected)))
            after = before if mode == "--dry-run" else {0: expected}
            ctx.equal(f"committed after {words} {mode}", ctx.broker.committed(group, topic), after)
        before = {0: expected}


def delete(ctx):
    """kafka-consumer-groups refuses to delete or reset what is in use, and deletes what is not"""
    topic, other, group, box = ctx.topic(2), ctx.topic(1), ctx.group(), Toolbox(ctx)
    ctx.produce("java", topic, 40)
    ctx.produce("java", other, 10)
    member = ctx.start("java", "consume", **options("java", group, topic))
    ctx.until(lambda: sum(ctx.broker.committed(group, topic).values()) == 40, 20, "40 records to be committed")
    box.refused("GroupNotEmptyException|not empty", GROUPS, "--delete", "--group", group)
    box.refused("inactive", GROUPS, "--reset-offsets", "--group", group, "--topic", topic, "--to-earliest", "--execute")
    box.refused(
        "actively subscribed|GroupSubscribedToTopic",
        GROUPS,
        "--delete-offsets",
        "--group",
        group,
        "--topic",
        topic,
    )
    ctx.equal("offsets after the refusals", sum(ctx.broker.committed(group, topic).values()), 40)
    ctx.close(member)

    box.table(GROUPS, "--reset-offsets", "--group", group, "--topic", other, "--to-latest", "--execute")
    box.lines(GROUPS, "--delete-offsets", "--group", group, "--topic", topic)
    ctx.equal("offsets of the topic that was chosen", ctx.broker.committed(group, topic), {})
    ctx.equal("offsets of the other topic", ctx.broker.committed(group, other), {0: 10})
    words = " ".join(box.lines(GROUPS, "--delete", "--group", group))
    ctx.check("successful" in words, f"--delete told {words!r}")
    ctx.check(group not in box.lines(GROUPS, "--list"), "a deleted group is still listed")
    box.refused("not found", GROUPS, "--describe", "--group", group)
    box.refused("not found|does not exist", GROUPS, "--delete", "--group", group)


def groups(ctx):
    """kafka-groups lists classic and consumer groups with their type and protocol"""
    topic, classic, modern, box = ctx.topic(1), ctx.group(), ctx.group(), Toolbox(ctx)
    ctx.produce("java", topic, 10)
    ctx.run("java", "consume", **options("java", classic, topic), count=10)
    ctx.run("java", "consume", **options("java", modern, topic, "consumer"), count=10)
    rows = {r["GROUP"]: (r["TYPE"], r.get("PROTOCOL")) for r in box.table(GROUPS_COMMAND, "--list")}
    ctx.equal("classic group", rows.get(classic), ("Classic", "consumer"))
    ctx.equal("consumer group", rows.get(modern), ("Consumer", "consumer"))
    only = {r["GROUP"] for r in box.table(GROUPS_COMMAND, "--list", "--group-type", "consumer")}
    ctx.check(modern in only and classic not in only, "--group-type consumer lists a classic group")


def topics(ctx):
    """kafka-topics creates, describes, widens, lists and deletes a topic, and refuses to create it twice"""
    name, box = ctx.fresh("t"), Toolbox(ctx)
    create = ["--create", "--topic", name, "--partitions", 3, "--replication-factor", 1]
    ctx.check(f"Created topic {name}." in box.lines(TOPICS, *create), "no word of success")
    box.refused("already exists", TOPICS, *create)
    box.lines(TOPICS, "--create", "--if-not-exists", "--topic", name, "--partitions", 3)
    ctx.equal("partitions", described_partitions(box, name), [0, 1, 2])
    box.lines(TOPICS, "--alter", "--topic", name, "--partitions", 5)
    ctx.equal("partitions after --alter", described_partitions(box, name), [0, 1, 2, 3, 4])
    box.refused("InvalidPartitions|already|higher", TOPICS, "--alter", "--topic", name, "--partitions", 2)
    ctx.check(name in box.lines(TOPICS, "--list"), "--list does not name the topic")
    box.lines(TOPICS, "--delete", "--topic", name)
    ctx.check(name not in box.lines(TOPICS, "--list"), "a deleted topic is still listed")


def described_partitions(box, name):
    lines = box.lines(TOPICS, "--describe", "--topic", name)
    found = [re.search(r"Partition: (\d+)\s+Leader: (\d+)", line) for line in lines]
    return sorted(int(m[1]) for m in found if m)


def get_offsets(ctx):
    """kafka-get-offsets tells first, last and timed offsets of every partition"""
    base, topic, box = 1_700_000_000_000, ctx.topic(3), Toolbox(ctx)
    ctx.produce("java", topic, 90, timestamp_ms=base)
    ends = ctx.broker.end_offsets(topic)
    ctx.equal("the records", sum(ends.values()), 90)

    def asked(*words):
        lines = box.lines(OFFSETS, "--topic", topic, *words)
        return {int(line.split(":")[1]): int(line.split(":")[2]) for line in lines}

    ctx.equal("last offsets", asked(), ends)
    ctx.equal("first offsets", asked("--time", "earliest"), dict.fromkeys(ends, 0))
    ctx.equal("chosen partitions", asked("--partitions", "0,2"), {p: ends[p] for p in (0, 2)})
    timed = asked("--time", base + 45 * 1000)
    ctx.equal("records at or after a time", sum(ends[p] - timed[p] for p in ends), 45)
    newest = asked("--time", "max-timestamp")
    ctx.equal("offsets of the newest records", newest, {p: end - 1 for p, end in ends.items()})


def performance(ctx):
    """kafka-producer-perf-test and kafka-consumer-perf-test move every record"""
    topic, group, box, count = ctx.topic(2), ctx.group(), Toolbox(ctx), 20_000
    sent = box.lines(
        PRODUCER_PERFORMANCE, "--topic", topic, "--num-records", count, "--record-size", 100, "--throughput", -1
    )
    ctx.check(any(line.startswith(f"{count} records sent") for line in sent), f"it told {sent[-2:]}")
    ctx.equal("records in the log", sum(ctx.broker.end_offsets(topic).values()), count)
    report = box.lines(CONSUMER_PERFORMANCE, "--topic", topic, "--num-records", count, "--group", group)
    header = [name.strip() for name in report[0].split(",")]
    row = dict(zip(header, (cell.strip() for cell in report[-1].split(",")), strict=False))
    ctx.equal("records read", int(row["data.consumed.in.nMsg"]), count)


def verifiable(ctx, protocol="classic"):
    """VerifiableProducer and two VerifiableConsumers: each acknowledged record is consumed once and committed"""
    topic, group, count = ctx.topic(4), ctx.group(), 1000
    common = {"bootstrap_server": ctx.bootstrap, "topic": topic}
    chosen = {**common, "group_id": group, "reset_policy": "earliest", "group_protocol": protocol}
    if protocol == "classic":
        chosen["session_timeout"] = 6000
    consumers = [ctx.start("tool", VERIFIABLE_CONSUMER, **chosen) for _ in range(2)]
    ctx.until(lambda: [len(c.owned_here) for c in watch(consumers)] == [2, 2], 30, "two partitions for each consumer")
    producer = ctx.run("tool", VERIFIABLE_PRODUCER, **common, max_messages=count, acks=-1)
    acknowledged = {(e["partition"], e["offset"]) for e in producer.all("producer_send_success")}
    ctx.equal("acknowledged records", len(acknowledged), count)

    def consumed():
        return [
            (p["partition"], offset)
            for c in consumers
            for e in c.all("records_consumed")
            for p in e["partitions"]
            for offset in range(p["minOffset"], p["maxOffset"] + 1)
        ]

    ctx.until(lambda: len(consumed()) >= count, 20, f"{count} consumed records")
    for consumer in consumers:
        consumer.may_fail = True  # the virtual machine ends with 143 even after a clean shutdown
        consumer.terminate()
    for consumer in consumers:
        ctx.until(lambda c=consumer: c.last("shutdown_complete"), 20, "a clean shutdown")
        bad = [e for e in consumer.all("offsets_committed") if not e["success"]]
        ctx.check(not bad, f"a commit failed: {bad[:1]}")
    ctx.equal("records consumed once", sorted(consumed()), sorted(acknowledged))
    ctx.equal("committed at the end", ctx.broker.committed(group, topic), filled(ctx, topic))


def watch(consumers):
    """VerifiableConsumer names its events and partitions in another way than the workers do."""
    for consumer in consumers:
        owned = set()
        for event in consumer.events:
            partitions = {p["partition"] for p in event.get("partitions", []) if isinstance(p, dict)}
            if event["event"] == "partitions_assigned":
                owned |= partitions
            elif event["event"] == "partitions_revoked":
                owned -= partitions
        consumer.owned_here = owned
        yield consumer


def console(ctx):
    """kafka-console-producer's lines come out of kafka-console-consumer, whose group continues where it stopped"""
    topic, group = ctx.topic(1), ctx.group()
    common = {"bootstrap_server": ctx.bootstrap, "topic": topic}
    producer = ctx.start("tool", CONSOLE_PRODUCER, **common)
    lines = [f"line {i} – ü" for i in range(60)]
    for line in lines:
        producer.say(line)
    producer.end_input()
    ctx.finish(producer)
    ctx.equal("records in the log", ctx.broker.end_offsets(topic), {0: 60})
    first = ctx.run("tool", CONSOLE_CONSUMER, "--from-beginning", **common, group=group, max_messages=25)
    second = ctx.run("tool", CONSOLE_CONSUMER, "--from-beginning", **common, group=group, max_messages=35)
    ctx.equal("lines of the first consumer", first.lines[:25], lines[:25])
    ctx.equal("lines of the second consumer", second.lines[:35], lines[25:])
    ctx.equal("committed", ctx.broker.committed(group, topic), {0: 60})
