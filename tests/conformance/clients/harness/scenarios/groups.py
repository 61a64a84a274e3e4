"""Membership: continuing at the committed offset, sharing, takeover, static and cooperative members."""

import time

from tests.conformance.clients.harness.context import Skipped

SESSION_S = 6
ASSIGNORS = {"kafkajs": "roundrobin"}  # the only one it has
LONGEST_CONSUMER_SESSION_S = 15
UNRELEASED_INSTANCE_ID, FENCED_INSTANCE_ID = 111, 82
LIBRDKAFKA_FATAL = -150  # its own number for an error that ended the client, whatever the broker's code


def options(client, group, topic, protocol="classic", assignor=None, **extra):
    """What a member is started with; a classic member gets a short session."""
    common = {"group": group, "topic": topic}
    if protocol == "consumer":
        return {**common, "protocol": protocol, "assignor": assignor or "uniform", **extra}
    return {
        **common,
        "assignor": assignor or ASSIGNORS.get(client, "range"),
        **session(protocol, SESSION_S),
        **extra,
    }


def session(protocol, seconds):
    """The session timeout of a classic member; in KIP-848 the broker sets it."""
    return {} if protocol == "consumer" else {"session_ms": seconds * 1000}


def keys(count, start=0, prefix="k"):
    return {f"{prefix}{i:06d}" for i in range(start, start + count)}


def once_each(ctx, what, seen, expected):
    """Requires exactly the expected keys, none of them twice."""
    lost, alien = expected - set(seen), set(seen) - expected
    ctx.check(not lost, f"{what}: {len(lost)} records lost, such as {sorted(lost)[:3]}")
    ctx.check(not alien, f"{what}: {len(alien)} records that were not asked for, such as {sorted(alien)[:3]}")
    ctx.check(len(seen) == len(expected), f"{what}: {len(seen) - len(expected)} records came twice")


def modern_session_s(ctx):
    if ctx.consumer_session_s > LONGEST_CONSUMER_SESSION_S:
        raise Skipped(
            f"KIP-848 sessions last {ctx.consumer_session_s:.0f} s on this broker; README.md names the settings"
        )
    return ctx.consumer_session_s


def settled(workers, partitions, each=None):
    """Every partition has exactly one owner, and each worker its share."""
    owned = [w.owned for w in workers]
    if sum(len(o) for o in owned) != partitions or set().union(*owned) != set(range(partitions)):
        return False
    return each is None or all(len(o) == each for o in owned)


def filled(ctx, topic):
    """{partition: offset after the last record} of the partitions that hold any."""
    return {p: end for p, end in ctx.broker.end_offsets(topic).items() if end}


def restart(ctx, client, protocol="classic"):
    """a restarted member continues at the committed offset: no record twice, none lost"""
    topic, group = ctx.topic(3), ctx.group()
    ctx.produce(client, topic, 2000)
    chosen = options(client, group, topic, protocol)

    first = ctx.run(client, "consume", **chosen, count=1200)
    ctx.equal("records before the restart", len(first.records), 1200)
    committed = ctx.broker.committed(group, topic)
    ctx.equal("sum of committed offsets", sum(committed.values()), 1200)

    second = ctx.start(client, "consume", **chosen)
    ctx.until(lambda: len(second.records) >= 800, 20, "the other 800 records")
    for partition, offset in committed.items():
        after = [e["offset"] for e in second.records if e["partition"] == partition]
        ctx.equal(f"first offset of partition {partition} after the restart", after[:1], [offset] if after else [])
    ctx.quiet(0.3, second)
    ctx.close(second)
    ctx.no_trouble(first, second)
    once_each(ctx, "both lives together", first.keys + second.keys, keys(2000))
    ctx.equal("committed at the end", ctx.broker.committed(group, topic), filled(ctx, topic))

    ctx.produce(client, topic, 20, start=2000)
    third = ctx.run(client, "consume", **chosen, count=20)
    once_each(ctx, "the third life", third.keys, keys(20, 2000))


