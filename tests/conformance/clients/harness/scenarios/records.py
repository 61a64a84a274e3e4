"""Records and offsets: codecs, transactions, exactly-once loops, offsets by time, lag."""

from tests.conformance.clients.harness.context import Failure
from tests.conformance.clients.harness.scenarios.groups import (
    SESSION_S,
    filled,
    keys,
    once_each,
    options,
    session,
    settled,
)
from tests.conformance.clients.harness.wire import CODECS

QUIET_S = 0.6
PRODUCER_FENCED, INVALID_PRODUCER_EPOCH = 90, 47
LIBRDKAFKA_FENCED = -144  # its own number for the same


def codecs(ctx, client, per_codec=100):
    """records of every codec come back whole, and the log keeps the codec they were sent with"""
    topic, group = ctx.topic(2), ctx.group()
    ctx.produce(client, topic, per_codec, compression=",".join(CODECS), size=500)
    reader = ctx.run(client, "consume", **options(client, group, topic), count=per_codec * len(CODECS))
    expected = {key for codec in CODECS for key in keys(per_codec, prefix=f"k{codec}-")}
    once_each(ctx, "the reader", reader.keys, expected)
    whole(ctx, reader, 500)
    ctx.equal("codecs in the log", ctx.broker.codecs(topic), set(CODECS))