def split(ctx, client, protocol="classic", quick_s=3):
    """three members share six partitions; others take over from a killed one and from one that leaves"""
    session_s = modern_session_s(ctx) if protocol == "consumer" else SESSION_S
    topic, group = ctx.topic(6), ctx.group()
    ctx.produce(client, topic, 300)
    chosen = options(client, group, topic, protocol, commit_every=20)
    a, b, c = members = [ctx.start(client, "consume", **chosen) for _ in range(3)]
    ctx.until(lambda: settled(members, 6, each=2), 25, "three members to own two partitions each")
    ctx.produce(client, topic, 300, start=300)
    seen = lambda: set(a.keys) | set(b.keys) | set(c.keys)  # noqa: E731
    ctx.until(lambda: len(seen()) >= 600, 15, "600 records")

    a.kill()
    killed = time.monotonic()
    ctx.produce(client, topic, 300, start=600)
    ctx.until(lambda: settled([b, c], 6, each=3), session_s + 10, "two members to own all six partitions")
    ctx.within("takeover from the killed member", time.monotonic() - killed, session_s - 3, session_s + 6)
    ctx.until(lambda: seen() == keys(900), 15, "every record in spite of the kill")

    left = time.monotonic()
    b.terminate()
    ctx.until(lambda: c.owned == set(range(6)), 15, "the last member to own all six partitions")
    ctx.within("takeover from the member that left", time.monotonic() - left, 0, quick_s)
    ctx.finish(b)
    ctx.produce(client, topic, 60, start=900)
    ctx.until(lambda: seen() == keys(960), 15, "the records that came after the leave")
    ctx.close(c)
    ctx.exclusive(a, b, c)
    ctx.equal("committed at the end", ctx.broker.committed(group, topic), filled(ctx, topic))


def crowd(ctx, client, count=20, protocol="classic"):
    """twenty members share forty partitions; when five are killed and five leave, the others take over everything"""
    session_s = modern_session_s(ctx) if protocol == "consumer" else SESSION_S
    topic, group = ctx.topic(2 * count), ctx.group()
    chosen = options(client, group, topic, protocol, commit_every=10)
    members = [ctx.start(client, "consume", **chosen) for _ in range(count)]
    ctx.until(lambda: settled(members, 2 * count, each=2), 60, f"{count} members to own two partitions each")
    ctx.produce(client, topic, 400)
    seen = lambda: {key for w in members for key in w.keys}  # noqa: E731
    ctx.until(lambda: seen() == keys(400), 20, "400 records")

    killed, leaving, staying = members[:5], members[5:10], members[10:]
    for worker in killed:
        worker.kill()
    for worker in leaving:
        worker.terminate()
    for worker in leaving:
        ctx.finish(worker)
    ctx.until(lambda: settled(staying, 2 * count, each=4), session_s + 20, "ten members to own every partition")
    ctx.produce(client, topic, 400, start=400)
    ctx.until(lambda: seen() == keys(800), 20, "every record in spite of the kills")
    for worker in staying:
        worker.terminate()
    for worker in staying:
        ctx.finish(worker)
    ctx.exclusive(*members)
    ctx.equal("committed at the end", ctx.broker.committed(group, topic), filled(ctx, topic))


def static(ctx, client, protocol="classic", assignor=None):
    """a static member that comes back within its session has its partitions and causes no rebalance"""
    topic, group = ctx.topic(4), ctx.group()
    ctx.produce(client, topic, 100)
    chosen = options(client, group, topic, protocol, assignor, **session(protocol, 20))
    one = ctx.start(client, "consume", **chosen, instance="one")
    two = ctx.start(client, "consume", **chosen, instance="two")
    ctx.until(lambda: settled([one, two], 4, each=2), 25, "two static members to own two partitions each")
    ctx.until(lambda: len(one.records) + len(two.records) >= 100, 15, "100 records")
    before, moves = one.owned, two.moves
    generation = max(e["generation"] for w in (one, two) for e in w.all("assigned"))

    lives = [one]
    # KIP-848 holds a killed instance's place until its session ends, so only the clean end is quick there
    for end in ("close",) if protocol == "consumer" else ("close", "kill"):
        if end == "close":
            ctx.close(lives[-1])
        else:
            lives[-1].kill()
        again = ctx.start(client, "consume", **chosen, instance="one")
        lives.append(again)
        ctx.until(lambda w=again: w.owned == before, 10, f"instance one to be back after a {end}")
        ctx.equal(f"generation after a {end}", again.last("assigned")["generation"], generation)
        ctx.produce(client, topic, 40, start=100 * len(lives))
        ctx.until(lambda: len(two.keys) + sum(len(w.keys) for w in lives) >= 60 + 40 * len(lives), 10, "new records")
        ctx.equal("assignments that the other member saw", two.moves, moves)
    ctx.exclusive(two, *lives)


def held(ctx, client, protocol="consumer", code=UNRELEASED_INSTANCE_ID):
    """KIP-848: the place of a killed static member is refused to its successor until its session ends"""
    session_s = modern_session_s(ctx)
    topic, group = ctx.topic(4), ctx.group()
    chosen = options(client, group, topic, protocol)
    one = ctx.start(client, "consume", **chosen, instance="one")
    two = ctx.start(client, "consume", **chosen, instance="two")
    ctx.until(lambda: settled([one, two], 4, each=2), 25, "two static members to own two partitions each")
    one.kill()
    killed = time.monotonic()
    early = ctx.start(client, "consume", **chosen, instance="one")
    early.may_fail = True
    ctx.until(lambda: early.last("error"), session_s - 1, "the successor to be refused")
    ctx.equal("code of the refusal", early.last("error")["code"], code)
    early.kill()
    ctx.until(lambda: two.owned == {0, 1, 2, 3}, session_s + 8, "the other member to own every partition")
    ctx.within("takeover from the killed member", time.monotonic() - killed, session_s - 3, session_s + 6)
    late = ctx.start(client, "consume", **chosen, instance="one")
    ctx.until(lambda: settled([late, two], 4, each=2), 15, "the successor to own two partitions")
    ctx.close(late)
    ctx.close(two)
    ctx.exclusive(one, two, late)