def whole(ctx, reader, size):
    for event in reader.records:
        unit = event["key"] + ":"
        expected = (unit * (size // len(unit) + 1))[:size]
        if event["value"] != expected:
            raise Failure(f"{reader.name} read another value for {event['key']} than was sent")


def cross_codecs(ctx, clients, per_codec=20):
    """each client reads what every other client wrote, with every codec"""
    topic, clients = ctx.topic(1), clients.split()
    for client in clients:
        ctx.produce(client, topic, per_codec, compression=",".join(CODECS), size=300, key_prefix=client + "-")
    expected = {key for client in clients for codec in CODECS for key in keys(per_codec, prefix=f"{client}-{codec}-")}
    readers = [
        ctx.start(client, "consume", **options(client, ctx.group(), topic), count=len(expected)) for client in clients
    ]
    for reader in readers:
        ctx.finish(reader)
        once_each(ctx, reader.name, reader.keys, expected)
        whole(ctx, reader, 300)


def transactions(ctx, client):
    """read_committed sees committed transactions only, and nothing past an open one until it ends"""
    topic, writer = ctx.topic(1), ctx.fresh("x")
    ctx.run(client, "produce", topic=topic, transactional=writer, plan="commit:100,abort:100,commit:100")
    visible = keys(100) | keys(100, 200)
    committed = reader(ctx, client, topic, "read_committed")
    everything = reader(ctx, client, topic, "read_uncommitted")
    ctx.until(lambda: len(committed.records) >= 200, 15, "200 committed records")
    ctx.until(lambda: len(everything.records) >= 300, 15, "300 records, committed or not")
    ctx.quiet(QUIET_S, committed, everything)
    once_each(ctx, "read_committed", committed.keys, visible)
    once_each(ctx, "read_uncommitted", everything.keys, keys(300))

    held = ctx.start(client, "produce", topic=topic, transactional=ctx.fresh("x"), start=300, plan="hold:50")
    ctx.until(lambda: held.last("holding"), 15, "an open transaction")
    ctx.produce(client, topic, 10, start=350)
    ctx.until(lambda: len(everything.records) >= 360, 15, "the open transaction's records, uncommitted")
    start = min(e["offset"] for e in everything.records if e["key"] in keys(50, 300))
    ctx.equal("last stable offset", ctx.broker.end_offsets(topic, committed=True), {0: start})
    ctx.quiet(QUIET_S, committed)
    held.say("commit")
    ctx.finish(held)
    ctx.until(lambda: len(committed.records) >= 260, 15, "what the open transaction held back")
    once_each(ctx, "read_committed after the end", committed.keys, visible | keys(60, 300))
    ctx.close(committed)
    ctx.close(everything)


def reader(ctx, client, topic, isolation):
    return ctx.start(client, "consume", **options(client, ctx.group(), topic), isolation=isolation)


def fencing(ctx, client, code):
    """a second producer with the same transactional id fences the first, whose records stay invisible"""
    topic, writer = ctx.topic(1), ctx.fresh("x")
    first = ctx.start(client, "produce", topic=topic, transactional=writer, plan="hold:50")
    first.may_fail = True
    ctx.until(lambda: first.last("holding"), 15, "the first producer's open transaction")
    ctx.run(client, "produce", topic=topic, transactional=writer, start=50, plan="commit:30")
    first.say("commit")
    ctx.until(lambda: first.ended_t is not None, 30, "the first producer to be told")
    ctx.check(first.exit_code != 0 and not first.last("transaction"), "the fenced producer could commit")
    told = [e["code"] for e in first.all("error")]
    ctx.check(code in told, f"the fenced producer was told {told}, not {code}")
    committed = reader(ctx, client, topic, "read_committed")
    ctx.until(lambda: len(committed.records) >= 30, 15, "the second producer's records")
    ctx.quiet(QUIET_S, committed)
    once_each(ctx, "read_committed", committed.keys, keys(30, 50))
    ctx.close(committed)


def transform(ctx, client, protocol="classic", count=600):
    """consume-transform-produce in transactions: each input comes out once in spite of aborts and a kill"""
    source, out, group = ctx.topic(4), ctx.topic(2), ctx.group()
    ctx.produce(client, source, count)
    chosen = {"group": group, "topic": source, "out": out, "hold_ms": 120, "abort_every": 5, "batch": 40}
    chosen |= {"protocol": protocol, **session(protocol, SESSION_S)}
    first, second = ctx.fresh("x"), ctx.fresh("x")
    a = ctx.start(client, "transform", **chosen, transactional=first)
    b = ctx.start(client, "transform", **chosen, transactional=second)
    ctx.until(lambda: settled([a, b], 4, each=2), 25, "two members to own two partitions each")
    mark = len(a.all("in-transaction"))
    ctx.produce(client, source, count, start=count)
    ctx.until(lambda: len(a.all("in-transaction")) >= mark + 3, 20, "the first member to be in a transaction")
    a.kill()
    again = ctx.start(client, "transform", **chosen, transactional=first)
    ctx.until(lambda: settled([again, b], 4), 30, "the members to own every partition again")

    committed = reader(ctx, client, out, "read_committed")
    ctx.until(lambda: len(committed.records) >= 2 * count, 40, f"{2 * count} transformed records")
    ctx.quiet(QUIET_S, committed)
    once_each(ctx, "the output", committed.keys, keys(2 * count))
    upper = all(e["value"].startswith("K") for e in committed.records)
    ctx.check(upper, "a record came out untransformed")
    for worker in (again, b, committed):
        ctx.close(worker)
    ctx.equal("offsets committed in transactions", ctx.broker.committed(group, source), filled(ctx, source))


def offsets(ctx, client):
    """offsets by time, ends, committed offsets and lag are what was written and read; seeking by time reads on"""
    base, step = 1_700_000_000_000, 1000
    topic, group = ctx.topic(1), ctx.group()
    ctx.produce(client, topic, 100, timestamp_ms=base, step_ms=step)
    ctx.run(client, "consume", **options(client, group, topic), count=30)

    def asked(moment):
        return ctx.run(client, "offsets", topic=topic, group=group, timestamp_ms=moment).last("offsets")

    seen = asked(base + 40 * step - 1)
    ctx.equal("earliest offset", seen["earliest"], {"0": 0})
    ctx.equal("end offset", seen["latest"], {"0": 100})
    ctx.equal("offset at a time between two records", seen["at"], {"0": 40})
    ctx.equal("committed offset", seen["committed"], {"0": 30})
    ctx.equal("lag", seen["lag"], {"0": 70})
    ctx.equal("offset at the time of a record", asked(base + 40 * step)["at"], {"0": 40})
    after_all = asked(base + 100 * step)["at"]
    ctx.check(after_all in ({"0": -1}, {"0": 100}), f"offset past the last time: {after_all}")

    found = ctx.run(client, "seek", topic=topic, timestamp_ms=base + 60 * step - 1, count=5).records
    ctx.equal("offsets read after seeking by time", [e["offset"] for e in found], list(range(60, 65)))
    ctx.equal("their times", [e["timestamp"] for e in found], [base + i * step for i in range(60, 65)])