def keep(ctx, client, protocol="classic"):
    """a cooperative rebalance moves only what must move: kept partitions are never revoked"""
    topic, group = ctx.topic(6), ctx.group()
    assignor = None if protocol == "consumer" else "cooperative-sticky"
    chosen = options(client, group, topic, protocol, assignor)
    a = ctx.start(client, "consume", **chosen)
    ctx.until(lambda: a.owned == set(range(6)), 15, "one member to own everything")
    stream = ctx.start(client, "produce", topic=topic, count=3000, rate=200)
    ctx.until(lambda: len(a.records) >= 20, 15, "records to flow")

    mark = len(a.events)
    b = ctx.start(client, "consume", **chosen)
    ctx.until(lambda: settled([a, b], 6, each=3), 25, "two members to own three partitions each")
    kept, moved = a.owned, b.owned
    gone = gone_since(a, mark)
    ctx.equal("partitions revoked from the first member", gone, moved)
    ctx.check(not gone & kept, f"partitions {gone & kept} were kept and yet revoked")

    mark = len(a.events)
    ctx.close(b)
    ctx.until(lambda: a.owned == set(range(6)), 15, "the first member to own everything again")
    ctx.equal("partitions revoked when the second member left", gone_since(a, mark), set())
    stream.terminate()
    ctx.finish(stream)
    sent = keys(stream.last("produced")["count"])
    ctx.until(lambda: set(a.keys) | set(b.keys) >= sent, 15, f"all {len(sent)} records")
    once_each(ctx, "both members", a.keys + b.keys, sent)
    ctx.exclusive(a, b)


def gone_since(worker, mark):
    return {p for e in worker.events[mark:] if e["event"] in ("revoked", "lost") for p in e["partitions"]}


def twins(ctx, client, codes=(FENCED_INSTANCE_ID,)):
    """two processes with one instance id: the newer one gets the place, the older one is told it is fenced"""
    topic, group = ctx.topic(4), ctx.group()
    chosen = options(client, group, topic, session_ms=20000)
    two = ctx.start(client, "consume", **chosen, instance="two")
    one = ctx.start(client, "consume", **chosen, instance="one")
    ctx.until(lambda: settled([one, two], 4, each=2), 25, "two static members to own two partitions each")
    before, moves = one.owned, two.moves
    one.may_fail = True
    twin = ctx.start(client, "consume", **chosen, instance="one")
    ctx.until(lambda: twin.owned == before, 15, "the newer process to own the place")
    ctx.produce(client, topic, 40)
    told = lambda: [e["code"] for e in one.events if e["event"] in ("error", "commit-failed")]  # noqa: E731
    ctx.until(told, 15, "the older process to be told")
    ctx.check(set(told()) & set(codes), f"it was told {told()}, not {codes}")
    ctx.equal("assignments that the other member saw", two.moves, moves)
    ctx.equal("assignments that the newer process saw", twin.owned, before)
    ctx.close(twin)
    ctx.close(two)


def freeze(ctx, client, protocol="classic"):
    """a frozen member loses its partitions at the end of its session, and rejoins as a new one when it thaws"""
    session_s = modern_session_s(ctx) if protocol == "consumer" else SESSION_S
    topic, group = ctx.topic(4), ctx.group()
    chosen = options(client, group, topic, protocol, commit_every=20)
    a, b = [ctx.start(client, "consume", **chosen) for _ in range(2)]
    seen = lambda: set(a.keys) | set(b.keys)  # noqa: E731
    ctx.until(lambda: settled([a, b], 4, each=2), 25, "two members to own two partitions each")
    ctx.produce(client, topic, 100)
    ctx.until(lambda: seen() == keys(100) and a.records and b.records, 15, "both members to read")
    ctx.until(lambda: sum(ctx.broker.committed(group, topic).values()) == 100, 10, "100 records to be committed")
    before, mark = a.last("assigned"), len(a.events)
    a.freeze()
    frozen = time.monotonic()
    ctx.produce(client, topic, 100, start=100)
    ctx.until(lambda: b.owned == {0, 1, 2, 3}, session_s + 10, "the other member to own every partition")
    ctx.within("takeover from the frozen member", time.monotonic() - frozen, session_s - 3, session_s + 6)
    ctx.until(lambda: seen() == keys(200), 15, "every record in spite of the freeze")
    a.thaw()
    ctx.until(lambda: gone_since(a, mark) and settled([a, b], 4, each=2), 25, "the thawed member to be back")
    after = a.last("assigned")
    ctx.check(after.get("member") != before.get("member") or protocol == "consumer", "it kept its old member id")
    ctx.produce(client, topic, 50, start=200)
    ctx.until(lambda: seen() == keys(250), 15, "250 records")
    ctx.close(a)
    ctx.close(b)
    ctx.equal("committed at the end", ctx.broker.committed(group, topic), filled(ctx, topic))


def grow(ctx, client, protocol="classic"):
    """partitions that a topic gains are shared out among the running members, and read from their start"""
    topic, group = ctx.topic(2), ctx.group()
    chosen = options(client, group, topic, protocol, metadata_ms=1000)
    members = [ctx.start(client, "consume", **chosen) for _ in range(2)]
    ctx.until(lambda: settled(members, 2, each=1), 25, "two members to own a partition each")
    ctx.broker.create_partitions(topic, 6)
    ctx.produce(client, topic, 300)
    ctx.until(lambda: settled(members, 6, each=3), 25, "two members to own three partitions each")
    ctx.until(lambda: {k for w in members for k in w.keys} == keys(300), 15, "300 records")
    ctx.check(len(ctx.broker.end_offsets(topic)) == 6, "the topic did not grow")
    for worker in members:
        ctx.close(worker)
    ctx.exclusive(*members)


def migrate(ctx, client):
    """a classic group becomes a KIP-848 group when the first such member joins, and classic again at the end"""
    topic, group = ctx.topic(4), ctx.group()
    ctx.produce(client, topic, 100)
    classic = options(client, group, topic, commit_every=10)
    modern = options(client, group, topic, "consumer", commit_every=10)
    old = [ctx.start(client, "consume", **classic) for _ in range(2)]
    ctx.until(lambda: settled(old, 4, each=2), 25, "two classic members to own two partitions each")
    new = ctx.start(client, "consume", **modern)
    ctx.until(lambda: new.owned and settled([*old, new], 4), 25, "a KIP-848 member to share with two classic ones")
    ctx.produce(client, topic, 100, start=100)
    everyone = [*old, new]
    seen = lambda: {k for w in everyone for k in w.keys}  # noqa: E731
    ctx.until(lambda: seen() == keys(200), 15, "200 records")
    ctx.close(old[0])
    ctx.close(old[1])
    ctx.until(lambda: new.owned == {0, 1, 2, 3}, 15, "the KIP-848 member to own every partition")
    back = ctx.start(client, "consume", **classic)
    everyone.append(back)
    ctx.until(lambda: back.owned and settled([new, back], 4), 25, "a classic member to share with it")
    ctx.close(new)
    ctx.until(lambda: back.owned == {0, 1, 2, 3}, 15, "the classic member to own every partition")
    ctx.produce(client, topic, 50, start=200)
    ctx.until(lambda: seen() == keys(250), 15, "250 records")
    ctx.close(back)
    ctx.exclusive(*everyone)
    ctx.equal("committed at the end", ctx.broker.committed(group, topic), filled(ctx, topic))


def mixed(ctx, clients, assignor, partitions, protocol="classic"):
    """members of several clients in one group cover every partition without overlap, also after a kill"""
    session_s = modern_session_s(ctx) if protocol == "consumer" else SESSION_S
    topic, group, clients = ctx.topic(partitions), ctx.group(), clients.split()
    first = clients[0]
    ctx.produce(first, topic, 300)
    members = [
        ctx.start(c, "consume", **options(c, group, topic, protocol, assignor, commit_every=20)) for c in clients
    ]
    share = partitions // len(clients)
    ctx.until(lambda: settled(members, partitions, each=share), 40, f"{len(clients)} members to own {share} each")
    ctx.produce(first, topic, 200, start=300)
    seen = lambda: {k for w in members for k in w.keys}  # noqa: E731
    ctx.until(lambda: seen() == keys(500), 15, "500 records")

    members[0].kill()
    rest = members[1:]
    ctx.until(lambda: settled(rest, partitions), session_s + 15, "the others to own every partition")
    ctx.produce(clients[1], topic, 100, start=500)
    ctx.until(lambda: seen() == keys(600), 15, "every record in spite of the kill")
    for worker in rest:
        worker.terminate()
    for worker in rest:
        ctx.finish(worker)
    ctx.exclusive(*members)
    ctx.equal("committed at the end", ctx.broker.committed(group, topic), filled(ctx, topic))
